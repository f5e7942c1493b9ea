"""Time series and state spaces."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from numpyro import factor, sample
from numpyro.distributions import Exponential, HalfNormal, Normal, Poisson, Uniform


def autoregression(rng):
    y = np.zeros(90)
    for t in range(1, len(y)):
        y[t] = 0.5 + 0.8 * y[t - 1] + 0.4 * rng.normal()

    def model():
        level = sample("level", Normal(0, 5))
        memory = sample("memory", Uniform(-1, 1))
        noise = sample("noise", HalfNormal(2.0))
        sample("y", Normal(level + memory * y[:-1], noise), obs=y[1:])

    return model


def local_level(rng):
    """A random walk seen through noise."""
    length = 60
    y = 3 + np.cumsum(0.3 * rng.normal(size=length)) + 0.6 * rng.normal(size=length)

    def model():
        drift = sample("drift", HalfNormal(1.0))
        noise = sample("noise", HalfNormal(1.0))
        start = sample("start", Normal(0, 5))
        z = sample("z", Normal(0, 1).expand([length]).to_event(1))
        sample("y", Normal(start + drift * jnp.cumsum(z), noise), obs=y)

    return model


def stochastic_volatility(rng):
    length = 80
    h = np.full(length, -1.0)
    for t in range(1, length):
        h[t] = -1 + 0.9 * (h[t - 1] + 1) + 0.3 * rng.normal()
    y = np.exp(h / 2) * rng.normal(size=length)

    def model():
        mean = sample("mean", Normal(0, 5))
        memory = sample("memory", Uniform(-1, 1))
        spread = sample("spread", HalfNormal(1.0))
        z = sample("z", Normal(0, 1).expand([length]).to_event(1))
        first = spread * z[0] / jnp.sqrt(1 - memory**2)

        def onwards(state, z):
            state = memory * state + spread * z
            return state, state

        rest = jax.lax.scan(onwards, first, z[1:])[1]
        volatility = mean + jnp.concatenate([first[None], rest])
        sample("y", Normal(0, jnp.exp(volatility / 2)), obs=y)

    return model


def change_point(rng):
    """Counts whose rate changes once; the time of the change is summed out."""
    y = np.concatenate([rng.poisson(4.0, 40), rng.poisson(1.5, 60)])
    times = np.arange(len(y))

    def model():
        early = sample("early", Exponential(0.3))
        late = sample("late", Exponential(0.3))
        rate = jnp.where(times < times[:, None], early, late)
        factor("y", logsumexp(Poisson(rate).log_prob(y).sum(-1)))

    return model
