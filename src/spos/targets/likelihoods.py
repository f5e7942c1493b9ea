"""How the outputs of a network become a distribution of what is observed.

    gaussian          y ~ N(f, 1/γ)              log γ is a parameter of its own, γ ~ Gamma(a, b)
    heteroscedastic   y ~ N(f₁, exp(f₂))         the second output is the log variance
    categorical       y ~ softmax(f)             y counts classes from 0

A likelihood with parameters of its own brings their prior, in the coordinates they are sampled in:
with ℓ = log γ,  log p(ℓ) = aℓ - b e^ℓ + const.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.types import PyTree

LOG_VARIANCE = 14.0  # at most, either sign: e^±14 is beyond any scaled target


class Likelihood(NamedTuple):
    """For one particle: `outputs` are (n, k), `y` has n rows, `own` its parameters or ()."""

    init: Callable[[jax.Array, jax.Array], PyTree]  # (outputs, y) -> own
    log_prob: Callable[[PyTree, jax.Array, jax.Array], jax.Array]  # (own, outputs, y) -> (n,)
    log_prior: Callable[[PyTree], Any]
    moments: Callable[[PyTree, jax.Array], tuple[jax.Array, jax.Array]] | None = None
    # (own, outputs) -> mean and variance of y, each (n,); none for classes


def gaussian(shape: float = 1.0, rate: float = 0.1) -> Likelihood:
    """Noise of one unknown size. It starts at that of the first residuals."""
    checks.positive("shape", shape)
    checks.positive("rate", rate)

    def init(outputs: jax.Array, y: jax.Array) -> jax.Array:
        return -jnp.log(jnp.mean((outputs[:, 0] - y) ** 2) + 1e-6)

    def log_prob(own: jax.Array, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return _normal(y, outputs[:, 0], -own)

    def moments(own: jax.Array, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        return outputs[:, 0], jnp.full(len(outputs), jnp.exp(-own))

    return Likelihood(init, log_prob, lambda own: log_gamma(own, shape, rate), moments)


def heteroscedastic() -> Likelihood:
    """Noise that depends on where x is."""

    def spread(outputs: jax.Array) -> jax.Array:
        return jnp.clip(outputs[:, 1], -LOG_VARIANCE, LOG_VARIANCE)

    def log_prob(own: PyTree, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return _normal(y, outputs[:, 0], spread(outputs))

    def moments(own: PyTree, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        return outputs[:, 0], jnp.exp(spread(outputs))

    return Likelihood(lambda outputs, y: (), log_prob, lambda own: 0.0, moments)


def categorical() -> Likelihood:
    """One of k classes."""

    def log_prob(own: PyTree, outputs: jax.Array, y: jax.Array) -> jax.Array:
        chances = jax.nn.log_softmax(outputs)
        return jnp.take_along_axis(chances, y[:, None], axis=1)[:, 0]

    return Likelihood(lambda outputs, y: (), log_prob, lambda own: 0.0)


def log_gamma(logarithm: Any, shape: float, rate: float) -> Any:
    """The log-density of the logarithm of a Gamma variable, but for a constant."""
    return shape * logarithm - rate * jnp.exp(logarithm)


def _normal(y: jax.Array, mean: jax.Array, log_variance: Any) -> jax.Array:
    away = (y - mean) ** 2 * jnp.exp(-log_variance)
    return -0.5 * (away + log_variance + math.log(2.0 * math.pi))
