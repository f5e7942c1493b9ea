"""Transport distances against closed forms and against scipy."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from spos.diagnostics import sliced_wasserstein, wasserstein, wasserstein_1d


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


@pytest.mark.parametrize("size", [40, 25])
def test_the_exact_distance_of_a_shift_is_its_length(size):
    # a shift of a sample that is repeated, or thinned, needs the linear program
    a = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 2, axis=0)
    shift = np.asarray([2.0, -1.0, 2.0])
    b = (a + shift)[np.random.default_rng(1).permutation(40)] if size == 40 else (a + shift)[::2]
    assert wasserstein(a, b) == pytest.approx(3.0, rel=1e-5)
    assert wasserstein(a, a[::-1]) == 0.0


@pytest.mark.parametrize(("first", "second"), [(30, 30), (17, 24), (1, 9)])
def test_the_exact_distance_is_that_on_a_line_and_at_least_the_sliced_one(first, second):
    rng = np.random.default_rng(first)
    a, b = rng.normal(size=(first, 1)), 0.5 + 2.0 * rng.normal(size=(second, 1))
    assert wasserstein(a, b) == pytest.approx(float(wasserstein_1d(a[:, 0], b[:, 0])), rel=1e-4)
    a, b = rng.normal(size=(first, 4)), rng.normal(size=(second, 4)) + 0.3
    assert 0 < float(sliced_wasserstein(a, b)) < wasserstein(a, b)


def test_two_laws_are_further_apart_than_two_samples_of_one():
    a, b = np.random.default_rng(4).normal(size=(2, 200, 2))
    alike = wasserstein(a, b)
    assert wasserstein(a, b + 1.0) > 2 * alike
    assert wasserstein(a, 0.3 * b) > 2 * alike


def test_pytrees_are_their_flat_matrices():
    a, b = jax.random.normal(jax.random.key(0), (2, 9, 5))
    trees = [{"w": x[:, :4].reshape(9, 2, 2), "z": x[:, 4]} for x in (a, b)]
    assert wasserstein(*trees) == pytest.approx(wasserstein(a, b))
    assert float(sliced_wasserstein(*trees)) == pytest.approx(float(sliced_wasserstein(a, b)))


def test_the_exact_distance_refuses_what_is_too_large_or_wrong():
    with pytest.raises(ValueError, match=r"at most 5000 points.*got 6000 and 6000.*sliced"):
        wasserstein(jnp.zeros(6000), jnp.zeros(6000))
    with pytest.raises(ValueError, match=r"100000 pairs.*got 1000 and 999"):
        wasserstein(jnp.zeros(1000), jnp.zeros(999))
    with pytest.raises(ValueError, match="one dimension, got 2 and 3"):
        wasserstein(jnp.zeros((4, 2)), jnp.zeros((4, 3)))
    with pytest.raises(ValueError, match="b must be finite, got nan in particle 1"):
        wasserstein(jnp.zeros(2), jnp.asarray([0.0, np.nan]))


def test_without_scipy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r"pip install 'spos\[diagnostics\]'"):
        wasserstein(jnp.zeros(3), jnp.ones(3))
