"""Distributions whose mean and covariance are known exactly.

**Gaussian**: log N(θ; μ, Σ) = -½ ‖L⁻¹(θ - μ)‖² - Σ_i log L_ii - ½ d log 2π, with Σ = L Lᵀ.

**Linear regression** with known noise σ² and prior w ~ N(0, diag(τ²)) has the Gaussian posterior

    Σ = (Xᵀ X / σ² + diag(1/τ²))⁻¹,        μ = Σ Xᵀ y / σ².

**Banana**: θ1 = a z1 and θ2 = z2 + b (θ1² - a²) for standard normal z. The map keeps volumes up to
a, so that log p = -½ (θ1/a)² - ½ (θ2 - b (θ1² - a²))² - log a - log 2π, and, since Var θ1² = 2a⁴,

    μ = 0,        Σ = diag(a², 1 + 2 a⁴ b²).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks


class Normal(NamedTuple):
    """A Gaussian, in float64."""

    mean: np.ndarray
    covariance: np.ndarray


def gaussian(mean: Any, covariance: Any) -> Callable[[jax.Array], jax.Array]:
    """The log-density of a Gaussian; particles have the shape of `mean`, a number or a vector."""
    mean = _finite("mean", mean)
    covariance = _finite("covariance", covariance)
    if mean.ndim > 1:
        raise ValueError(f"mean must be a number or a vector, got shape {mean.shape}")
    if covariance.shape != mean.shape * 2:
        raise ValueError(
            f"covariance must have shape {mean.shape * 2} to go with the mean, "
            f"got {covariance.shape}"
        )
    size = max(mean.size, 1)
    square = covariance.reshape(size, size)
    if not np.allclose(square, square.T, rtol=1e-6, atol=0.0):
        raise ValueError("covariance must be symmetric")
    factor = _cholesky("covariance", square)
    # the inverse factor is made once, so that a step only multiplies
    whiten = np.linalg.solve(factor, np.eye(size))
    constant = -np.log(np.diag(factor)).sum() - 0.5 * size * math.log(2.0 * math.pi)

    def log_density(theta: jax.Array) -> jax.Array:
        if jnp.shape(theta) != mean.shape:
            raise ValueError(f"theta must have shape {mean.shape}, got {jnp.shape(theta)}")
        theta = jnp.asarray(theta)
        z = jnp.asarray(whiten, theta.dtype) @ jnp.ravel(theta - jnp.asarray(mean, theta.dtype))
        return -0.5 * jnp.sum(z * z) + constant

    return log_density


def banana(width: float = 1.5, bend: float = 0.5) -> Callable[[jax.Array], jax.Array]:
    """The log-density of a Gaussian in the plane, bent; `width` is a and `bend` is b."""
    checks.positive("width", width)
    checks.positive("bend", bend)
    constant = -math.log(width) - math.log(2.0 * math.pi)

    def log_density(theta: jax.Array) -> jax.Array:
        if jnp.shape(theta) != (2,):
            raise ValueError(f"theta must have shape (2,), got {jnp.shape(theta)}")
        across, along = theta[1] - bend * (theta[0] ** 2 - width**2), theta[0] / width
        return -0.5 * (across**2 + along**2) + constant

    return log_density


def banana_moments(width: float = 1.5, bend: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the covariance of `banana(width, bend)`."""
    return np.zeros(2), np.diag([width**2, 1.0 + 2.0 * width**4 * bend**2])


def conjugate_regression(
    features: Any, targets: Any, noise_variance: float, prior_variance: Any = 1.0
) -> Normal:
    """The exact posterior of the weights; `prior_variance` is one number, or one per feature."""
    features, targets = _finite("features", features), _finite("targets", targets)
    if features.ndim != 2:
        raise ValueError(f"features must be a matrix, got shape {features.shape}")
    rows, columns = features.shape
    if targets.shape != (rows,):
        raise ValueError(f"targets must have shape ({rows},), got {targets.shape}")
    noise = checks.positive("noise_variance", noise_variance)
    prior = _finite("prior_variance", prior_variance)
    if prior.shape not in ((), (columns,)) or (prior <= 0).any():
        raise ValueError(
            f"prior_variance must be above 0, one number or {columns}, got {prior_variance!r}"
        )
    precision = features.T @ features / noise + np.diag(np.broadcast_to(1.0 / prior, columns))
    root = np.linalg.solve(_cholesky("the precision", precision), np.eye(columns))
    covariance = root.T @ root
    return Normal(covariance @ (features.T @ targets) / noise, covariance)


def _finite(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value, np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {value!r}")
    return array


def _cholesky(name: str, matrix: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        least = np.linalg.eigvalsh(matrix)[0]
        raise ValueError(
            f"{name} must be positive definite, got a smallest eigenvalue of {least:.3g}"
        ) from None
