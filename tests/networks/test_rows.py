"""Rows on their way into a network: merged, split, scaled and padded."""

import numpy as np
import pytest
from scipy import stats

from spos.networks.rows import (
    Rows,
    merged,
    pad_columns,
    pad_rows,
    padded,
    round_columns,
    round_rows,
    scaling_of,
    split,
)


def test_equal_rows_become_one():
    rows = Rows(np.asarray([[1.0], [0.0], [1.0], [-0.0]]), np.asarray([2.0, 3, 2, 3]), np.ones(4))
    x, y, weights = merged(rows)
    assert sorted(zip(x[:, 0], y, weights, strict=True)) == [(0.0, 3.0, 2.0), (1.0, 2.0, 2.0)]


def test_rows_are_scaled_by_their_weights():
    rows = Rows(
        np.asarray([[1.0, 7.0], [4.0, 7.0]]), np.asarray([0.0, 3.0]), np.asarray([2.0, 1.0])
    )
    scaling = scaling_of(rows, numbers=True)
    np.testing.assert_allclose(scaling.x_centre, [2.0, 7.0])
    np.testing.assert_allclose(scaling.x_unit, [np.sqrt(2.0), np.inf])  # a constant has no scale
    assert (scaling.inputs(np.asarray([[1.0, 99.0]]))[:, 1] == 0).all()
    assert scaling.y_centre == pytest.approx(1.0)


@pytest.mark.parametrize(("count", "apart"), [(49, 0), (50, 5), (1000, 100), (20_000, 500)])
def test_a_part_is_for_validation(count, apart):
    rows = Rows(np.arange(count)[:, None], np.arange(count), np.ones(count))
    training, validation = split(rows, 0.1, np.random.RandomState(0))
    assert (0 if validation is None else len(validation.y)) == apart
    both = training.y if validation is None else np.concatenate([training.y, validation.y])
    assert sorted(both) == list(range(count))


def test_round_sizes_are_few():
    rows = {round_rows(count) for count in range(1, 20_000)}
    assert rows == {64, 256, 1024, 4096, 16_384, 32_768}
    assert all(count <= round_rows(count) for count in range(1, 20_000))
    columns = {round_columns(count) for count in range(1, 65)}
    assert columns == {8, 12, 16, 24, 32, 48, 64}
    assert all(count <= round_columns(count) <= max(8, 1.5 * count) for count in range(1, 65))
    assert pad_rows(np.ones((65, 2))).sum() == 130.0
    assert pad_columns(np.ones((3, 9))).shape == (3, 12)


def test_rows_that_come_again_count_for_less():
    """The sums that a posterior is made of stay what they are."""
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(100, 2)), rng.integers(3, size=100), rng.uniform(1, 2, 100))
    more = padded(rows)
    assert (more.x.shape, more.y.dtype, more.weights.dtype) == ((256, 2), np.int64, np.float32)
    assert more.total == pytest.approx(rows.total, rel=1e-6)
    np.testing.assert_allclose(more.weights @ more.x, rows.weights @ rows.x, rtol=1e-5)
    assert (more.weights > 0).all()
    assert rows.counted(2.0).total == pytest.approx(2.0 * rows.total)
    assert Rows(rows.x, rows.y).total == 100.0


def test_an_outlier_is_drawn_near_and_does_not_set_the_scale():
    x = np.random.default_rng(0).normal(size=(500, 2))
    x[0, 0], x[1, 1] = 1e300, -1e6
    scaling = scaling_of(Rows(x, x[:, 0]), numbers=False, robust=True)
    inside = scaling.inputs(x)
    assert 0.8 < inside[2:, 0].std() < 1.2
    assert inside[0, 0] == 12.0
    assert -12.0 <= inside[1, 1] < -10.0
    order = np.argsort(x[:, 1])
    assert (np.diff(inside[order, 1]) >= 0).all()  # what is larger stays larger
    plain = scaling_of(Rows(x[2:], x[2:, 0]), numbers=False)
    np.testing.assert_allclose(plain.inputs(x[2:]).std(0), 1.0, rtol=1e-5)


def test_a_rare_mark_keeps_its_scale():
    """One row in a thousand is within the ends that are left out, but all there is."""
    x = np.zeros((1000, 2))
    x[0, 0] = 1.0
    scaling = scaling_of(Rows(x, x[:, 0]), numbers=False, robust=True)
    assert scaling.x_unit[0] == pytest.approx(np.sqrt(0.001 * 0.999))
    assert scaling.x_unit[1] == np.inf  # a constant


@pytest.mark.parametrize("several", [False, True])
def test_a_bend_is_that_of_scipy_and_comes_back(several):
    rng = np.random.default_rng(0)
    y = np.exp(rng.normal(size=2000))
    y = np.column_stack([y, rng.normal(size=2000)]) if several else y
    scaling = scaling_of(Rows(y.reshape(2000, -1), y), numbers=True, transform=True)
    t = scaling.targets(y)
    np.testing.assert_allclose(scaling.outcomes(t.astype(np.float64)), y, rtol=1e-4, atol=1e-5)
    first = (y[:, 0] if several else y) / np.ravel(scaling.y_scale)[0]
    power = np.ravel(scaling.y_power)[0]
    bent = stats.yeojohnson(first, power)
    np.testing.assert_allclose(
        t[:, 0] if several else t, (bent - bent.mean()) / bent.std(), rtol=1e-3, atol=1e-4
    )
    assert np.all(np.abs(stats.skew(t)) < 0.5)  # it was above 5 before
    # the slope is that of differences
    up, down = (scaling.targets(y + h).astype(np.float64) for h in (1e-3, -1e-3))
    slope = np.log((up - down) / 2e-3)
    expected = slope.sum(1) if several else slope
    np.testing.assert_allclose(scaling.log_slope(y), expected, atol=0.02)


def test_means_through_a_bend_are_those_of_draws():
    y = np.exp(np.random.default_rng(0).normal(size=500))
    scaling = scaling_of(Rows(y[:, None], y), numbers=True, transform=True)
    mean, variance = scaling.moments(np.asarray([0.3]), np.asarray([0.04]))
    drawn = scaling.outcomes(np.random.default_rng(1).normal(0.3, 0.2, 200_000))
    assert mean[0] == pytest.approx(drawn.mean(), rel=0.01)
    assert variance[0] == pytest.approx(drawn.var(), rel=0.03)
    flat = scaling_of(Rows(y[:, None], y), numbers=True)
    mean, variance = flat.moments(np.asarray([0.3]), np.asarray([0.04]))
    assert mean[0] == pytest.approx(0.3 * y.std() + y.mean())
    assert variance[0] == pytest.approx(0.04 * y.var())


@pytest.mark.parametrize("power", [1e300, 1e-300])
def test_no_scale_is_too_large_or_too_small(power):
    x = np.asarray([[1.0], [4.0], [-2.0]])
    plain, far = (scaling_of(Rows(u * x, u * x[:, 0]), numbers=True) for u in (1.0, power))
    assert far.y_unit == pytest.approx(power * plain.y_unit, rel=1e-12)
    np.testing.assert_allclose(far.inputs(power * x), plain.inputs(x), rtol=1e-6, atol=1e-6)


def test_rows_beyond_float32_are_named():
    scaling = scaling_of(Rows(np.asarray([[0.0], [1.0]]), np.asarray([0.0, 1.0])), numbers=True)
    with pytest.raises(ValueError, match=r"X must be nearer.*1e\+300 in row 1"):
        scaling.inputs(np.asarray([[0.0], [1e300]]))
