"""Priors of the weights of a network.

    normal          w ~ N(0, σ²)
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
    """For one network: `own` are parameters of the prior, or ()."""

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
    """

    scale: Number

    def log_prob(self, own: PyTree, weights: PyTree) -> Any:
        return -0.5 * self.scale**-2 * _squares(weights)


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


def normal(scale: Number = 1.0) -> Normal:
    """Independent weights of a known scale.

    Args:
        scale: the standard deviation of a weight.

    Returns:
        The prior.
    """
    return Normal(checks.positive("scale", scale))


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
