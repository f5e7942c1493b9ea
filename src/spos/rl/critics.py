"""Critics: V(o), what a particle expects to earn from here on, and how it learns that.

    linear     ridge regression on o, o², u, u², u³ and 1, with u = t/100
    network    a small tanh network that learns by Adam, in units of its targets' spread

The linear critic knows the time t, the network does not; `advantages.py` says what follows.

**Units.** Returns grow while a policy learns, and with them the mean m and the deviation s of the
targets, in which the network's output u counts: V = m + s u. When m and s become those of new
targets, the last layer is changed such that V stays the same everywhere: what was learned is not
forgotten with the units it was learned in.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax

from spos import checks
from spos.rl.policies import HIDDEN
from spos.rl.trajectories import Trajectories, times
from spos.targets.layers import Dense, tanh_network
from spos.types import PyTree
from spos.values import Value, value

RIDGE = 1e-5  # of the mean square of a feature
NETWORK_PARTS, NETWORK_PASSES = 10, 2  # steps of Adam on every tenth row, and how often through all
NETWORK_RATE = 5e-3
SMALLEST = 1e-8
SHRINKS = 0.5  # the most by which the unit of values shrinks at a time


@value
class Critic(Value):
    """V, and how it learns; what it has learned is a memory of its own for each particle."""

    name: ClassVar[str]
    sees_time: ClassVar[bool]

    def first(self, observation_size: int) -> PyTree:
        """The memory before the first episodes."""
        raise NotImplementedError

    def value(self, memory: PyTree, observations: jax.Array, time: jax.Array) -> jax.Array:
        """V of observations (…, o) at times (…)."""
        raise NotImplementedError

    def fit(self, memory: PyTree, episodes: Trajectories, targets: jax.Array) -> PyTree:
        """The memory that has seen these episodes, whose values should have been `targets`."""
        raise NotImplementedError


@value
class LinearCritic(Critic):
    """Ridge regression; its memory is the weights of the features."""

    name: ClassVar[str] = "linear"
    sees_time: ClassVar[bool] = True

    def first(self, observation_size: int) -> jax.Array:
        return jnp.zeros(2 * observation_size + 4)

    def value(self, memory: jax.Array, observations: jax.Array, time: jax.Array) -> jax.Array:
        return _features(observations, time) @ memory

    def fit(self, memory: jax.Array, episodes: Trajectories, targets: jax.Array) -> jax.Array:
        alive = episodes.alive.reshape(-1, 1)
        rows = _features(episodes.observations, times(episodes)).reshape(-1, len(memory)) * alive
        total = jnp.sum(alive)
        # columns of one size keep the normal equations within single precision
        gram = rows.T @ rows / total
        size = jnp.sqrt(jnp.diagonal(gram)) + 1e-12
        gram = gram / (size[:, None] * size) + RIDGE * jnp.eye(len(memory))
        moment = rows.T @ (alive[:, 0] * targets.reshape(-1)) / total / size
        return jax.scipy.linalg.solve(gram, moment, assume_a="pos") / size


def _features(observations: jax.Array, time: jax.Array) -> jax.Array:
    u = time[..., None] / 100.0
    return jnp.concatenate(
        [observations, observations**2, u, u**2, u**3, jnp.ones_like(u)], axis=-1
    )


@value
class NetworkCritic(Critic):
    """A network; its memory is the weights, Adam's state, and the scale of the targets."""

    name: ClassVar[str] = "network"
    sees_time: ClassVar[bool] = False

    def first(self, observation_size: int) -> dict[str, Any]:
        theta = _network(observation_size).init(jax.random.key(0))
        theta["w2"] = jnp.zeros_like(theta["w2"])  # expects nothing before it has seen anything
        return {
            "theta": theta,
            "optimizer": optax.adam(NETWORK_RATE).init(theta),
            "mean": jnp.zeros(()),
            "deviation": jnp.full((), SMALLEST),
        }

    def value(self, memory: PyTree, observations: jax.Array, time: jax.Array) -> jax.Array:
        raw = _raw(memory["theta"], observations)
        return jnp.add(memory["mean"], memory["deviation"] * raw)

    def fit(self, memory: PyTree, episodes: Trajectories, targets: jax.Array) -> dict[str, Any]:
        alive, total = episodes.alive, jnp.sum(episodes.alive)
        mean = jnp.sum(alive * targets) / total
        found = jnp.sqrt(jnp.sum(alive * (targets - mean) ** 2) / total)
        deviation = jnp.maximum(found, SHRINKS * memory["deviation"]) + SMALLEST
        goal = (targets - mean) / deviation

        def loss(theta: PyTree, part: jax.Array) -> jax.Array:
            counted = alive[part] * (part < len(alive))[:, None]
            off = _raw(theta, episodes.observations[part]) - goal[part]
            return jnp.sum(counted * off**2) / (jnp.sum(counted) + 1e-8)

        optimizer = optax.adam(NETWORK_RATE)

        def step(carry: tuple[PyTree, Any], part: jax.Array) -> tuple[tuple[PyTree, Any], None]:
            theta, state = carry
            updates, state = optimizer.update(jax.grad(loss)(theta, part), state)
            return (optax.apply_updates(theta, updates), state), None

        # a loop, since steps written out take longer to compile than all else
        rows = -(-len(alive) // NETWORK_PARTS)
        parts = jnp.arange(rows * NETWORK_PARTS).reshape(rows, NETWORK_PARTS).T
        begin = _in_units(memory, mean, deviation), memory["optimizer"]
        (theta, state), _ = jax.lax.scan(step, begin, jnp.tile(parts, (NETWORK_PASSES, 1)))
        return {"theta": theta, "optimizer": state, "mean": mean, "deviation": deviation}


def _in_units(memory: PyTree, mean: jax.Array, deviation: jax.Array) -> PyTree:
    """The network whose values in these units are those of the memory in its own."""
    theta, before = memory["theta"], memory["deviation"]
    return {
        **theta,
        "w2": theta["w2"] * (before / deviation),
        "b2": (before * theta["b2"] + memory["mean"] - mean) / deviation,
    }


def _network(observation_size: int) -> Dense:
    return tanh_network(observation_size, 1, HIDDEN)


def _raw(theta: PyTree, observations: jax.Array) -> jax.Array:
    flat = observations.reshape(-1, observations.shape[-1])
    apply = _network(observations.shape[-1]).apply
    return jax.vmap(apply, (None, 0))(theta, flat).reshape(observations.shape[:-1])


CRITICS: dict[str, Critic] = {critic.name: critic for critic in (LinearCritic(), NetworkCritic())}


def make(name: str) -> Critic:
    """The critic of this name.

    Args:
        name: "linear" or "network".

    Returns:
        The critic.

    Example:
        >>> critic = spos.rl.critics.make("linear")
        >>> critic.value(critic.first(2), jnp.ones((5, 2)), jnp.arange(5.0)).shape
        (5,)
    """
    return CRITICS[checks.one_of("critic", name, CRITICS)]
