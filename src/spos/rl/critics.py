"""Critics: V(o), what a particle expects to earn from here on, and how it learns that.

    linear     ridge regression on o, o², u, u², u³ and 1, with u = t/100
    network    a small tanh network that learns by Adam, in units of its targets' spread

The linear critic knows the time t, the network does not; `advantages.py` says what follows.
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
NETWORK_STEPS, NETWORK_RATE = 10, 1e-2  # of Adam, each on every tenth row


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
            "deviation": jnp.ones(()),
        }

    def value(self, memory: PyTree, observations: jax.Array, time: jax.Array) -> jax.Array:
        raw = _raw(memory["theta"], observations)
        return jnp.add(memory["mean"], memory["deviation"] * raw)

    def fit(self, memory: PyTree, episodes: Trajectories, targets: jax.Array) -> dict[str, Any]:
        alive, total = episodes.alive, jnp.sum(episodes.alive)
        mean = jnp.sum(alive * targets) / total
        deviation = jnp.sqrt(jnp.sum(alive * (targets - mean) ** 2) / total) + 1e-8
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

        # a loop, since ten steps written out take longer to compile than all else
        rows = -(-len(alive) // NETWORK_STEPS)
        parts = jnp.arange(rows * NETWORK_STEPS).reshape(rows, NETWORK_STEPS).T
        (theta, state), _ = jax.lax.scan(step, (memory["theta"], memory["optimizer"]), parts)
        return {"theta": theta, "optimizer": state, "mean": mean, "deviation": deviation}


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
