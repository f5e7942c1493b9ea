"""Simulation-based calibration: is the truth a draw among the draws?

θ is drawn from its prior, y given θ, and then L draws of the posterior given y. If those are right,
the rank of θ among them is uniform on 0 … L, whatever the model (Talts et al., 2018). Too narrow a
posterior makes a histogram of ranks with horns, too wide a one a hump, a shifted one a slope.

Two conjugate models, on the unconstrained scale:

    normal    μ ~ N(0, 1), five y ~ N(μ, 1)
    counts    λ ~ Gamma(2, 1), five y ~ Poisson(λ), θ = log λ

The draws are the final particles, which are independent of each other in an exact run, whether or
not the run is content with itself. All data sets share one compiled program: they enter by
the target. Ranks fall into `BINS` bins, and χ² says whether the bins are equally full.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import spos

BINS = 20
OBSERVATIONS = 5


class Conjugate(NamedTuple):
    """A truth for each simulation, the sum of its data given the truth, and the log-density of θ
    given that sum."""

    truth: Callable[[np.random.Generator, int], np.ndarray]
    total: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    log_prob: Callable[[jax.Array, jax.Array], jax.Array]


MODELS = {
    "normal": Conjugate(
        truth=lambda rng, count: rng.normal(size=count),
        total=lambda rng, mu: rng.normal(OBSERVATIONS * mu, np.sqrt(OBSERVATIONS)),
        log_prob=lambda mu, total: total * mu - 0.5 * (1 + OBSERVATIONS) * mu**2,
    ),
    "counts": Conjugate(
        truth=lambda rng, count: np.log(rng.gamma(2.0, size=count)),
        total=lambda rng, theta: rng.poisson(OBSERVATIONS * np.exp(theta)).astype(float),
        log_prob=lambda theta, total: (2 + total) * theta - (1 + OBSERVATIONS) * jnp.exp(theta),
    ),
}


@spos.value
class Given(spos.Target):
    """The posterior given data, which all share a program."""

    total: Any
    model: Conjugate = spos.static()

    def log_prob(self, theta: Any, batch: Any = None) -> jax.Array:
        return self.model.log_prob(theta[0], self.total)


class Ranks(NamedTuple):
    """Of the truths of all simulations."""

    ranks: np.ndarray
    particles: int


def simulate(name: str, settings: Any, seed: int) -> Ranks:
    truths, totals = simulated(name, settings.simulations, seed)
    posterior = automatic(name, settings.particles)
    drawn = np.stack([posterior(total, seed + n) for n, total in enumerate(totals)])
    return Ranks(ranks(truths, drawn), settings.particles)


def simulated(name: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Truths and their data."""
    rng, model = np.random.default_rng(seed), MODELS[name]
    truths = model.truth(rng, count)
    return truths, model.total(rng, truths)


def automatic(name: str, particles: int) -> Callable[[float, int], np.ndarray]:
    """A function from data and a seed to the particles at the end of an automatic SPOS run."""

    def posterior(total: float, seed: int) -> np.ndarray:
        target = Given(jnp.asarray(total, jnp.float32), MODELS[name])
        start = jax.random.uniform(jax.random.key(seed), (particles, 1), minval=-2.0, maxval=2.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", spos.ConvergenceWarning)
            found = spos.fit(target, start=start, seed=seed, progress=False)
        return np.asarray(found.particles[:, 0])

    return posterior


def ranks(truths: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """How many draws lie below the truth. One draw is left out, so that there are as many ranks as
    draws and bins can be equally wide."""
    return (draws[:, 1:] < truths[:, None]).sum(axis=1)


def uniformity(found: np.ndarray, draws: int) -> tuple[np.ndarray, float]:
    """Counts in bins of ranks 0 … draws - 1, and how often chance alone is as uneven (χ²)."""
    bins = min(BINS, draws)
    counts = np.bincount(np.asarray(found) * bins // draws, minlength=bins)
    expected = len(found) / bins
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return counts, float(jax.scipy.stats.chi2.sf(statistic, bins - 1))
