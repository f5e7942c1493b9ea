"""The normals are Threefry's bits through Box and Muller, and look like it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32
from scipy import stats

from spos.dynamics import noise

KEY = jax.random.key(5)
FAILURE_RATE = 1e-6


def draw(shape, key=KEY):
    return np.asarray(noise.normal_matrix(key, shape, jnp.float32), np.float64)


def test_the_words_are_those_of_threefry():
    """With twenty rounds they must equal JAX's own generator, word by word."""
    key, counts = jax.random.key_data(KEY), jnp.arange(1000, dtype=jnp.uint32)
    expected = threefry_2x32(key, jnp.concatenate([counts, 7 + counts]))
    found = noise._threefry(key[0], key[1], counts, 7 + counts, rounds=20)
    np.testing.assert_array_equal(jnp.concatenate(found), expected)


@pytest.mark.parametrize("shape", [(1000, 400), (1001, 400), (2, 200_000), (400_000, 1)])
def test_they_are_standard_normal(shape):
    assert stats.kstest(draw(shape).ravel(), "norm").pvalue > FAILURE_RATE


def test_a_law_that_is_almost_normal_is_noticed():
    assert stats.kstest(1.02 * draw((1000, 400)).ravel(), "norm").pvalue < FAILURE_RATE


def test_the_two_of_a_pair_are_independent():
    """Their squares too, which share a radius."""
    z = draw((2000, 200))
    for power in (1, 2):
        first, second = z[:1000].ravel() ** power, z[1000:].ravel() ** power
        assert stats.pearsonr(first, second).pvalue > FAILURE_RATE


def test_rows_columns_and_keys_are_independent():
    z, other = draw((500, 500)), draw((500, 500), jax.random.fold_in(KEY, 1))
    for a, b in ((z[1:], z[:-1]), (z[:, 1:], z[:, :-1]), (z, other), (z, z.T)):
        different = ~np.isclose(a, b)  # the diagonal of z and its transpose is the same
        assert stats.pearsonr(a[different], b[different]).pvalue > FAILURE_RATE


def test_tails_are_as_heavy_as_they_should_be():
    z = draw((4000, 1000))
    beyond = np.sum(np.abs(z) > 4.0)
    assert stats.binomtest(int(beyond), z.size, 2 * stats.norm.sf(4.0)).pvalue > FAILURE_RATE


def test_a_matrix_can_be_had_in_pieces():
    whole = noise.normal_matrix(KEY, (7, 10), jnp.float32)
    right = noise.normal_matrix(KEY, (7, 4), jnp.float32, first_column=6)
    np.testing.assert_array_equal(whole[:, 6:], right)


def test_one_row_will_do():
    assert draw((1, 3)).shape == (1, 3)
