"""Rows on their way into a network: merged, split, scaled and padded."""

import numpy as np
import pytest

from spos.networks.rows import Rows, merged, pad_rows, padded, scaling_of, split


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


def test_padded_sizes_are_few_and_little_is_wasted():
    sizes = {count: len(pad_rows(np.ones(count))) for count in range(1, 5000)}
    assert all(count <= size <= max(64, count * 9 / 8 + 1) for count, size in sizes.items())
    assert len(set(sizes.values())) < 60


def test_padded_rows_count_for_nothing():
    rows = padded(Rows(np.ones((3, 2), np.float32), np.arange(3, dtype=np.int32)))
    assert (rows.x.shape, rows.y.dtype, rows.weights.dtype) == ((64, 2), np.int32, np.float32)
    assert rows.total == 3.0
    assert rows.counted(2.0).total == 6.0
    assert Rows(rows.x, rows.y).total == 64.0


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
