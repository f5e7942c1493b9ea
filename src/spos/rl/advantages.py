"""How much better than expected each action was, from the episodes of one particle.

    reinforce    A_t = Σ_k γ^k r_{t+k}
    a2c          A_t = Σ_k (γλ)^k δ_{t+k},    δ_t = r_t + γ V(o_{t+1}) - V(o_t)

The sums run to the end of the episode. V is a critic of the particle's own. It is fitted after it
was used, to the targets A_t + V(o_t) of the same episodes: a critic that has seen the rewards it is
compared with would bias the gradient.

**The end of an episode.** Where the task ended nothing is left to earn, and V beyond it is 0. Where
time ran out it depends on what V means. The linear critic knows the time t: it estimates what can
be earned *up to the horizon*, which is 0 at the horizon. The network does not see the time and
estimates what can be earned from here on: its V at the last observation stands for the rest.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.rl.policies import HIDDEN
from spos.rl.trajectories import Trajectories
from spos.targets.layers import tanh_network
from spos.types import PyTree

RIDGE = 1e-5  # of the mean square of a feature
NETWORK_STEPS, NETWORK_RATE = 10, 1e-2  # of Adam, each on every tenth row


class Advantages(NamedTuple):
    """`init(observation_size)` is the memory of one particle before its first episodes."""

    init: Callable[[int], PyTree]
    apply: Callable[[PyTree, Trajectories], tuple[jax.Array, PyTree]]  # -> ((T, num), memory)


class Critic(NamedTuple):
    """V, and how it learns."""

    init: Callable[[int], PyTree]
    value: Callable[[PyTree, jax.Array, jax.Array], jax.Array]  # (memory, (…, o), time (…))
    fit: Callable[[PyTree, Trajectories, jax.Array], PyTree]  # targets (T, num)
    sees_time: bool


def reinforce(gamma: float = 0.99) -> Advantages:
    """The discounted return of what followed."""
    gamma = _discount("gamma", gamma)
    return Advantages(
        lambda observation_size: (),
        lambda memory, episodes: (backward_sum(episodes.rewards, gamma * following(episodes)), ()),
    )


def a2c(gamma: float = 0.99, lam: float = 1.0, critic: str = "linear") -> Advantages:
    """Generalized advantages; `lam` is λ, `critic` is "linear" or "network"."""
    gamma, lam = _discount("gamma", gamma), _discount("lam", lam)
    judge = CRITICS[checks.one_of("critic", critic, CRITICS)]()

    def apply(memory: PyTree, episodes: Trajectories) -> tuple[jax.Array, PyTree]:
        values = judge.value(memory, episodes.observations, times(episodes))
        beyond = jnp.zeros_like(episodes.truncated, values.dtype)
        if not judge.sees_time:
            last = judge.value(memory, episodes.last_observations, beyond)
            beyond = jnp.where(episodes.truncated, last, 0.0)
        found = generalized(
            episodes.rewards, values, beyond, episodes.alive, following(episodes), gamma, lam
        )
        return found, judge.fit(memory, episodes, found + values)

    return Advantages(judge.init, apply)


def generalized(rewards, values, beyond, alive, following, gamma, lam) -> jax.Array:
    """The sums of δ, from arrays (T, num); `beyond` (num,) is V after the last step of each."""
    shifted = jnp.concatenate([values[1:], beyond[None]])
    after = jnp.where(following > 0, shifted, beyond)
    delta = alive * (rewards + gamma * after - values)
    return backward_sum(delta, gamma * lam * following)


def backward_sum(terms: jax.Array, weight: jax.Array) -> jax.Array:
    """S_t = terms_t + weight_t S_{t+1} along the first axis."""

    def step(total, row):
        term, share = row
        total = term + share * total
        return total, total

    return jax.lax.scan(step, jnp.zeros_like(terms[0]), (terms, weight), reverse=True)[1]


def following(episodes: Trajectories) -> jax.Array:
    """1 where the next row belongs to the same episode."""
    return jnp.concatenate([episodes.alive[1:], jnp.zeros_like(episodes.alive[:1])])


def times(episodes: Trajectories) -> jax.Array:
    steps = jnp.arange(len(episodes.rewards), dtype=episodes.rewards.dtype)
    return jnp.broadcast_to(steps[:, None], episodes.rewards.shape)


def linear_critic() -> Critic:
    """Ridge regression on o, o², u, u², u³ and 1, with u = t/100."""

    def features(observations: jax.Array, time: jax.Array) -> jax.Array:
        u = time[..., None] / 100.0
        return jnp.concatenate(
            [observations, observations**2, u, u**2, u**3, jnp.ones_like(u)], axis=-1
        )

    def init(observation_size: int) -> jax.Array:
        return jnp.zeros(2 * observation_size + 4)

    def value(weights: jax.Array, observations: jax.Array, time: jax.Array) -> jax.Array:
        return features(observations, time) @ weights

    def fit(weights: jax.Array, episodes: Trajectories, targets: jax.Array) -> jax.Array:
        alive = episodes.alive.reshape(-1, 1)
        rows = features(episodes.observations, times(episodes)).reshape(-1, len(weights)) * alive
        total = jnp.sum(alive)
        # columns of one size keep the normal equations within single precision
        gram = rows.T @ rows / total
        size = jnp.sqrt(jnp.diagonal(gram)) + 1e-12
        gram = gram / (size[:, None] * size) + RIDGE * jnp.eye(len(weights))
        moment = rows.T @ (alive[:, 0] * targets.reshape(-1)) / total / size
        return jax.scipy.linalg.solve(gram, moment, assume_a="pos") / size

    return Critic(init, value, fit, sees_time=True)


def network_critic() -> Critic:
    """A small tanh network that learns by Adam, in units of its targets' spread."""
    import optax  # half a second that those without such a critic need not spend

    optimizer = optax.adam(NETWORK_RATE)

    def network(observation_size: int) -> Any:
        return tanh_network(observation_size, 1, HIDDEN)

    def init(observation_size: int) -> PyTree:
        theta = network(observation_size).init(jax.random.key(0))
        theta["w2"] = jnp.zeros_like(theta["w2"])  # expects nothing before it has seen anything
        return {
            "theta": theta,
            "optimizer": optimizer.init(theta),
            "mean": jnp.zeros(()),
            "deviation": jnp.ones(()),
        }

    def raw(theta: PyTree, observations: jax.Array) -> jax.Array:
        flat = observations.reshape(-1, observations.shape[-1])
        apply = network(observations.shape[-1]).apply
        return jax.vmap(apply, (None, 0))(theta, flat).reshape(observations.shape[:-1])

    def value(memory: PyTree, observations: jax.Array, time: jax.Array) -> jax.Array:
        return memory["mean"] + memory["deviation"] * raw(memory["theta"], observations)

    def fit(memory: PyTree, episodes: Trajectories, targets: jax.Array) -> PyTree:
        alive, total = episodes.alive, jnp.sum(episodes.alive)
        mean = jnp.sum(alive * targets) / total
        deviation = jnp.sqrt(jnp.sum(alive * (targets - mean) ** 2) / total) + 1e-8
        goal = (targets - mean) / deviation

        def loss(theta: PyTree, part: slice) -> jax.Array:
            off = raw(theta, episodes.observations[part]) - goal[part]
            return jnp.sum(alive[part] * off**2) / (jnp.sum(alive[part]) + 1e-8)

        theta, state = memory["theta"], memory["optimizer"]
        for n in range(NETWORK_STEPS):
            gradient = jax.grad(loss)(theta, slice(n, None, NETWORK_STEPS))
            updates, state = optimizer.update(gradient, state)
            theta = optax.apply_updates(theta, updates)
        return {"theta": theta, "optimizer": state, "mean": mean, "deviation": deviation}

    return Critic(init, value, fit, sees_time=False)


def _discount(name: str, value: Any) -> float:
    return 1.0 if value == 1 else checks.fraction(name, value)


CRITICS: dict[str, Callable[[], Critic]] = {"linear": linear_critic, "network": network_critic}
ESTIMATORS: dict[str, Callable[..., Advantages]] = {"reinforce": reinforce, "a2c": a2c}
