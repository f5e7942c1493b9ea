"""Transport distances against closed forms and against scipy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from spos.diagnostics import sliced_wasserstein, wasserstein_1d


def test_a_shift_costs_its_length_and_order_does_not_matter():
    a = np.asarray([3.0, -1.0, 0.5, 2.0])
    assert float(wasserstein_1d(a, a[::-1] + 0.7)) == pytest.approx(0.7)
    assert float(wasserstein_1d(a, a)) == 0.0


def test_a_scaled_sample_costs_its_mean_distance_from_the_centre():
    a = np.asarray([-2.0, -1.0, 1.0, 2.0])
    assert float(wasserstein_1d(a, 3 * a)) == pytest.approx(2 * 1.5)


@pytest.mark.parametrize(("first", "second"), [(50, 50), (7, 300), (1, 9), (300, 20)])
def test_any_two_sizes_agree_with_scipy(first, second):
    rng = np.random.default_rng(first)
    a, b = rng.normal(size=first).astype(np.float32), rng.gamma(2.0, size=second).astype(np.float32)
    b[: second // 2] = a[0]  # ties
    exact = stats.wasserstein_distance(a, b)
    assert float(wasserstein_1d(a, b)) == pytest.approx(exact, rel=1e-5)


def test_two_normals_of_different_width_have_the_distance_of_their_quantiles():
    # W1(N(0, 1), N(0, s²)) = |s - 1| E|Z| = |s - 1| sqrt(2/π)
    quantiles = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    found = float(wasserstein_1d(quantiles, 2.5 * quantiles))
    assert found == pytest.approx(1.5 * np.sqrt(2 / np.pi), rel=1e-3)


def test_a_sliced_shift_in_the_plane_is_two_over_pi_of_its_length():
    a = np.random.default_rng(0).normal(size=(40, 2))
    found = float(sliced_wasserstein(a, a + np.asarray([3.0, 4.0]), num_directions=4000))
    # the mean of 4000 |cos| has a standard error of .31/sqrt(4000) = .005
    assert found / 5.0 == pytest.approx(2 / np.pi, abs=0.025)


def test_slices_of_a_line_are_the_distance_on_the_line():
    a, b = np.random.default_rng(1).normal(size=(2, 30, 1))
    assert float(sliced_wasserstein(a, b)) == pytest.approx(
        stats.wasserstein_distance(a[:, 0], b[:, 0]), rel=1e-5
    )


def test_slicing_never_exceeds_the_matching_of_points():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(25, 3)), rng.normal(size=(25, 3)) + 1.0
    assert 0 < float(sliced_wasserstein(a, b)) <= np.linalg.norm(a - b, axis=1).mean()


def test_it_can_be_compiled_and_the_seed_fixes_the_directions():
    a, b = jax.random.normal(jax.random.key(0), (2, 20, 2))
    compiled = float(jax.jit(sliced_wasserstein)(a, b))
    assert compiled == pytest.approx(float(sliced_wasserstein(a, b)), rel=1e-5)
    other = float(sliced_wasserstein(a, b, num_directions=4, seed=1))
    assert other != float(sliced_wasserstein(a, b, num_directions=4, seed=2))


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match=r"a must have shape \(M,\)"):
        wasserstein_1d(jnp.zeros((3, 2)), jnp.zeros(3))
    with pytest.raises(ValueError, match="b must have shape"):
        wasserstein_1d(jnp.zeros(3), jnp.zeros(0))
    with pytest.raises(ValueError, match="one dimension, got 2 and 3"):
        sliced_wasserstein(jnp.zeros((4, 2)), jnp.zeros((4, 3)))
    with pytest.raises(ValueError, match="num_directions must be at least 1"):
        sliced_wasserstein(jnp.zeros((4, 2)), jnp.zeros((4, 2)), num_directions=0)
