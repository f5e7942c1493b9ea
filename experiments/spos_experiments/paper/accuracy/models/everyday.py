"""What people fit every day besides plain regressions; and regressions that are wide."""

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import factor, sample
from numpyro.distributions import (
    Beta,
    Exponential,
    Gamma,
    HalfNormal,
    Normal,
    OrderedLogistic,
    Poisson,
    TransformedDistribution,
)
from numpyro.distributions.transforms import OrderedTransform


def ordinal(rng):
    """Five answers in order, with cutpoints."""
    x = rng.normal(size=(150, 2))
    hidden = x @ np.array([1.0, -0.6]) + rng.logistic(size=150)
    y = np.digitize(hidden, [-2.0, -0.5, 0.5, 2.0])

    def model():
        slopes = sample("slopes", Normal(0, 2).expand([2]).to_event(1))
        unordered = Normal(0, 2).expand([4]).to_event(1)
        cuts = sample("cuts", TransformedDistribution(unordered, OrderedTransform()))
        sample("y", OrderedLogistic(jnp.asarray(x) @ slopes, cuts), obs=y)

    return model


def weibull_censored(rng):
    """Times to an event, a third of which had not come when the study ended."""
    x = rng.normal(size=(120, 2))
    times = np.exp(1.0 + x @ np.array([0.5, -0.3])) * rng.weibull(1.6, 120)
    end = 3.5
    event, log_times = times < end, np.log(np.minimum(times, end))

    def model():
        intercept = sample("intercept", Normal(0, 3))
        slopes = sample("slopes", Normal(0, 1).expand([2]).to_event(1))
        shape = sample("shape", Gamma(2.0, 1.0))
        ratio = shape * (log_times - intercept - x @ slopes)
        factor("y", jnp.where(event, jnp.log(shape) + ratio, 0.0).sum() - jnp.exp(ratio).sum())

    return model


def zero_inflated(rng):
    """Counts with too many zeros, and a predictor of each part."""
    x = rng.normal(size=200)
    y = rng.poisson(np.exp(1 + 0.5 * x)) * (rng.logistic(size=200) > -0.8 + 0.7 * x)

    def model():
        b = sample("b", Normal(0, 2).expand([2]).to_event(1))
        c = sample("c", Normal(0, 2).expand([2]).to_event(1))
        gate = c[0] + c[1] * x
        some = -jnp.logaddexp(0.0, gate) + Poisson(jnp.exp(b[0] + b[1] * x)).log_prob(y)
        none = -jnp.logaddexp(0.0, -gate)
        factor("y", jnp.where(y == 0, jnp.logaddexp(none, some), some).sum())

    return model


def dose_response(rng):
    """A curve with four parameters through few doses."""
    dose = np.repeat(np.log([0.1, 0.3, 1.0, 3.0, 10.0, 30.0]), 3)
    y = 1 + 9 / (1 + np.exp(-1.5 * (dose - 0.5))) + 0.7 * rng.normal(size=18)

    def model():
        low = sample("low", Normal(0, 5))
        rise = sample("rise", HalfNormal(20.0))
        middle = sample("middle", Normal(0, 2))
        steepness = sample("steepness", Gamma(3.0, 2.0))
        noise = sample("noise", HalfNormal(3.0))
        sample("y", Normal(low + rise * jax.nn.sigmoid(steepness * (dose - middle)), noise), obs=y)

    return model


def conversion(rng):
    """How many of a hundred bought in two arms, and what they paid: a Beta and a Gamma law."""
    sold, paid = np.array([3, 9]), np.array([0.4, 0.9])

    def model():
        share = sample("share", Beta(1.0, 1.0).expand([2]).to_event(1))
        value = sample("value", Exponential(0.1).expand([2]).to_event(1))
        factor("y", (sold * jnp.log(share) + (100 - sold) * jnp.log1p(-share)).sum())
        factor("paid", (sold * jnp.log(value) - paid * value).sum())

    shape, rate = sold + 1, 0.1 + paid
    mean = shape / 102
    model.moments = {  # type: ignore[attr-defined]
        "share": (mean, np.sqrt(mean * (1 - mean) / 103)),
        "value": (shape / rate, np.sqrt(shape) / rate),
    }
    return model


def _wide(rng, size, rows):
    """Correlated columns, noise of size one, and slopes N(0, 1): a posterior that is normal."""
    x = rng.normal(size=(rows, size)) + rng.normal(size=(rows, 1))
    y = x @ (rng.normal(size=size) * (rng.uniform(size=size) < 0.1)) + rng.normal(size=rows)
    covariance = np.linalg.inv(x.T @ x + np.eye(size))

    def model():
        slopes = sample("slopes", Normal(0, 1).expand([size]).to_event(1))
        sample("y", Normal(x @ slopes, 1.0), obs=y)

    model.moments = {  # type: ignore[attr-defined]
        "slopes": (covariance @ (x.T @ y), np.sqrt(np.diag(covariance)))
    }
    return model


def regression_500(rng):
    return _wide(rng, 500, 1000)


def regression_1000(rng):
    return _wide(rng, 1000, 1500)
