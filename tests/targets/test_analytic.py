"""Exact distributions against scipy and against brute force."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from spos.targets.analytic import banana, banana_moments, conjugate_regression, gaussian

COVARIANCE = np.asarray([[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 0.5]])
MEAN = np.asarray([1.0, -2.0, 0.5])


@pytest.mark.parametrize("theta", [(0.0, 0.0, 0.0), (1.0, -2.0, 0.5), (4.0, 1.0, -3.0)])
def test_gaussian_agrees_with_scipy(theta):
    expected = stats.multivariate_normal(MEAN, COVARIANCE).logpdf(theta)
    value = gaussian(MEAN, COVARIANCE)(jnp.asarray(theta))
    assert value.shape == ()
    assert float(value) == pytest.approx(expected, rel=1e-5)


def test_gaussian_on_the_line_takes_numbers():
    value = gaussian(2.0, 9.0)(jnp.float32(5.0))
    assert float(value) == pytest.approx(stats.norm(2.0, 3.0).logpdf(5.0), rel=1e-6)


def test_the_score_is_minus_precision_times_deviation():
    theta = np.asarray([0.3, 0.1, -0.7])
    score = jax.grad(gaussian(MEAN, COVARIANCE))(jnp.asarray(theta, jnp.float32))
    np.testing.assert_allclose(score, -np.linalg.solve(COVARIANCE, theta - MEAN), rtol=1e-4)


@pytest.mark.parametrize(
    ("mean", "covariance", "message"),
    [
        (
            [0.0, 0.0],
            [[1.0, 2.0], [2.0, 1.0]],
            "positive definite, got a smallest eigenvalue of -1",
        ),
        ([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]], "covariance must be symmetric"),
        ([0.0, 0.0], [[1.0]], r"shape \(2, 2\) to go with the mean, got \(1, 1\)"),
        (0.0, -1.0, "positive definite"),
        ([np.nan, 0.0], np.eye(2), "mean must be finite"),
        (np.zeros((2, 2)), np.eye(2), "mean must be a number or a vector"),
    ],
)
def test_gaussian_names_what_is_wrong(mean, covariance, message):
    with pytest.raises(ValueError, match=message):
        gaussian(mean, covariance)


def test_gaussian_names_a_particle_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"theta must have shape \(3,\), got \(2,\)"):
        gaussian(MEAN, COVARIANCE)(jnp.zeros(2))


def test_regression_posterior_agrees_with_quadrature():
    x, y, noise, prior = np.asarray([[0.5], [1.5], [-1.0]]), np.asarray([1.0, 2.0, 0.3]), 0.4, 2.0

    def density(w: float) -> float:
        return float(np.exp(-0.5 * np.sum((y - x[:, 0] * w) ** 2) / noise - 0.5 * w * w / prior))

    total, first, second = (
        integrate.quad(lambda w, k=k: w**k * density(w), -10, 10)[0] for k in range(3)
    )
    exact = conjugate_regression(x, y, noise, prior)
    assert exact.mean[0] == pytest.approx(first / total, rel=1e-8)
    assert exact.covariance[0, 0] == pytest.approx(second / total - (first / total) ** 2, rel=1e-7)


def test_regression_posterior_peaks_where_the_joint_density_does():
    rng = np.random.default_rng(0)
    x, y, prior = rng.normal(size=(30, 4)), rng.normal(size=30), np.asarray([0.1, 1.0, 5.0, 2.0])
    exact = conjugate_regression(x, y, 0.7, prior)
    assert exact.mean.dtype == exact.covariance.dtype == np.float64
    slope = x.T @ (y - x @ exact.mean) / 0.7 - exact.mean / prior
    np.testing.assert_allclose(slope, 0.0, atol=1e-10)
    precision = x.T @ x / 0.7 + np.diag(1 / prior)
    np.testing.assert_allclose(exact.covariance @ precision, np.eye(4), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(3), np.ones(3), 1.0), "features must be a matrix"),
        ((np.ones((3, 2)), np.ones(2), 1.0), r"targets must have shape \(3,\), got \(2,\)"),
        ((np.ones((3, 2)), np.ones(3), 0.0), "noise_variance must be a number above 0"),
        ((np.ones((3, 2)), np.ones(3), 1.0, -1.0), "prior_variance must be above 0"),
        ((np.ones((3, 2)), np.ones(3), 1.0, np.ones(3)), "one number or 2"),
        ((np.full((3, 2), np.inf), np.ones(3), 1.0), "features must be finite"),
    ],
)
def test_regression_names_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        conjugate_regression(*arguments)


def test_banana_has_mass_one_and_the_stated_moments():
    width, bend = 0.8, 0.7
    x, y = np.linspace(-6, 6, 601), np.linspace(-9, 22, 1201)
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).astype(np.float32)
    density = np.exp(jax.vmap(jax.vmap(banana(width, bend)))(points)).astype(np.float64)
    weight = density * (x[1] - x[0]) * (y[1] - y[0])
    assert weight.sum() == pytest.approx(1.0, rel=1e-4)
    mean, covariance = banana_moments(width, bend)
    np.testing.assert_allclose(np.tensordot(weight, points, 2), mean, atol=1e-3)
    second = np.einsum("xy,xya,xyb->ab", weight, points, points)
    np.testing.assert_allclose(second, covariance, rtol=1e-3, atol=1e-3)
