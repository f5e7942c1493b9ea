"""Plain networks: dense layers, one after the other, and a linear one on top.

    tanh    for policies and critics: weights uniform on ±sqrt(6 / (fan in + fan out)) (Glorot)
    relu    for Bayesian networks: weights N(0, 1 / (fan in + 1))

Biases start at 0. The input may have any leading axes. `masks` multiply the hidden units of the
layers, where dropout leaves some of them out. A linear connection from the inputs to the outputs
may stand beside the layers, for what a straight line says; it starts at 0, too.

The units of narrow relu networks stand in rows and the rows of the table in columns: the score of
many small networks then takes less time.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.types import PyTree
from spos.values import Value, as_function, static, value

NARROW = 256  # units of a layer


@value
class Network(Value):
    """Any function with parameters.

    Attributes:
        init: `init(key)` draws the parameters.
        apply: `apply(parameters, x)` uses them, with x of shape (…, inputs).
    """

    init: Callable[[jax.Array], PyTree]
    apply: Callable[..., jax.Array]  # (parameters, (…, inputs)) -> (…, outputs)


Activation = Literal["relu", "tanh"]


@value
class Dense(Value):
    """Dense layers of these widths, from the inputs to the outputs."""

    sizes: tuple[int, ...] = static()
    activation: Activation = static()
    linear: bool = static(default=False)  # is there a linear connection beside them?

    def init(self, key: jax.Array) -> PyTree:
        """The first weights and biases, as a dict."""
        layers = list(itertools.pairwise(self.sizes))
        theta = {}
        for n, (shape, k) in enumerate(
            zip(layers, jax.random.split(key, len(layers)), strict=True)
        ):
            theta[f"w{n}"] = _FIRST[self.activation](k, *shape)
            theta[f"b{n}"] = jnp.zeros(shape[1])
        if self.linear:
            theta["linear"] = jnp.zeros((self.sizes[0], self.sizes[-1]))
        return theta

    def apply(self, theta: PyTree, x: jax.Array, masks: Sequence[jax.Array] = ()) -> jax.Array:
        """The outputs for inputs with any leading axes."""
        outputs = self._layers(theta, x, masks)
        return outputs + x @ theta["linear"] if self.linear else outputs

    def _layers(self, theta: PyTree, x: jax.Array, masks: Sequence[jax.Array]) -> jax.Array:
        last = len(self.sizes) - 2
        if self.activation == "relu" and x.ndim == 2 and not masks and max(self.sizes) <= NARROW:
            x = x.T
            for n in range(last + 1):
                x = theta[f"w{n}"].T @ x + theta[f"b{n}"][:, None]
                x = jax.nn.relu(x) if n < last else x
            return x.T
        for n in range(last):
            x = _ACTIVATIONS[self.activation](x @ theta[f"w{n}"] + theta[f"b{n}"])
            x = x * masks[n] if masks else x
        return x @ theta[f"w{last}"] + theta[f"b{last}"]


AnyNetwork = Network | Dense


def tanh_network(inputs: int, outputs: int, hidden: Sequence[int]) -> Dense:
    """Layers with tanh, for policies and critics.

    Args:
        inputs: the number of inputs.
        outputs: the number of outputs.
        hidden: the widths of the hidden layers.

    Returns:
        The network, with `init` and `apply`.
    """
    return _dense(inputs, outputs, hidden, "tanh")


def relu_network(inputs: int, outputs: int, hidden: Sequence[int], linear: bool = False) -> Dense:
    """Layers with relu, for Bayesian networks.

    Args:
        inputs: the number of inputs.
        outputs: the number of outputs.
        hidden: the widths of the hidden layers.
        linear: is there a linear connection from the inputs to the outputs beside the layers?

    Returns:
        The network, with `init` and `apply`.

    Example:
        >>> network = spos.targets.relu_network(3, 1, [50])
        >>> network.apply(network.init(jax.random.key(0)), jnp.ones((10, 3))).shape
        (10, 1)
    """
    return _dense(inputs, outputs, hidden, "relu", checks.switch("linear", linear))


def network(init: Callable[[jax.Array], PyTree], apply: Callable[..., jax.Array]) -> Network:
    """A network from any pure functions; see `Network`."""
    return Network(
        as_function(checks.function("init", init)), as_function(checks.function("apply", apply))
    )


def _glorot(key: jax.Array, fan_in: int, fan_out: int) -> jax.Array:
    edge = np.sqrt(6.0 / (fan_in + fan_out))
    return jax.random.uniform(key, (fan_in, fan_out), minval=-edge, maxval=edge)


def _scaled(key: jax.Array, fan_in: int, fan_out: int) -> jax.Array:
    return jax.random.normal(key, (fan_in, fan_out)) / np.sqrt(np.float32(fan_in + 1))


_FIRST = {"tanh": _glorot, "relu": _scaled}
_ACTIVATIONS = {"tanh": jnp.tanh, "relu": jax.nn.relu}


def _dense(
    inputs: int,
    outputs: int,
    hidden: Sequence[int],
    activation: Activation,
    linear: bool = False,
) -> Dense:
    first, last = checks.whole("inputs", inputs), checks.whole("outputs", outputs)
    return Dense((first, *checks.wholes("hidden", hidden), last), activation, linear)
