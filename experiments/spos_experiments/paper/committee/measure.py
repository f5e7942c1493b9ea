"""Policies in changed worlds: what they earn, and how far they disagree."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos import rl
from spos.rl import policies
from spos.rl.envs import Continuous, cart_pole
from spos.rl.envs.cart_pole import SWING_UP_SINES
from spos_experiments.paper.committee.settings import Settings

FILM_STEPS = 200


class Outcome(NamedTuple):
    """What one seed's policies earn in each world."""

    best: int  # the particle
    alone: np.ndarray  # (worlds, M)
    mean: np.ndarray  # (worlds,)
    vote: np.ndarray  # (worlds,)
    doubt: np.ndarray  # (worlds,): of the committee of means, while it plays


def measure(settings: Settings, run: rl.Trained) -> Outcome:
    """All worlds with one delay are one program."""
    policy = policy_of(run)
    starts = jax.random.split(jax.random.key(0), settings.num_episodes)
    rows: dict[str, list[np.ndarray]] = {name: [] for name in ("alone", "mean", "vote", "doubt")}
    for delay in settings.delays:
        here = [(p, f) for p, f, d in settings.worlds if d == delay]
        pole, friction = (jnp.asarray(column) for column in zip(*here, strict=True))
        found = _worlds(delay)(policy, run.particles, starts, pole, friction)
        for name, value in found.items():
            rows[name].append(np.asarray(value))
    joined = {name: np.concatenate(parts) for name, parts in rows.items()}
    return Outcome(run.best(max(1, len(run.returns) // 10)), **joined)


def policy_of(run: rl.Trained) -> policies.Policy:
    """The policy whose numbers are those of a particle, with the scale of what it sees."""
    about = run.settings["policy"]
    made = policies.make(about["observation_size"], Continuous(about["size"]), about["hidden"])
    scale = about.get("scale")
    if scale is None:
        return made
    return made.seeing(*(np.asarray(scale[name], np.float32) for name in ("mean", "deviation")))


@functools.cache
def _worlds(delay: int) -> Any:
    def world(policy: Any, particles: Any, starts: Any, pole: Any, friction: Any) -> Any:
        def earned(cloud: Any, how: str) -> tuple[jax.Array, jax.Array]:
            played = jax.vmap(lambda k: episode(policy, cloud, how, k, delay, pole, friction)[:2])
            returns, doubts = played(starts)
            return jnp.mean(returns), jnp.mean(doubts)

        alone = jax.vmap(lambda theta: earned(jax.tree.map(lambda x: x[None], theta), "mean")[0])
        mean, doubt = earned(particles, "mean")
        vote, _ = earned(particles, "vote")
        return {"alone": alone(particles), "mean": mean, "vote": vote, "doubt": doubt}

    return jax.jit(jax.vmap(world, (None, None, None, 0, 0)))


def episode(
    policy: policies.Policy, cloud: Any, how: str, key: jax.Array, delay: int, pole: Any,
    friction: Any,
) -> tuple[jax.Array, jax.Array, Any]:  # fmt: skip
    """An episode of a committee: its return, its doubt, and what happened in each step."""
    build = {"pole": pole * cart_pole.POLE, "friction": friction}

    def step(carry: Any, _: None) -> tuple[Any, Any]:
        motion, late, alive, earned, doubt, steps = carry
        seen = SWING_UP_SINES.observe(motion)
        proposed = jax.vmap(policy.act, (0, None, None))(cloud, seen, jnp.zeros(1))
        chosen = jnp.mean(proposed, axis=0) if how == "mean" else jnp.median(proposed, axis=0)
        late = jnp.concatenate([late, chosen[None]])
        after, reward, ended = cart_pole.swing_up(motion, late[0], **build)
        apart = jnp.std(jnp.clip(proposed, -1.0, 1.0))
        motion = jax.tree.map(lambda new, old: jnp.where(alive, new, old), after, motion)
        carry = (
            motion, late[1:], alive & ~ended, earned + alive * reward, doubt + alive * apart,
            steps + alive,
        )  # fmt: skip
        return carry, (motion.x, motion.angle, proposed[:, 0])

    zero = jnp.zeros(())
    begin = SWING_UP_SINES.reset(key), jnp.zeros((delay, 1)), jnp.ones((), bool), zero, zero, zero
    (_, _, _, earned, doubt, steps), rows = jax.lax.scan(
        step, begin, None, length=SWING_UP_SINES.horizon
    )
    return earned, doubt / steps, rows


def film(settings: Settings, run: rl.Trained) -> dict[str, Any]:
    """An episode of a committee with a heavier pole: poses, and what each member proposed."""
    play = jax.jit(lambda k: episode(policy_of(run), run.particles, "mean", k, 0,
                                     settings.film_pole, 0.0))  # fmt: skip
    earned, doubt, rows = play(jax.random.key(run.settings["seed"]))
    x, angle, proposed = (np.asarray(part)[:FILM_STEPS] for part in rows)
    return {
        "method": run.settings["method"],
        "seed": run.settings["seed"],
        "pole": settings.film_pole,
        "return": float(earned),
        "doubt": float(doubt),
        "x": x,
        "angle": angle,
        "proposed": np.clip(proposed, -1.0, 1.0),
    }
