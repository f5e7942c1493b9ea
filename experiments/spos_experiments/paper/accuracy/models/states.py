"""Latent paths: time series with states, Gaussian processes, splines, chains and compartments."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from numpyro import factor, sample
from numpyro.distributions import (
    Beta,
    HalfNormal,
    InverseGamma,
    LogNormal,
    Normal,
    Poisson,
    TransformedDistribution,
)
from numpyro.distributions.transforms import OrderedTransform


def short_series(rng):
    """A damped trend through twelve points in the thousands."""
    t = np.arange(12.0)
    y = 4000 + 600 * (1 - 0.8**t) / 0.2 + 150 * rng.normal(size=12)

    def model():
        level = sample("level", Normal(0, 10_000))
        trend = sample("trend", Normal(0, 1000))
        damping = sample("damping", Beta(4.0, 1.5))
        noise = sample("noise", HalfNormal(1000.0))
        path = level + trend * (1 - damping**t) / (1 - damping)
        sample("y", Normal(path, noise), obs=y)

    return model


def structural_series(rng):
    """A level that drifts, a slope that does too, and four seasons."""
    length = 36
    season = np.array([1.0, -0.5, -1.0, 0.5])
    slope = 0.1 + np.cumsum(0.05 * rng.normal(size=length))
    y = np.cumsum(slope + 0.2 * rng.normal(size=length)) + season[np.arange(length) % 4]
    y = y + 0.3 * rng.normal(size=length)

    def model():
        spreads = sample("spreads", HalfNormal(0.5).expand([2]).to_event(1))
        noise = sample("noise", HalfNormal(1.0))
        start = sample("start", Normal(0, 2).expand([2]).to_event(1))
        z = sample("z", Normal(0, 1).expand([2, length - 1]).to_event(2))
        free = sample("season", Normal(0, 2).expand([3]).to_event(1))
        seasons = jnp.concatenate([free, -free.sum(keepdims=True)])
        slopes = start[1] + spreads[1] * jnp.cumsum(z[1])
        levels = start[0] + jnp.cumsum(slopes + spreads[0] * z[0])
        path = jnp.concatenate([start[:1], levels]) + seasons[np.arange(length) % 4]
        sample("y", Normal(path, noise), obs=y)

    model.gaussian = ("start", "z", "season")  # type: ignore[attr-defined]
    return model


def volatility_centred(rng):
    """Stochastic volatility by its states themselves."""
    length = 60
    h = np.full(length, -1.0)
    for t in range(1, length):
        h[t] = -1 + 0.9 * (h[t - 1] + 1) + 0.4 * rng.normal()
    y = np.exp(h / 2) * rng.normal(size=length)

    def model():
        mean = sample("mean", Normal(0, 3))
        memory = sample("memory", Beta(20.0, 1.5))
        spread = sample("spread", HalfNormal(1.0))
        h = sample("h", Normal(0, 10).expand([length]).to_event(1))
        first = Normal(mean, spread / jnp.sqrt(1 - memory**2)).log_prob(h[0])
        rest = Normal(mean + memory * (h[:-1] - mean), spread).log_prob(h[1:]).sum()
        factor("walk", first + rest - Normal(0, 10).log_prob(h).sum())
        sample("y", Normal(0, jnp.exp(h / 2)), obs=y)

    return model


def process_latent(rng):
    """Counts whose log-rate is a Gaussian process of sixty values with free hyper-parameters."""
    x = np.linspace(0, 6, 60)
    y = rng.poisson(np.exp(0.8 + np.sin(1.5 * x)))
    squares = (x[:, None] - x) ** 2

    def model():
        mean = sample("mean", Normal(0, 1))
        height = sample("height", HalfNormal(1.0))
        length = sample("length", InverseGamma(5.0, 5.0))
        z = sample("z", Normal(0, 1).expand([60]).to_event(1))
        root = jnp.linalg.cholesky(jnp.exp(-0.5 * squares / length**2) + 1e-4 * jnp.eye(60))
        sample("y", Poisson(jnp.exp(mean + height * root @ z)), obs=y)

    return model


def spline(rng):
    """A smooth curve: twenty hat functions under a random walk whose spread is open."""
    x = np.sort(rng.uniform(0, 1, 100))
    y = np.sin(6 * x) * x + 0.2 * rng.normal(size=100)
    hats = np.maximum(0.0, 1 - np.abs(x[:, None] * 19 - np.arange(20)))

    def model():
        start = sample("start", Normal(0, 1))
        spread = sample("spread", HalfNormal(0.5))
        steps = sample("steps", Normal(0, spread).expand([19]).to_event(1))
        noise = sample("noise", HalfNormal(0.5))
        heights = start + jnp.concatenate([jnp.zeros(1), jnp.cumsum(steps)])
        sample("y", Normal(hats @ heights, noise), obs=y)

    return model


def hidden_markov(rng):
    """Two states in order, summed out by the forward recursion."""
    state, y = 0, np.empty(120)
    for t in range(len(y)):
        state = state if rng.uniform() < 0.9 else 1 - state
        y[t] = rng.normal([-1.0, 1.5][state], [0.6, 1.0][state])

    def model():
        stay = sample("stay", Beta(8.0, 2.0).expand([2]).to_event(1))
        unordered = Normal(0, 2).expand([2]).to_event(1)
        means = sample("means", TransformedDistribution(unordered, OrderedTransform()))
        spreads = sample("spreads", HalfNormal(1.5).expand([2]).to_event(1))
        change = jnp.log(jnp.stack([stay[0], 1 - stay[0], 1 - stay[1], stay[1]])).reshape(2, 2)
        seen = Normal(means, spreads).log_prob(y[:, None])

        def forward(alpha, each):
            return logsumexp(alpha[:, None] + change, axis=0) + each, None

        alpha = jax.lax.scan(forward, jnp.log(0.5) + seen[0], seen[1:])[0]
        factor("y", logsumexp(alpha))

    return model


def capture_recapture(rng):
    """Cormack, Jolly and Seber: survival that varies between years, and one rate of recapture."""
    years, marked = 8, 25
    survival = 1 / (1 + np.exp(-(0.8 + 0.5 * rng.normal(size=years - 1))))
    table = np.zeros((years - 1, years))  # marked in a year, seen next in which, or never
    for year in range(years - 1):
        for _ in range(marked):
            now, at = year, year
            while now < years - 1 and rng.uniform() < survival[now]:
                now += 1
                if rng.uniform() < 0.6:
                    table[at, now - 1] += 1
                    at = now
            if at < years - 1:
                table[at, years - 1] += 1

    def model():
        mean = sample("mean", Normal(0, 1.5))
        spread = sample("spread", HalfNormal(1.0))
        z = sample("z", Normal(0, 1).expand([years - 1]).to_event(1))
        seen = sample("seen", Beta(1.0, 1.0))
        logits = mean + spread * z
        alive = -jnp.logaddexp(0.0, -logits)
        path = jnp.concatenate([jnp.zeros(1), jnp.cumsum(alive)])
        i, j = np.triu_indices(years - 1)
        each = path[j + 1] - path[i] + (j - i) * jnp.log1p(-seen) + jnp.log(seen)
        chances = jnp.zeros((years - 1, years - 1)).at[i, j].set(jnp.exp(each))
        never = jnp.log1p(-jnp.minimum(chances.sum(1), 1 - 1e-6))
        factor("y", (table[i, j] * each).sum() + (table[:, -1] * never).sum())

    return model


def pharmacokinetics(rng):
    """A drug taken by mouth: two compartments by Runge and Kutta's method, eight persons."""
    truth = np.log([1.2, 0.25, 2.0]) + 0.2 * rng.normal(size=(8, 3))
    y = np.asarray(_concentrations(np.exp(truth))) * np.exp(0.1 * rng.normal(size=(8, 6)))

    def model():
        usual = sample("usual", Normal(jnp.log(jnp.array([1.0, 0.3, 2.0])), 1.0).to_event(1))
        spread = sample("spread", HalfNormal(0.5).expand([3]).to_event(1))
        z = sample("z", Normal(0, 1).expand([8, 3]).to_event(2))
        noise = sample("noise", HalfNormal(0.5))
        level = _concentrations(jnp.exp(usual + spread * z))
        sample("y", LogNormal(jnp.log(jnp.maximum(level, 1e-10)), noise).to_event(2), obs=y)

    model.twins = [_everybody_exchanged, *(_one_exchanged(n) for n in range(8))]  # type: ignore[attr-defined]
    return model


# One curve has two explanations: absorption and elimination exchanged, with a volume to match.
EXCHANGE = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 1.0, 1.0]])  # of the log-rates


def _everybody_exchanged(theta):
    spread = jnp.exp(theta["spread"])
    other = spread[jnp.array([1, 0, 2])]
    return theta | {
        "usual": EXCHANGE @ theta["usual"],
        "spread": jnp.log(other),
        "z": (spread * theta["z"]) @ EXCHANGE.T / other,
    }


def _one_exchanged(person):
    def exchanged(theta):
        spread = jnp.exp(theta["spread"])
        rates = theta["usual"] + spread * theta["z"][person]
        return theta | {
            "z": theta["z"].at[person].set((EXCHANGE @ rates - theta["usual"]) / spread)
        }

    return exchanged


def _concentrations(rates, step=0.125):
    """After ½, 1, 2, 4, 6 and 8 hours, for rows of absorption, elimination and volume."""
    absorb, remove, volume = rates[:, 0], rates[:, 1], rates[:, 2]

    def flow(z):
        return jnp.stack([-absorb * z[0], absorb * z[0] - remove * z[1]])

    def onwards(z, _):
        k1 = flow(z)
        k2 = flow(z + step / 2 * k1)
        k3 = flow(z + step / 2 * k2)
        k4 = flow(z + step * k3)
        z = z + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return z, z[1]

    first = jnp.stack([jnp.full(len(rates), 10.0), jnp.zeros(len(rates))])
    path = jax.lax.scan(onwards, first.astype(jnp.result_type(float)), length=64)[1]
    return (path[np.array([3, 7, 15, 31, 47, 63])] / volume).T
