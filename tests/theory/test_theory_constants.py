import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from spos.theory import Constants, constants, kernel_concavity


def made(**changes):
    known = Constants(
        dim=1, lipschitz=1.0, convexity=1.0, score_bound=1.0, bandwidth=4.0, kernel_concavity=0.0
    )
    return dataclasses.replace(known, **changes)


def test_kernel_constants_by_hand():
    # η = 2: sqrt(2/e) = 0.857763885, halved; 2/4.
    known = made(bandwidth=4.0)
    assert known.kernel_lipschitz == pytest.approx(0.4288819425)
    assert known.kernel_gradient_bound == known.kernel_lipschitz
    assert known.kernel_gradient_lipschitz == 0.5


def test_kernel_constants_are_the_extremes_of_the_kernel():
    bandwidth = 2.3
    distance = np.linspace(0, 8, 200_001)
    k = np.exp(-(distance**2) / bandwidth)
    slope = np.gradient(k, distance)
    known = made(bandwidth=bandwidth)
    assert np.abs(slope).max() == pytest.approx(known.kernel_lipschitz, rel=1e-6)
    curvature = np.gradient(slope, distance)[2:-2]
    assert np.abs(curvature).max() == pytest.approx(known.kernel_gradient_lipschitz, rel=1e-4)


@pytest.mark.parametrize("radius", [0.0, 0.3, 1.0, 1.7, 5.0])
def test_kernel_concavity_is_minus_the_largest_curvature_within_the_radius(radius):
    # Along the radius K'' = (2/η²)(2u - 1) exp(-u), u = r²/η²; across it is smaller.
    bandwidth = 1.9
    u = np.linspace(0, radius, 20_001) ** 2 / bandwidth
    largest = (2 / bandwidth * (2 * u - 1) * np.exp(-u)).max()
    assert kernel_concavity(bandwidth, radius) == pytest.approx(-largest, rel=1e-6)


def test_the_kernel_is_concave_within_its_cap_only():
    # The cap ends at η/√2, here 1.
    assert kernel_concavity(2.0, 0.999) > 0
    assert kernel_concavity(2.0, 1.0) == pytest.approx(0.0)
    assert kernel_concavity(2.0, 1.001) < 0


def test_a_gaussian_gives_its_eigenvalues():
    rotation = np.array([[0.6, -0.8], [0.8, 0.6]])
    precision = jnp.asarray(rotation @ np.diag([0.5, 3.0]) @ rotation.T)
    mean = jnp.array([1.0, -2.0])

    def log_prob(theta):
        return -0.5 * (theta - mean) @ precision @ (theta - mean)

    found = constants(log_prob, 2.0, ([-3.0, -3.0], [3.0, 3.0]), num_points=100)
    assert found.dim == 2
    assert found.bandwidth == 2.0
    assert found.lipschitz == pytest.approx(3.0, rel=1e-5)
    assert found.convexity == pytest.approx(0.5, rel=1e-5)


def test_the_score_bound_and_the_cap_belong_to_the_box():
    # Standard normal: the score is as long as the point, at most 5 at the corner (3, 4).
    found = constants(
        lambda theta: -0.5 * theta @ theta, 100.0, ([0.0, 0.0], [3.0, 4.0]), num_points=4096
    )
    assert 4.9 < found.score_bound <= 5.0
    # Diagonal 5, so u = 25/100 and m_K = 0.02 · 0.5 · exp(-0.25) = 0.01 · 0.7788008.
    assert found.kernel_concavity == pytest.approx(0.007788008)


def test_logistic_regression_stays_within_its_known_bounds_and_reaches_them_at_the_origin():
    # The Hessian is P + Σ σ(1-σ) x xᵀ with prior precision P = 0.5 and 0 < σ(1-σ) ≤ 1/4, which is
    # 1/4 at the origin. Two features in four rows: XᵀX = diag(10, 2).
    x = jnp.array([[2.0, 0.0], [-1.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    y = jnp.array([1.0, 0.0, 1.0, 1.0])

    def log_prob(theta):
        logits = x @ theta
        return jnp.sum(y * logits - jax.nn.softplus(logits)) - 0.25 * theta @ theta

    wide = constants(log_prob, 1.0, ([-5.0, -5.0], [5.0, 5.0]))
    assert wide.lipschitz <= 0.5 + 10 / 4 + 1e-5
    assert wide.convexity >= 0.5 - 1e-5
    near = constants(log_prob, 1.0, ([-0.01, -0.01], [0.01, 0.01]))
    assert near.lipschitz == pytest.approx(0.5 + 10 / 4, rel=1e-3)
    assert near.convexity == pytest.approx(0.5 + 2 / 4, rel=1e-3)


def test_a_double_well_is_not_convex_and_the_estimates_err_on_the_stated_side():
    # -log p = (x² - 1)² has second derivative 12x² - 4: from -4 to 8 on [-1, 1].
    found = constants(lambda theta: -jnp.sum((theta**2 - 1) ** 2), 1.0, ([-1.0], [1.0]))
    assert -4.0 - 1e-4 <= found.convexity < -3.9
    assert 7.9 < found.lipschitz <= 8.0 + 1e-4


def test_a_concave_potential_counts_by_its_absolute_curvature():
    found = constants(lambda theta: 0.5 * theta @ theta, 1.0, ([-1.0], [1.0]), num_points=10)
    assert found.convexity == pytest.approx(-1.0)
    assert found.lipschitz == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_constants():
    def log_prob(theta):
        return -jnp.sum(theta**4)

    region = ([-1.0], [1.0])
    first = constants(log_prob, 1.0, region, seed=3)
    assert first == constants(log_prob, 1.0, region, seed=3)
    assert first != constants(log_prob, 1.0, region, seed=4)


@pytest.mark.parametrize(
    ("region", "complaint"),
    [
        (([0.0], [1.0], [2.0]), "region must be a pair"),
        (([0.0, 0.0], [1.0]), "region must be .* one shape"),
        ((0.0, 1.0), "region must be .* one shape"),
        (([1.0], [1.0]), "region must be finite with low < high"),
        (([0.0], [math.inf]), "region must be finite with low < high"),
    ],
)
def test_a_bad_region_is_refused(region, complaint):
    with pytest.raises(ValueError, match=complaint):
        constants(lambda theta: -theta @ theta, 1.0, region)


def test_other_bad_arguments_are_refused():
    region = ([-1.0], [1.0])
    with pytest.raises(ValueError, match=r"bandwidth must be .* got -1"):
        constants(lambda theta: -theta @ theta, -1.0, region)
    with pytest.raises(ValueError, match="num_points must be at least 1, got 0"):
        constants(lambda theta: -theta @ theta, 1.0, region, num_points=0)
    with pytest.raises(ValueError, match="log_prob must return one number"):
        constants(lambda theta: -(theta**2), 1.0, region)
    with pytest.raises(ValueError, match="log_prob must be twice differentiable"):
        constants(lambda theta: jnp.sum(jnp.sqrt(theta)), 1.0, region)
    with pytest.raises(ValueError, match="radius must be"):
        kernel_concavity(1.0, -0.5)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"dim": 0}, "dim must be at least 1, got 0"),
        ({"lipschitz": -1.0}, "lipschitz must be"),
        ({"convexity": 2.0}, "convexity must be at most lipschitz"),
        ({"convexity": math.nan}, "convexity must be at most lipschitz"),
        ({"score_bound": -1.0}, "score_bound must be"),
        ({"bandwidth": 0.0}, "bandwidth must be"),
        ({"kernel_concavity": 0.6}, "kernel_concavity must be at most 2/bandwidth"),
    ],
)
def test_constants_that_contradict_themselves_are_refused(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        made(**changes)
