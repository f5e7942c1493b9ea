"""Episodes of many policies at once, as one compiled program.

Every particle plays `num` episodes of its own in copies of a pure environment. They advance side by
side through one scan over time. An episode that is over stands still, and what it would have earned
is masked, so that all of them have the length of the horizon. An environment that is no pure
function (`spos.rl.gymnasium`) plays them on the host instead, those of all particles side by side.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.rl.envs import Discrete, Environment
from spos.rl.policies import Policy
from spos.rl.trajectories import Trajectories
from spos.types import Particles, PyTree


def play(
    environment: Environment, policy: Policy, num: int, particles: Particles, key: jax.Array
) -> Trajectories:
    """`num` episodes of each particle; every array has a leading axis of particles."""
    count, horizon = len(jax.tree.leaves(particles)[0]), environment.horizon
    reset_key, noise_key = jax.random.split(key)
    keys = jax.random.split(reset_key, (count, num))
    noise = policy.noise(noise_key, (horizon, count * num)).reshape(horizon, count, num, -1)

    def one(theta: PyTree, keys: jax.Array, noise: jax.Array) -> Trajectories:
        def step(carry, xi):
            states, alive = carry
            seen = jax.vmap(environment.observe)(states)
            actions = jax.vmap(policy.act, (None, 0, 0))(theta, seen, xi)
            after, reward, ended = jax.vmap(environment.step)(states, actions)
            states = jax.tree.map(lambda new, old: _where(alive, new, old), after, states)
            row = seen, actions, jnp.where(alive, reward, 0.0), alive.astype(seen.dtype)
            return (states, alive & ~ended), row

        start = jax.vmap(environment.reset)(keys), jnp.ones(num, bool)
        (states, alive), rows = jax.lax.scan(step, start, noise)
        last = jax.vmap(environment.observe)(states)
        return Trajectories._make((*rows, ~alive, alive, last))

    return jax.vmap(one, in_axes=(0, 0, 1))(particles, keys, noise)


def _where(condition: jax.Array, yes: jax.Array, no: jax.Array) -> jax.Array:
    return jnp.where(condition.reshape(-1, *(1,) * (yes.ndim - 1)), yes, no)


def act_all(policy: Policy) -> Callable[[Particles, jax.Array, jax.Array], jax.Array]:
    """The actions of all particles: observations and noise have axes (M, num, …)."""
    return jax.vmap(jax.vmap(policy.act, (None, 0, 0)))


def play_outside(
    environment: Any, act: Callable, policy: Policy, num: int, particles: Particles, key: jax.Array
) -> Trajectories:
    """`play` for an environment that collects whole episodes; `act` is `act_all`, compiled."""
    count, horizon = len(jax.tree.leaves(particles)[0]), environment.horizon
    noise = np.asarray(policy.noise(key, (horizon, count * num)))
    noise = noise.reshape(horizon, count, num, -1)
    seed = int(jax.random.randint(jax.random.fold_in(key, 2), (), 0, 2**31 - 1))

    def choose(observations: np.ndarray, step: int) -> np.ndarray:
        seen = observations.reshape(count, num, -1)
        chosen = np.asarray(act(particles, seen, noise[step]))
        return chosen.reshape(count * num, *chosen.shape[2:])

    episodes = environment.collect(choose, count * num, seed)
    rows = [_by_particle(part, count, 1) for part in episodes[:4]]
    ends = [_by_particle(part, count, 0) for part in episodes[4:]]
    return Trajectories._make((*rows, *ends))


def _by_particle(part: np.ndarray, count: int, axis: int) -> np.ndarray:
    split = part.reshape(*part.shape[:axis], count, -1, *part.shape[axis + 1 :])
    return np.moveaxis(split, axis, 0)


def blank(environment: Any, num: int, particles: Particles) -> Trajectories:
    """Episodes by shape alone, for an environment that cannot be traced."""
    count, size = len(jax.tree.leaves(particles)[0]), environment.observation_size
    steps, ends = (count, environment.horizon, num), (count, num)
    choices = () if isinstance(environment.actions, Discrete) else environment.actions
    rows = [jnp.zeros(shape) for shape in ((*steps, size), (*steps, *choices), steps, steps)]
    over = jnp.zeros(ends, bool)
    return Trajectories._make((*rows, over, over, jnp.zeros((*ends, size))))
