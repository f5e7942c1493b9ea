"""Plain networks: dense layers, one after the other, and a linear one on top.

    tanh    for policies and critics: weights uniform on ±sqrt(6 / (fan in + fan out)) (Glorot)
    relu    for Bayesian networks: weights N(0, 1 / (fan in + 1))

Biases start at 0. The input may have any leading axes. `masks` multiply the hidden units of the
layers, where dropout leaves some of them out.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.types import PyTree


class Network(NamedTuple):
    """Any function with parameters."""

    init: Callable[[jax.Array], PyTree]  # key -> parameters
    apply: Callable[..., jax.Array]  # (parameters, (…, inputs)) -> (…, outputs)


Draw = Callable[[jax.Array, int, int], jax.Array]


def tanh_network(inputs: int, outputs: int, hidden: Sequence[int]) -> Network:
    def glorot(key: jax.Array, fan_in: int, fan_out: int) -> jax.Array:
        edge = np.sqrt(6.0 / (fan_in + fan_out))
        return jax.random.uniform(key, (fan_in, fan_out), minval=-edge, maxval=edge)

    return _dense(inputs, outputs, hidden, jnp.tanh, glorot)


def relu_network(inputs: int, outputs: int, hidden: Sequence[int]) -> Network:
    def scaled(key: jax.Array, fan_in: int, fan_out: int) -> jax.Array:
        return jax.random.normal(key, (fan_in, fan_out)) / np.sqrt(np.float32(fan_in + 1))

    return _dense(inputs, outputs, hidden, jax.nn.relu, scaled)


def _dense(
    inputs: int,
    outputs: int,
    hidden: Sequence[int],
    activation: Callable[[jax.Array], jax.Array],
    draw: Draw,
) -> Network:
    sizes = (inputs, *(checks.whole("hidden", width) for width in hidden), outputs)
    layers = list(enumerate(itertools.pairwise(sizes)))

    def init(key: jax.Array) -> PyTree:
        theta = {}
        for (n, (fan_in, fan_out)), k in zip(
            layers, jax.random.split(key, len(layers)), strict=True
        ):
            theta[f"w{n}"] = draw(k, fan_in, fan_out)
            theta[f"b{n}"] = jnp.zeros(fan_out)
        return theta

    def apply(theta: PyTree, x: jax.Array, masks: Sequence[jax.Array] = ()) -> jax.Array:
        for n, _ in layers[:-1]:
            x = activation(x @ theta[f"w{n}"] + theta[f"b{n}"])
            x = x * masks[n] if masks else x
        last = len(layers) - 1
        return x @ theta[f"w{last}"] + theta[f"b{last}"]

    return Network(init, apply)
