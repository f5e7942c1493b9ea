"""Priors of the weights of a network.

    normal          w ~ N(0, σ²)
    hierarchical    w ~ N(0, 1/λ),   λ ~ Gamma(a, b), sampled as log λ beside the weights

The second lets the data decide how large weights are. λ starts where the first weights have it.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.targets.likelihoods import log_gamma
from spos.types import PyTree


class Prior(NamedTuple):
    """For one network: `own` are parameters of the prior, or ()."""

    init: Callable[[PyTree], PyTree]  # weights -> own
    log_prob: Callable[[PyTree, PyTree], Any]  # (own, weights) -> one number


def normal(scale: float = 1.0) -> Prior:
    """Independent weights of a known scale."""
    precision = checks.positive("scale", scale) ** -2
    return Prior(lambda weights: (), lambda own, weights: -0.5 * precision * _squares(weights))


def hierarchical(shape: float = 1.0, rate: float = 0.1) -> Prior:
    """Independent weights of one unknown scale."""
    checks.positive("shape", shape)
    checks.positive("rate", rate)

    def init(weights: PyTree) -> jax.Array:
        return jnp.log(_count(weights)) - jnp.log(_squares(weights))

    def log_prob(own: jax.Array, weights: PyTree) -> Any:
        fit = 0.5 * (_count(weights) * own - jnp.exp(own) * _squares(weights))
        return fit + log_gamma(own, shape, rate)

    return Prior(init, log_prob)


def _squares(weights: PyTree) -> Any:
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(weights))


def _count(weights: PyTree) -> int:
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(weights))
