"""The median rule against numpy, and where it has nothing to measure."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spos.interaction.bandwidth import MAX_PAIRS, median_distance, median_rule, pairs


def squared_distances(x):
    i, j = pairs(len(x))
    return np.sum((x[i] - x[j]) ** 2, axis=-1, dtype=np.float32)


def rule(x):
    return float(jax.jit(median_rule, static_argnums=1)(squared_distances(x), len(x)))


def full_median(x):
    i, j = np.triu_indices(len(x), k=1)
    return np.median(np.linalg.norm(x[i] - x[j], axis=-1))


@given(
    hnp.arrays(
        np.float32,
        st.sampled_from([1, 2, 9, 10]),
        elements=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1e6, width=32)),
    )
)
def test_the_median_is_that_of_numpy_for_odd_and_even_counts_with_ties_and_zeros(sq):
    expected = np.median(np.sqrt(sq.astype(np.float64)))
    np.testing.assert_allclose(float(jax.jit(median_distance)(sq)), expected, rtol=1e-6, atol=1e-30)


@pytest.mark.parametrize("num_particles", [2, 3, 4, 5, 20, 128])
def test_small_clouds_use_every_pair(num_particles):
    x = np.random.default_rng(num_particles).normal(size=(num_particles, 3)).astype(np.float32)
    expected = full_median(x) ** 2 / np.log(num_particles)
    assert rule(x) == pytest.approx(expected, rel=1e-5)


def test_two_particles_have_their_distance():
    assert rule(np.array([[0.0], [3.0]], np.float32)) == pytest.approx(9.0 / np.log(2.0))


def test_one_particle_has_unit_bandwidth():
    assert rule(np.zeros((1, 2), np.float32)) == 1.0


def test_coincident_particles_have_a_positive_bandwidth():
    assert rule(np.full((6, 2), 5.0, np.float32)) == pytest.approx(1.0 / np.log(6))


def test_where_most_particles_coincide_the_mean_distance_takes_over():
    x = np.zeros((10, 1), np.float32)
    x[0] = 2.0  # 9 of 45 pairs are at distance 2, the median is 0
    assert rule(x) == pytest.approx((9 * 4.0 / 45) / np.log(10), rel=1e-6)


@pytest.mark.parametrize("num_particles", [129, 1000])
@pytest.mark.parametrize("arrival", ["random", "sorted"])
def test_large_clouds_use_a_fixed_sample_of_pairs_close_to_all(num_particles, arrival):
    """The standard error of the median of 8192 distances is below 1.5 % of it here, and dependence
    between pairs adds little: 6 % is four of them."""
    x = np.random.default_rng(5).normal(size=(num_particles, 1)).astype(np.float32)
    if arrival == "sorted":
        x = np.sort(x, axis=0)
    i, j = pairs(num_particles)
    assert len(i) == len(j) == MAX_PAIRS
    assert (i != j).all()
    assert min(i.min(), j.min()) == 0
    assert max(i.max(), j.max()) == num_particles - 1
    sampled = np.sqrt(rule(x) * np.log(num_particles))
    assert sampled == pytest.approx(full_median(x), rel=0.06)


def test_the_sample_of_pairs_is_the_same_every_time():
    first = pairs(500)
    pairs.cache_clear()
    second = pairs(500)
    assert first is not second
    np.testing.assert_array_equal(first, second)
