"""Simulation-based calibration on two conjugate models, 1000 data sets each, and its figure.

Ranks of the truth among 16 particles: Pearson's statistic has 16 degrees of freedom and exceeds 46
once in 10 000 right runs. A likelihood that counts a third is found out in both
models (one that counts half would take more data sets in the second).
"""

import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.auto import ranks as calibration

SETS, PARTICLES, LIMIT = 1000, 16, 46.0
RNG = np.random.default_rng(0)


@spos.value
class WithData(spos.Target):
    """A target whose log-density is given data."""

    data: tuple

    def with_data(self, data):
        return WithData(data)

    def log_prob(self, theta, batch=None):
        return log_prob(theta, self.data)


def log_prob(theta, data):
    """μ ~ N(0, 1) with three observations N(μ, 1), beside λ ~ Gamma(3, 1) with four Poisson counts;
    sampled as log λ, whose law is skewed. `weight` is 1 unless the likelihood is spoilt."""
    normals, counts, weight = data
    mu, log_rate = theta
    prior = -0.5 * mu**2 + 3.0 * log_rate - jnp.exp(log_rate)
    likelihood = -0.5 * jnp.sum((normals - mu) ** 2)
    return prior + weight * (likelihood + jnp.sum(counts * log_rate - jnp.exp(log_rate)))


MU, RATE = RNG.normal(size=SETS), RNG.gamma(3.0, size=SETS)
TRUTH = jnp.asarray(np.stack([MU, np.log(RATE)], 1), jnp.float32)
NORMALS = MU[:, None] + RNG.normal(size=(SETS, 3))
COUNTS = RNG.poisson(RATE[:, None], size=(SETS, 4))
STARTS = jnp.asarray(RNG.normal([0.0, 1.0], 1.0, (SETS, PARTICLES, 2)), jnp.float32)
TARGET = WithData(())


def ranks_with(weight):
    data = NORMALS, COUNTS, np.full(SETS, weight)
    data = tuple(jnp.asarray(part, jnp.float32) for part in data)
    return calibration.ranks(TARGET, TRUTH, data, STARTS)


@pytest.fixture(scope="module")
def ranked():
    return ranks_with(1.0)


def test_the_ranks_are_uniform(ranked):
    assert (calibration.chi_square(ranked, PARTICLES) < LIMIT).all()


def test_a_likelihood_that_counts_a_third_is_found_out():
    assert (calibration.chi_square(ranks_with(1.0 / 3.0), PARTICLES) > LIMIT).all()


def test_the_figure_has_a_panel_for_each_parameter(ranked):
    figure = calibration.rank_figure(ranked, PARTICLES, ["normal", "Poisson"])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["normal", "Poisson"]
    assert len(figure.axes[0].patches) >= PARTICLES + 1
