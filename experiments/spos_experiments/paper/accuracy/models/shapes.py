"""Densities whose law is known, each with one difficulty. They have no data, so that drawing from
the prior is drawing from them."""

import jax.numpy as jnp
import numpy as np
from numpyro import sample
from numpyro.distributions import (
    Categorical,
    MixtureSameFamily,
    MultivariateNormal,
    Normal,
    StudentT,
)


def scales(rng):
    """Twenty parameters whose scales go from .01 to 100."""
    size = 10.0 ** np.linspace(-2, 2, 20)

    def model():
        sample("x", Normal(3 * size, size).to_event(1))

    return model


def correlated(rng):
    """Ten parameters, all correlated by .999."""
    covariance = 0.999 * np.ones((10, 10)) + 0.001 * np.eye(10)

    def model():
        sample("x", MultivariateNormal(jnp.ones(10), covariance))

    return model


def banana(rng):
    def model():
        a = sample("a", Normal(0, 1))
        sample("b", Normal(a**2, 0.3))
        c = sample("c", Normal(0, 1))
        sample("d", Normal(0.5 * c**2, 0.5))

    return model


def heavy_tails(rng):
    def model():
        sample("x", StudentT(5.0, jnp.arange(8.0), 1.0).to_event(1))

    return model


def funnel(rng):
    """A neck whose width varies over a factor of a thousand."""

    def model():
        v = sample("v", Normal(0, 3))
        sample("x", Normal(0, jnp.exp(v / 2)).expand([9]).to_event(1))

    return model


def far_modes(rng):
    """Two modes of weight .3 and .7, 36 standard deviations apart."""

    def model():
        centres = jnp.array([8.0, -8.0])[:, None] * jnp.ones(5)
        weights = Categorical(probs=jnp.array([0.3, 0.7]))
        sample("x", MixtureSameFamily(weights, Normal(centres, 1.0).to_event(1)))

    return model
