"""Mixtures, Gaussian processes and differential equations."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from numpyro import factor, sample
from numpyro.distributions import (
    Dirichlet,
    HalfNormal,
    InverseGamma,
    LogNormal,
    MultivariateNormal,
    Normal,
    TransformedDistribution,
    TruncatedNormal,
)
from numpyro.distributions.transforms import OrderedTransform


def mixture(rng):
    """Two normals, in order."""
    y = np.concatenate([rng.normal(-2, 0.7, 60), rng.normal(2, 1.0, 90)])

    def model():
        weights = sample("weights", Dirichlet(jnp.ones(2)))
        unordered = Normal(0, 3).expand([2]).to_event(1)
        means = sample("means", TransformedDistribution(unordered, OrderedTransform()))
        spreads = sample("spreads", HalfNormal(2.0).expand([2]).to_event(1))
        each = jnp.log(weights) + Normal(means, spreads).log_prob(y[:, None])
        factor("y", logsumexp(each, axis=-1).sum())

    return model


def gaussian_process(rng):
    x = np.linspace(-2, 2, 40)
    y = np.sin(2 * x) + 0.2 * rng.normal(size=40)

    def model():
        length = sample("length", InverseGamma(5.0, 5.0))
        height = sample("height", HalfNormal(2.0))
        noise = sample("noise", HalfNormal(1.0))
        smooth = height**2 * jnp.exp(-0.5 * ((x[:, None] - x) / length) ** 2)
        covariance = smooth + (noise**2 + 1e-5) * jnp.eye(40)
        sample("y", MultivariateNormal(jnp.zeros(40), covariance), obs=y)

    return model


def predator_prey(rng):
    """Lotka and Volterra's equations, by Runge and Kutta's method, with rates from .02 to 1."""
    rates, first = np.array([0.55, 0.028, 0.80, 0.024]), np.array([33.0, 6.0])
    y = np.exp(np.log(np.asarray(_populations(rates, first))) + 0.25 * rng.normal(size=(21, 2)))

    def model():
        usual = jnp.array([1.0, 0.05, 1.0, 0.05])
        rates = sample("rates", TruncatedNormal(usual, 0.5 * usual + 0.02, low=0.0).to_event(1))
        first = sample("first", LogNormal(jnp.log(10.0), 1).expand([2]).to_event(1))
        noise = sample("noise", LogNormal(-1, 1).expand([2]).to_event(1))
        expected = jnp.log(jnp.maximum(_populations(rates, first), 1e-10))
        sample("y", LogNormal(expected, noise), obs=y)

    return model


def _populations(rates, first, years=20, steps=10):
    h = 1.0 / steps

    def flow(z):
        prey, predators = z
        born, eaten, lost, fed = rates
        return jnp.stack([prey * (born - eaten * predators), predators * (fed * prey - lost)])

    def step(z, _):
        k1 = flow(z)
        k2 = flow(z + h / 2 * k1)
        k3 = flow(z + h / 2 * k2)
        k4 = flow(z + h * k3)
        return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    def year(z, _):
        z = jax.lax.scan(step, z, length=steps)[0]
        return z, z

    first = jnp.asarray(first, jnp.result_type(float))
    return jnp.concatenate([first[None], jax.lax.scan(year, first, length=years)[1]])


def growth(rng):
    """A logistic curve."""
    t = np.linspace(0, 10, 40)
    y = 10 / (1 + np.exp(-1.2 * (t - 5))) + 0.4 * rng.normal(size=40)

    def model():
        capacity = sample("capacity", LogNormal(2, 1))
        rate = sample("rate", LogNormal(0, 1))
        middle = sample("middle", Normal(5, 5))
        noise = sample("noise", HalfNormal(1.0))
        sample("y", Normal(capacity * jax.nn.sigmoid(rate * (t - middle)), noise), obs=y)

    return model
