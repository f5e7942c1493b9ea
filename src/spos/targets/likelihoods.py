"""How the outputs of a network become a distribution of what is observed.

    gaussian          y ~ N(f, 1/γ)              log γ is a parameter of its own, γ ~ Gamma(a, b)
    heteroscedastic   y ~ N(f₁, exp c(f₂))       the second output is the log variance
    location_scale    y ~ t_ν(f₁, exp c(f₂ - log γ))   noise that may vary, tails that may be heavy
    categorical       y ~ softmax(f)             y counts classes from 0

A log-variance without bounds explodes where there are few rows: c bends it smoothly below log 25
and above log 10⁻⁶, so that noise is at most five standard deviations of a scaled y.

A likelihood with parameters of its own brings their prior, in the coordinates they are sampled in:
with ℓ = log γ,  log p(ℓ) = aℓ - b e^ℓ + const. Tails are sampled as τ with 1/ν = sigmoid(τ) 2/5,
which is uniform on (0, 2/5): ν is above 2.5, and y has a variance.
"""

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from spos import checks
from spos.types import Number, PyTree
from spos.values import Value, value

LOWEST, HIGHEST = math.log(1e-6), math.log(25.0)  # log-variance of a scaled target
BEND = 0.5  # how far from its bounds a log-variance feels them
HEAVIEST = 0.4  # of tails: 1/ν, at most
THINNEST = 1e-8  # 1/ν of a Gaussian


@value
class Likelihood(Value):
    """How outputs of one network become a distribution of outcomes, by a class of ten lines.

    `outputs` have the shape (n, k), `y` has n rows, and `own` are parameters of the likelihood
    itself, or ().
    """

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
class LocationScale(Likelihood):
    """Noise whose size may depend on the place, with tails that may be heavy.

    One structure for all of them, so that they share compiled programs.

    Attributes:
        slope: 1 if the size of the noise depends on the place, 0 if not.
        tails: 1 if the degrees of freedom are learnt, 0 for Gaussian noise.
        shape: of the Gamma prior of the noise's precision.
        rate: of the Gamma prior of the noise's precision.
    """

    slope: Number
    tails: Number
    shape: Number
    rate: Number

    def init(self, outputs: jax.Array, y: jax.Array) -> PyTree:
        mean, _ = jnp.split(outputs, 2, axis=1)
        errors = jnp.mean((mean - _columns(y)) ** 2, axis=0)
        return {"log_precision": -jnp.log(errors + 1e-6), "tails": jnp.full(len(errors), -2.0)}

    def log_prob(self, own: PyTree, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return _student_t(_columns(y), *self.parts(own, outputs)).sum(axis=1)

    def log_prior(self, own: PyTree) -> Any:
        t = own["tails"]
        uniform = -jax.nn.softplus(t) - jax.nn.softplus(-t)
        return jnp.sum(log_gamma(own["log_precision"], self.shape, self.rate) + uniform)

    def moments(self, own: PyTree, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        mean, log_variance, heaviness = self.parts(own, outputs)
        variance = jnp.exp(log_variance) / (1.0 - 2.0 * heaviness)
        alone = mean.shape[1] == 1  # as y is then given
        return (mean[:, 0], variance[:, 0]) if alone else (mean, variance)

    def parts(self, own: PyTree, outputs: jax.Array) -> tuple[jax.Array, jax.Array, Any]:
        """The law of an outcome.

        Args:
            own: its own parameters.
            outputs: of the network.

        Returns:
            Location and log-variance of the t's scale, a column for each outcome, and 1/ν of each.
        """
        mean, place = jnp.split(outputs, 2, axis=1)
        log_variance = _capped(self.slope * place - own["log_precision"])
        heaviness = self.tails * HEAVIEST * jax.nn.sigmoid(own["tails"])
        return mean, log_variance, heaviness + THINNEST


@value
class Heteroscedastic(Likelihood):
    """Noise that depends on where x is; see `heteroscedastic`."""

    def log_prob(self, own: PyTree, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return _normal(y, outputs[:, 0], _capped(outputs[:, 1]))

    def moments(self, own: PyTree, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        return outputs[:, 0], jnp.exp(_capped(outputs[:, 1]))


@value
class Categorical(Likelihood):
    """One of k classes; see `categorical`."""

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


def location_scale(
    varying: bool = True, heavy: bool = True, shape: Number = 1.0, rate: Number = 0.1
) -> LocationScale:
    """Noise whose size may depend on where x is, with tails that may be heavy.

    Args:
        varying: does the size of the noise depend on x?
        heavy: is y a Student t with degrees of freedom that are learnt, or Gaussian?
        shape: of the Gamma prior of the noise's precision.
        rate: of the Gamma prior of the noise's precision.

    Returns:
        The likelihood, for networks with two outputs for each outcome: all locations, then all
        log-variances. `y` has a column for each outcome; one outcome may come as n numbers.

    Example:
        >>> likelihood = spos.targets.likelihoods.location_scale(varying=False)
        >>> own = likelihood.init(jnp.zeros((10, 2)), jnp.ones(10))
        >>> likelihood.log_prob(own, jnp.zeros((10, 2)), jnp.ones(10)).shape
        (10,)
    """
    return LocationScale(
        float(checks.switch("varying", varying)),
        float(checks.switch("heavy", heavy)),
        checks.positive("shape", shape),
        checks.positive("rate", rate),
    )


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


def _capped(log_variance: jax.Array) -> jax.Array:
    below = HIGHEST - BEND * jax.nn.softplus((HIGHEST - log_variance) / BEND)
    return LOWEST + BEND * jax.nn.softplus((below - LOWEST) / BEND)


def _columns(y: jax.Array) -> jax.Array:
    return y[:, None] if y.ndim == 1 else y


def _normal(y: jax.Array, mean: jax.Array, log_variance: Any) -> jax.Array:
    away = (y - mean) ** 2 * jnp.exp(-log_variance)
    return -0.5 * (away + log_variance + math.log(2.0 * math.pi))


def _student_t(y: jax.Array, centre: jax.Array, log_variance: jax.Array, heaviness: Any) -> Any:
    """With 1/ν = `heaviness`; the log-variance is that of the scale.

    log Γ((ν+1)/2) - log Γ(ν/2) is Stirling's series at b = ν/2 + 1, right to 1e-5 for ν > 2.5. It
    has no large terms that cancel, so that one formula serves the Gaussian as well.
    """
    away = (y - centre) ** 2 * jnp.exp(-log_variance)
    b = 2.0 * heaviness / (1.0 + 2.0 * heaviness)  # its inverse
    series = b * (-1.0 / 8.0 + b**2 * (1.0 / 192.0 - b**2 / 640.0))
    constant = 0.5 * jnp.log1p(2.0 * heaviness) - jnp.log1p(heaviness) + series
    powers = 0.5 * (1.0 + heaviness) * jnp.log1p(away * heaviness) / heaviness
    return constant - 0.5 * (math.log(2.0 * math.pi) + log_variance) - powers
