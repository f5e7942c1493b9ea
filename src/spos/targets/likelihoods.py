"""How the outputs of a network become a distribution of what is observed.

    gaussian          y ~ N(f, 1/γ)              log γ is a parameter of its own, γ ~ Gamma(a, b)
    heteroscedastic   y ~ N(f₁, exp(f₂))         the second output is the log variance
    categorical       y ~ softmax(f)             y counts classes from 0

A likelihood with parameters of its own brings their prior, in the coordinates they are sampled in:
with ℓ = log γ,  log p(ℓ) = aℓ - b e^ℓ + const.
"""

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from spos import checks
from spos.types import Number, PyTree
from spos.values import Value, value

LOG_VARIANCE = 14.0  # at most, either sign: e^±14 is beyond any scaled target


@value
class Likelihood(Value):
    """For one particle: `outputs` are (n, k), `y` has n rows, `own` its parameters or ()."""

    classes: ClassVar[bool] = False  # is y a class, or a number?

    def init(self, outputs: jax.Array, y: jax.Array) -> PyTree:
        """Its own parameters, before they are fitted.

        Args:
            outputs: of a network, at some rows.
            y: the outcomes of those rows.

        Returns:
            A pytree of arrays; empty without own parameters.
        """
        return ()

    def log_prob(self, own: PyTree, outputs: jax.Array, y: jax.Array) -> jax.Array:
        """The log-probability of outcomes.

        Args:
            own: its own parameters.
            outputs: of the network.
            y: the outcomes.

        Returns:
            One number per row.
        """
        raise NotImplementedError

    def log_prior(self, own: PyTree) -> Any:
        """The log-prior of its own parameters.

        Args:
            own: its own parameters.

        Returns:
            One number.
        """
        return 0.0

    def moments(self, own: PyTree, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """What outcomes are to be expected.

        Args:
            own: its own parameters.
            outputs: of the network.

        Returns:
            The mean of an outcome, and its variance.
        """
        raise TypeError(f"{type(self).__name__} has no moments: y is a class")


@value
class Gaussian(Likelihood):
    """Noise of one unknown size; see `gaussian`.

    Attributes:
        shape: of the Gamma prior of the noise's precision.
        rate: of the Gamma prior of the noise's precision.
    """

    shape: Number
    rate: Number

    def init(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return -jnp.log(jnp.mean((outputs[:, 0] - y) ** 2) + 1e-6)

    def log_prob(self, own: jax.Array, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return _normal(y, outputs[:, 0], -own)

    def log_prior(self, own: jax.Array) -> Any:
        return log_gamma(own, self.shape, self.rate)

    def moments(self, own: jax.Array, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        return outputs[:, 0], jnp.full(len(outputs), jnp.exp(-own))


@value
class Heteroscedastic(Likelihood):
    """See `heteroscedastic`."""

    def log_prob(self, own: PyTree, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return _normal(y, outputs[:, 0], _log_variance(outputs))

    def moments(self, own: PyTree, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        return outputs[:, 0], jnp.exp(_log_variance(outputs))


@value
class Categorical(Likelihood):
    """See `categorical`."""

    classes: ClassVar[bool] = True

    def log_prob(self, own: PyTree, outputs: jax.Array, y: jax.Array) -> jax.Array:
        chances = jax.nn.log_softmax(outputs)
        return jnp.take_along_axis(chances, y[:, None], axis=1)[:, 0]


def gaussian(shape: Number = 1.0, rate: Number = 0.1) -> Gaussian:
    """Noise of one unknown size, which starts at that of the first residuals.

    Args:
        shape: of the Gamma prior of the noise's precision.
        rate: of the Gamma prior of the noise's precision.

    Returns:
        The likelihood.
    """
    return Gaussian(checks.positive("shape", shape), checks.positive("rate", rate))


def heteroscedastic() -> Heteroscedastic:
    """Noise that depends on where x is.

    Returns:
        The likelihood, for networks with two outputs: the mean and the log-variance.
    """
    return Heteroscedastic()


def categorical() -> Categorical:
    """One of k classes.

    Returns:
        The likelihood, for networks with an output for each class.
    """
    return Categorical()


def log_gamma(logarithm: Any, shape: Number, rate: Number) -> Any:
    """The log-density of the logarithm of a Gamma variable, but for a constant.

    Args:
        logarithm: of the variable.
        shape: of the Gamma law.
        rate: of the Gamma law.

    Returns:
        One number.
    """
    return shape * logarithm - rate * jnp.exp(logarithm)


def _log_variance(outputs: jax.Array) -> jax.Array:
    return jnp.clip(outputs[:, 1], -LOG_VARIANCE, LOG_VARIANCE)


def _normal(y: jax.Array, mean: jax.Array, log_variance: Any) -> jax.Array:
    away = (y - mean) ** 2 * jnp.exp(-log_variance)
    return -0.5 * (away + log_variance + math.log(2.0 * math.pi))
