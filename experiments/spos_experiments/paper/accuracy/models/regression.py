"""Regressions, generalised linear and robust."""

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import factor, sample
from numpyro.distributions import (
    Bernoulli,
    Categorical,
    Exponential,
    Gamma,
    HalfCauchy,
    HalfNormal,
    NegativeBinomial2,
    Normal,
    Poisson,
    StudentT,
)


def linear(rng):
    """Diabetes: columns of size 0.05 and strongly correlated."""
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()

    def model():
        intercept = sample("intercept", Normal(0, 10))
        slopes = sample("slopes", Normal(0, 20).expand([x.shape[1]]).to_event(1))
        noise = sample("noise", HalfCauchy(2.0))
        sample("y", Normal(intercept + x @ slopes, noise), obs=y)

    return model


def raw_interaction(rng):
    """A score at three years from the mother's raw IQ and schooling, with their product: intercept
    and slopes are correlated by .99."""
    iq, school = rng.normal(100, 15, 300), rng.binomial(1, 0.8, 300)
    y = 26 + 6 * school + 0.56 * iq + 18 * rng.normal(size=300)

    def model():
        b = sample("b", Normal(0, 100).expand([4]).to_event(1))
        noise = sample("noise", HalfCauchy(2.5))
        sample("y", Normal(b[0] + b[1] * school + b[2] * iq + b[3] * school * iq, noise), obs=y)

    return model


def raw_quadratic(rng):
    """A parabola in raw temperature: coefficients 1e4 apart in scale and correlated by .99."""
    x = rng.uniform(50, 150, 100)
    y = 20 + 0.8 * x - 0.004 * x**2 + 3 * rng.normal(size=100)

    def model():
        level = sample("level", Normal(0, 100))
        slope = sample("slope", Normal(0, 10))
        bend = sample("bend", Normal(0, 1))
        noise = sample("noise", HalfNormal(10.0))
        sample("y", Normal(level + slope * x + bend * x**2, noise), obs=y)

    return model


def logistic(rng):
    """Breast cancer: thirty standardised columns, nearly separable."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    x = (x - x.mean(0)) / x.std(0)

    def model():
        intercept = sample("intercept", Normal(0, 2))
        slopes = sample("slopes", Normal(0, 2).expand([30]).to_event(1))
        sample("y", Bernoulli(logits=intercept + x @ slopes), obs=y)

    return model


def multinomial(rng):
    """Iris: three classes."""
    from sklearn.datasets import load_iris

    x, y = load_iris(return_X_y=True)
    x = (x - x.mean(0)) / x.std(0)

    def model():
        intercept = sample("intercept", Normal(0, 5).expand([2]).to_event(1))
        slopes = sample("slopes", Normal(0, 2.5).expand([4, 2]).to_event(2))
        logits = jnp.concatenate([jnp.zeros((150, 1)), intercept + x @ slopes], axis=-1)
        sample("y", Categorical(logits=logits), obs=y)

    return model


def poisson(rng):
    x = rng.normal(size=(200, 5))
    y = rng.poisson(np.exp(0.5 + x @ np.array([0.3, -0.5, 0.2, 0.0, 0.7])))

    def model():
        intercept = sample("intercept", Normal(0, 5))
        slopes = sample("slopes", Normal(0, 2).expand([5]).to_event(1))
        sample("y", Poisson(jnp.exp(intercept + x @ slopes)), obs=y)

    return model


def negative_binomial(rng):
    x = rng.normal(size=(150, 3))
    y = rng.poisson(np.exp(1 + x @ np.array([0.5, -0.3, 0.1])) * rng.gamma(2.0, 0.5, 150))

    def model():
        intercept = sample("intercept", Normal(0, 5))
        slopes = sample("slopes", Normal(0, 2).expand([3]).to_event(1))
        shape = sample("shape", HalfNormal(10.0))
        sample("y", NegativeBinomial2(jnp.exp(intercept + x @ slopes), shape), obs=y)

    return model


def probit(rng):
    x = rng.normal(size=(120, 4))
    y = x @ np.array([1.0, -1.0, 0.5, 0.0]) + 0.3 + rng.normal(size=120) > 0

    def model():
        intercept = sample("intercept", Normal(0, 3))
        slopes = sample("slopes", Normal(0, 3).expand([4]).to_event(1))
        sign = 2.0 * y - 1.0
        factor("y", jax.scipy.stats.norm.logcdf(sign * (intercept + x @ slopes)).sum())

    return model


def robust(rng):
    """Errors with heavy tails, whose weight is not known."""
    x = rng.normal(size=(80, 2))
    y = 1 + x @ np.array([2.0, -1.0]) + 0.3 * rng.standard_t(2.5, 80)

    def model():
        intercept = sample("intercept", Normal(0, 10))
        slopes = sample("slopes", Normal(0, 10).expand([2]).to_event(1))
        noise = sample("noise", HalfNormal(5.0))
        freedom = sample("freedom", Gamma(2.0, 0.1))
        sample("y", StudentT(freedom, intercept + x @ slopes, noise), obs=y)

    return model


def lasso(rng):
    """Twenty slopes of which three matter, under a double-exponential prior as a mixture."""
    x = rng.normal(size=(100, 20))
    y = x[:, 0] * 2 - x[:, 1] * 1.5 + x[:, 2] + rng.normal(size=100)

    def model():
        scale = sample("scale", HalfNormal(1.0))
        spread = sample("spread", Exponential(0.5).expand([20]).to_event(1))
        z = sample("z", Normal(0, 1).expand([20]).to_event(1))
        noise = sample("noise", HalfNormal(2.0))
        sample("y", Normal(x @ (z * jnp.sqrt(spread) * scale), noise), obs=y)

    return model
