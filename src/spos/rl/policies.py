"""Policies: how the numbers of one particle turn an observation into an action.

    continuous    a = μ(o) + σ ξ           ξ standard normal, σ the same for every observation
    discrete      a = argmax (l(o) + G)    G Gumbel noise, which draws from softmax(l(o))

μ and l are the outputs of a network, by default tanh layers of 25 and 10 with Glorot's uniform
start. log σ is a parameter of the particle beside those of the network and starts at 0. All noise
of an episode is drawn before it begins: acting is then a plain function, and noise comes in bulk.
Where observations are normalized, the network sees (o - mean) / deviation (`Scaled`).
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from spos.dynamics.noise import normal_matrix
from spos.rl.envs import Actions, Continuous, Discrete
from spos.targets.layers import AnyNetwork, Dense, Network, network, tanh_network
from spos.types import Array, Particles, PyTree
from spos.values import Value, static, value

HIDDEN = (25, 10)


@value
class Scaled(Value):
    """A network that sees its inputs less their mean, in deviations."""

    network: AnyNetwork
    mean: Array
    deviation: Array

    def init(self, key: jax.Array) -> PyTree:
        """The parameters of the network itself."""
        return self.network.init(key)

    def apply(self, theta: PyTree, x: jax.Array) -> jax.Array:
        """Its outputs."""
        return self.network.apply(theta, (x - self.mean) / self.deviation)


@value
class Policy(Value):
    """A distribution over actions for every observation, of one particle."""

    network: AnyNetwork | Scaled

    def init(self, key: jax.Array) -> PyTree:
        """The parameters of one particle before training."""
        return self.network.init(key)

    def seeing(self, mean: Array, deviation: Array) -> Self:
        """The policy that sees (o - mean) / deviation in place of o."""
        assert not isinstance(self.network, Scaled)
        return dataclasses.replace(self, network=Scaled(self.network, mean, deviation))

    def noise(self, key: jax.Array, shape: tuple[int, int]) -> jax.Array:
        """The noise of so many actions, with one more axis for that of one action."""
        raise NotImplementedError

    def act(self, theta: PyTree, observation: jax.Array, noise: jax.Array) -> jax.Array:
        """The action of one particle."""
        raise NotImplementedError

    def log_prob(self, theta: PyTree, observation: jax.Array, action: jax.Array) -> jax.Array:
        """log π_θ(action | observation)."""
        raise NotImplementedError

    def entropy(self, theta: PyTree, observation: jax.Array) -> jax.Array:
        """The entropy of π_θ(· | observation)."""
        raise NotImplementedError

    def average(self, particles: Particles, observation: jax.Array) -> jax.Array:
        """The action all particles agree on."""
        raise NotImplementedError


@value
class GaussianPolicy(Policy):
    """Actions are vectors of `size` numbers, normal around the outputs of the network."""

    size: int = static()

    def init(self, key: jax.Array) -> PyTree:
        return {"network": self.network.init(key), "log_std": jnp.zeros(self.size)}

    def noise(self, key: jax.Array, shape: tuple[int, int]) -> jax.Array:
        rows, columns = shape
        drawn = normal_matrix(key, (rows, columns * self.size), jnp.dtype("float32"))
        return drawn.reshape(*shape, self.size)

    def act(self, theta: PyTree, observation: jax.Array, noise: jax.Array) -> jax.Array:
        return self._mean(theta, observation) + jnp.exp(theta["log_std"]) * noise

    def log_prob(self, theta: PyTree, observation: jax.Array, action: jax.Array) -> jax.Array:
        z = (action - self._mean(theta, observation)) * jnp.exp(-theta["log_std"])
        return jnp.sum(-0.5 * z * z - theta["log_std"] - 0.5 * np.log(2 * np.pi).astype(np.float32))

    def entropy(self, theta: PyTree, observation: jax.Array) -> jax.Array:
        return jnp.sum(theta["log_std"]) + 0.5 * self.size * (1.0 + math.log(2 * math.pi))

    def average(self, particles: Particles, observation: jax.Array) -> jax.Array:
        return jnp.mean(jax.vmap(self._mean, (0, None))(particles, observation), axis=0)

    def _mean(self, theta: PyTree, observation: jax.Array) -> jax.Array:
        return self.network.apply(theta["network"], observation)


@value
class CategoricalPolicy(Policy):
    """Actions are 0 … `count` - 1, and the outputs of the network are their log-odds."""

    count: int = static()

    def noise(self, key: jax.Array, shape: tuple[int, int]) -> jax.Array:
        return jax.random.gumbel(key, (*shape, self.count))

    def act(self, theta: PyTree, observation: jax.Array, noise: jax.Array) -> jax.Array:
        return jnp.argmax(self.network.apply(theta, observation) + noise)

    def log_prob(self, theta: PyTree, observation: jax.Array, action: jax.Array) -> jax.Array:
        logs = jax.nn.log_softmax(self.network.apply(theta, observation))
        return logs[action.astype(jnp.int32)]

    def entropy(self, theta: PyTree, observation: jax.Array) -> jax.Array:
        logs = jax.nn.log_softmax(self.network.apply(theta, observation))
        return -jnp.sum(jnp.exp(logs) * logs)

    def average(self, particles: Particles, observation: jax.Array) -> jax.Array:
        odds = jax.vmap(self.network.apply, (0, None))(particles, observation)
        return jnp.argmax(jnp.mean(jax.nn.softmax(odds), axis=0))


def make(
    observation_size: int,
    actions: Actions,
    hidden: Sequence[int] = HIDDEN,
    own: Any = None,
) -> Policy:
    """The policy for these actions.

    Args:
        observation_size: how many numbers a policy sees.
        actions: `Discrete(count)` or `Continuous(size)`.
        hidden: the widths of the layers of the default network.
        own: a network with `init` and `apply` instead. It has an output for each action of a
            discrete set, or for each number of a continuous action.

    Returns:
        The policy.

    Raises:
        TypeError: if the actions are of another kind.
        ValueError: if the network has another number of outputs.

    Example:
        >>> policy = spos.rl.policies.make(4, spos.rl.envs.Continuous(1))
        >>> theta = policy.init(jax.random.key(0))
        >>> policy.act(theta, jnp.zeros(4), noise=jnp.ones(1))
        Array([1.], dtype=float32)
    """
    if not isinstance(actions, Discrete | Continuous):
        raise TypeError(f"actions must be Discrete(count) or Continuous(size), got {actions!r}")
    outputs = actions.count if isinstance(actions, Discrete) else actions.size
    used = tanh_network(observation_size, outputs, hidden) if own is None else _as_value(own)
    _check(used, observation_size, outputs)
    if isinstance(actions, Discrete):
        return CategoricalPolicy(used, outputs)
    return GaussianPolicy(used, outputs)


def _as_value(own: Any) -> AnyNetwork:
    if isinstance(own, Value) and not isinstance(own, Network):
        return own  # type: ignore[return-value]  # it has init and apply, or is told below
    for name in ("init", "apply"):
        if not hasattr(own, name):
            raise TypeError(f"network must have init and apply, got {own!r}")
    return network(own.init, own.apply)


def _check(used: AnyNetwork, inputs: int, outputs: int) -> None:
    theta = jax.eval_shape(used.init, jax.random.key(0))
    given = jax.eval_shape(lambda theta: used.apply(theta, jnp.zeros(inputs)), theta)
    if given.shape != (outputs,):
        raise ValueError(f"network must give {outputs} outputs for one observation, got {given}")


def hidden_layers(policy: Policy) -> tuple[int, ...] | None:
    """The widths by which `make` builds the policy's network again; None for one of one's own."""
    used = policy.network
    if isinstance(used, Dense) and used.activation == "tanh":
        return used.sizes[1:-1]
    return None


def own_network(policy: Policy) -> AnyNetwork | None:
    """The network of one's own that a policy has; None for one that `make` builds."""
    used = policy.network
    return None if isinstance(used, Scaled) or hidden_layers(policy) is not None else used
