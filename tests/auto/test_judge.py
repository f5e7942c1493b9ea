"""The checks of a round, on draws made up for each."""

import numpy as np
import pytest

from spos.auto.judge import LOOKED, Round, arviz_checks, measure, medians, places

RECORDS, PARTICLES, SIZE = 200, 100, 4


def judged(z, allowed=0.025, acceptance=1.0, late=None):
    """The names of the checks that fail, of independent draws whose scores suit their variances."""
    z = z - z.mean((0, 1))
    log_prob = -0.5 * (z**2).sum(-1)
    seen = Round(z, log_prob, z, -z / z.var((0, 1)), acceptance * np.ones(z.shape[:2]))
    checks, _ = measure(seen, ["a", "b", "c", "d"], allowed, late)
    return {check.name for check in checks if not check.passed}


@pytest.fixture
def draws():
    return np.random.default_rng(0).standard_normal((RECORDS, PARTICLES, SIZE))


def test_independent_draws_pass(draws):
    """A check at fault would be so with any seed: their limits are five standard errors away."""
    assert judged(draws) == set()


def test_a_spread_that_is_made_by_draws_far_out_has_to_be_known_better(draws):
    """By its own estimate, ½ √((κ - 1)/n) with the kurtosis κ = 20, the error of the log standard
    deviation is .015. But the draws that it depends on come late, and it is too small before."""
    rng = np.random.default_rng(1)
    draws[..., 2] = np.sign(draws[..., 2]) * rng.exponential(size=draws.shape[:2]) ** 1.5
    assert judged(draws, allowed=0.03) == {"precision"}
    assert judged(draws, allowed=0.06) == set()


def test_less_so_where_the_particles_move_in_coordinates_with_short_tails(draws):
    """Half of the logarithm of what it would be."""
    rng = np.random.default_rng(1)
    draws[..., 2] = np.sign(draws[..., 2]) * rng.exponential(size=draws.shape[:2]) ** 1.5
    assert judged(draws, allowed=0.03, late=np.full(SIZE, 0.01)) == set()
    assert judged(draws, allowed=0.018, late=np.full(SIZE, 0.01)) == {"precision"}
    late = np.array([0.01, 0.01, 0.1, 0.01])
    assert judged(draws, allowed=0.03, late=late) == {"precision"}


def test_a_spread_that_is_made_by_all_draws_has_the_error_that_it_seems_to_have(draws):
    """It is .005."""
    assert judged(draws, allowed=0.01) == set()
    assert judged(draws, allowed=0.004) == {"precision"}


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_behind_a_wall_particles_have_to_agree_twice_as_well(draws, side):
    """They differ by .04 of the variance, which is allowed unless moves are rejected at an end."""
    draws[..., 2] += 0.2 * np.random.default_rng(1).standard_normal(PARTICLES)
    at_end = side * draws[..., 2] > 2.1
    assert judged(draws) == set()
    assert judged(draws, acceptance=np.where(at_end, 0.9, 1.0)) == set()
    assert judged(draws, acceptance=np.where(at_end, 0.2, 1.0)) == {"mixing"}


def test_medians_are_those_of_numpy():
    rng = np.random.default_rng(0)
    for records, size in [(3, 2), (4, 2), (4, 1)]:
        x = rng.standard_normal((records, 5, size))
        given = x.copy()
        np.testing.assert_allclose(medians(x), np.median(x, (0, 1)))
        np.testing.assert_array_equal(x, given)


@pytest.mark.parametrize(
    ("share", "distance", "height", "told"),
    [
        (0.2, 30.0, 0.0, True),
        (0.05, 30.0, 0.0, False),  # a few may have been lost
        (0.2, 30.0, -50.0, False),  # it was no place to stay
        (0.2, 4.0, 0.0, False),  # the draws know it
    ],
)
def test_a_mode_that_was_left_for_good_is_told(draws, share, distance, height, told):
    """Draws reach 4 to 5 standard deviations out; some particles once stood so far away."""
    log_prob = -0.5 * (draws**2).sum(-1)
    seen = Round(draws, log_prob, draws, -draws, np.ones(draws.shape[:2]))
    stood = np.column_stack([draws[-1], log_prob[-1]])
    away = round(share * PARTICLES)
    stood[:away, 1] = distance
    stood[:away, -1] += height
    assert places(seen, []).passed
    assert places(seen, [stood]).passed != told


def test_of_many_records_some_are_taken_evenly_and_the_last():
    rows = np.arange(7.0)[:, None]
    some = Round(rows, rows, rows, rows, rows).at_most(3)
    np.testing.assert_array_equal(some.log_prob[:, 0], [0.0, 3.0, 6.0])
    assert len(some.at_most(3).z) == 3


def test_of_many_parameters_arviz_sees_those_that_mix_worst():
    rng = np.random.default_rng(0)
    y = rng.standard_normal((100, PARTICLES, 2 * LOOKED))
    y[..., 7] += np.linspace(-0.5, 0.5, PARTICLES)  # which ends up in other chains
    seen = Round(y, y[..., 0], y, y, np.ones(y.shape[:2]))
    names = [f"x[{i}]" for i in range(2 * LOOKED)]
    rhat, ess = arviz_checks(seen, names)
    assert not rhat.passed
    assert "x[7]" in rhat.finding
    assert not ess.passed
    assert "x[7]" in ess.finding
