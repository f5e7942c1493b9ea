"""The checks of a round, on draws made up for each."""

import numpy as np
import pytest

from spos.auto.judge import Round, measure

RECORDS, PARTICLES, SIZE = 200, 100, 4


def judged(z):
    """The names of the checks that fail, of independent draws whose scores suit their variances."""
    z = z - z.mean((0, 1))
    log_prob = -0.5 * (z**2).sum(-1)
    seen = Round(z, log_prob, z, -z / z.var((0, 1)), np.ones(z.shape[:2]))
    checks, _ = measure(seen, ["a", "b", "c", "d"])
    return {check.name for check in checks if not check.passed}


@pytest.fixture
def draws():
    return np.random.default_rng(0).standard_normal((RECORDS, PARTICLES, SIZE))


def test_independent_draws_pass(draws):
    """A check at fault would be so with any seed: their limits are five standard errors away."""
    assert judged(draws) == set()


@pytest.mark.parametrize("side", (-1.0, 1.0))
def test_a_far_place_that_few_particles_enter_is_noticed(draws, side):
    """Two draws of a hundred lie there, as they should, but all are those of ten particles that
    stayed: nobody knows how many it would be in a longer run. Ranks hardly see it."""
    rng = np.random.default_rng(1)
    for particle, start in enumerate(rng.integers(RECORDS - 40, size=10)):
        draws[start : start + 40, particle, 2] = side * (3.0 + 0.1 * rng.standard_normal(40))
    assert judged(draws) == {"extremes"}


def test_a_far_place_that_all_enter_passes(draws):
    """As many draws there, by all particles in turn."""
    rng = np.random.default_rng(1)
    there = rng.random((RECORDS, PARTICLES)) < 0.02
    draws[..., 2] = np.where(there, -3.0 + 0.1 * draws[..., 2], draws[..., 2])
    assert judged(draws) == set()
