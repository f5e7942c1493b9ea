"""Policies: how the numbers of one particle turn an observation into an action.

    continuous    a = μ(o) + σ ξ           ξ standard normal, σ the same for every observation
    discrete      a = argmax (l(o) + G)    G Gumbel noise, which draws from softmax(l(o))

μ and l are the outputs of a network, by default tanh layers of 25 and 10 with Glorot's uniform
start. log σ is a parameter of the particle beside those of the network and starts at 0. All noise
of an episode is drawn before it begins: acting is then a plain function, and noise comes in bulk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.dynamics.noise import normal_matrix
from spos.rl.envs import Continuous, Discrete
from spos.targets.layers import Network, tanh_network
from spos.types import Particles, PyTree

HIDDEN = (25, 10)


@dataclass(frozen=True, eq=False)
class Policy:
    """A distribution over actions for every observation, of one particle."""

    init: Callable[[jax.Array], PyTree]
    noise: Callable[[jax.Array, tuple[int, int]], jax.Array]  # (key, rows, columns), last axis own
    act: Callable[[PyTree, jax.Array, jax.Array], jax.Array]  # (parameters, observation, noise)
    log_prob: Callable[[PyTree, jax.Array, jax.Array], jax.Array]
    average: Callable[[Particles, jax.Array], jax.Array]  # the action all particles agree on


def make(
    observation_size: int,
    actions: Discrete | Continuous,
    hidden: Sequence[int] = HIDDEN,
    network: Network | None = None,
) -> Policy:
    """The policy for these actions. A `network` of one's own has an output for each action of a
    discrete set, or for each number of a continuous action."""
    if not isinstance(actions, Discrete | Continuous):
        raise TypeError(f"actions must be Discrete(count) or Continuous(size), got {actions!r}")
    outputs = actions[0]
    network = network or tanh_network(observation_size, outputs, hidden)
    _check(network, observation_size, outputs)
    kind = _categorical if isinstance(actions, Discrete) else _gaussian
    return kind(network, outputs)


def _check(network: Any, inputs: int, outputs: int) -> None:
    theta = jax.eval_shape(network.init, jax.random.key(0))
    given = jax.eval_shape(network.apply, theta, jax.ShapeDtypeStruct((inputs,), jnp.float32))
    if given.shape != (outputs,):
        raise ValueError(f"network must give {outputs} outputs for one observation, got {given}")


def _gaussian(network: Network, size: int) -> Policy:
    def init(key: jax.Array) -> PyTree:
        return {"network": network.init(key), "log_std": jnp.zeros(size)}

    def noise(key: jax.Array, shape: tuple[int, int]) -> jax.Array:
        rows, columns = shape
        return normal_matrix(key, (rows, columns * size), jnp.dtype("float32")).reshape(
            *shape, size
        )

    def act(theta: PyTree, observation: jax.Array, xi: jax.Array) -> jax.Array:
        return network.apply(theta["network"], observation) + jnp.exp(theta["log_std"]) * xi

    def log_prob(theta: PyTree, observation: jax.Array, action: jax.Array) -> jax.Array:
        off = action - network.apply(theta["network"], observation)
        z = off * jnp.exp(-theta["log_std"])
        return jnp.sum(-0.5 * z * z - theta["log_std"] - 0.5 * np.log(2 * np.pi).astype(np.float32))

    def average(particles: Particles, observation: jax.Array) -> jax.Array:
        means = jax.vmap(network.apply, (0, None))(particles["network"], observation)
        return jnp.mean(means, axis=0)

    return Policy(init, noise, act, log_prob, average)


def _categorical(network: Network, count: int) -> Policy:
    outputs = network.apply

    def noise(key: jax.Array, shape: tuple[int, int]) -> jax.Array:
        return jax.random.gumbel(key, (*shape, count))

    def act(theta: PyTree, observation: jax.Array, gumbel: jax.Array) -> jax.Array:
        return jnp.argmax(outputs(theta, observation) + gumbel)

    def log_prob(theta: PyTree, observation: jax.Array, action: jax.Array) -> jax.Array:
        return jax.nn.log_softmax(outputs(theta, observation))[action.astype(jnp.int32)]

    def average(particles: Particles, observation: jax.Array) -> jax.Array:
        chances = jax.vmap(lambda theta: jax.nn.softmax(outputs(theta, observation)))(particles)
        return jnp.argmax(jnp.mean(chances, axis=0))

    return Policy(network.init, noise, act, log_prob, average)
