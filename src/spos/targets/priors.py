"""Priors of the weights of a network.

    normal          w ~ N(0, σ²), or N(0, σ² min(1, K / k)) for the k weights into a unit
    hierarchical    w ~ N(0, 1/λ),   λ ~ Gamma(a, b), sampled as log λ beside the weights

The second lets the data decide how large weights are. λ starts where the first weights have it.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp

from spos import checks
from spos.targets.likelihoods import log_gamma
from spos.types import Number, PyTree
from spos.values import Value, value


@value
class Prior(Value):
    """What the weights of one network are expected to be, by a class of ten lines.

    `own` are parameters of the prior itself, or ().
    """

    def init(self, weights: PyTree) -> PyTree:
        """The prior's own parameters before the first step.

        Args:
            weights: of one network.

        Returns:
            A pytree of arrays; () without own parameters.
        """
        return ()

    def log_prob(self, own: PyTree, weights: PyTree) -> Any:
        """The log-prior of weights, and of the prior's own parameters.

        Args:
            own: the prior's own parameters.
            weights: of one network.

        Returns:
            One number.
        """
        raise NotImplementedError


@value
class Normal(Prior):
    """Independent weights of a known scale; see `normal`.

    Attributes:
        scale: the standard deviation of a weight.
        full_width: K, the weights into a unit from which on it falls.
    """

    scale: Number
    full_width: Number = math.inf

    def log_prob(self, own: PyTree, weights: PyTree) -> Any:
        spread = [jnp.sum(leaf**2) * self._tightness(leaf) for leaf in jax.tree.leaves(weights)]
        return -0.5 * self.scale**-2 * sum(spread)

    def _tightness(self, leaf: jax.Array) -> Any:
        width = leaf.shape[-2] if leaf.ndim > 1 else 1
        return jnp.maximum(1.0, width / self.full_width)


@value
class Hierarchical(Prior):
    """Independent weights of one unknown scale; see `hierarchical`.

    Attributes:
        shape: of the Gamma prior of the weights' precision.
        rate: of the Gamma prior of the weights' precision.
    """

    shape: Number
    rate: Number

    def init(self, weights: PyTree) -> jax.Array:
        return jnp.log(_count(weights)) - jnp.log(_squares(weights))

    def log_prob(self, own: jax.Array, weights: PyTree) -> Any:
        fit = 0.5 * (_count(weights) * own - jnp.exp(own) * _squares(weights))
        return fit + log_gamma(own, self.shape, self.rate)


def normal(scale: Number = 1.0, full_width: Number = math.inf) -> Normal:
    """Independent weights of a known scale.

    Args:
        scale: the standard deviation of a weight.
        full_width: units that more weights than these lead into have smaller ones, so that what
            such a unit gets has a bounded variance. By default all weights have one scale.

    Returns:
        The prior.
    """
    width = checks.positive("full_width", full_width, allow_infinity=True)
    return Normal(checks.positive("scale", scale), width)


def hierarchical(shape: Number = 1.0, rate: Number = 0.1) -> Hierarchical:
    """Independent weights of one unknown scale.

    Args:
        shape: of the Gamma prior of the weights' precision.
        rate: of the Gamma prior of the weights' precision.

    Returns:
        The prior.
    """
    return Hierarchical(checks.positive("shape", shape), checks.positive("rate", rate))


def _squares(weights: PyTree) -> Any:
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(weights))


def _count(weights: PyTree) -> int:
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(weights))
