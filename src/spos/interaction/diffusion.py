"""Diffusion without noise: what the kernel says of -∇ log ν, ν the density of the cloud.

Noise spreads a density as the velocity field -∇ log ν does. A deterministic method follows that
field, for which the density of M points has to be smoothed. With k_i = Σ_l k_il, and
push_ij = ∇_j k_ij = -∇_i k_ij the push that particle j gives to particle i:

    blob   Σ_j push_ij / k_i + Σ_j push_ij / k_j      minus M times the gradient, in θ_i, of
                                                      (1/M) Σ_i log (1/M) Σ_j k_ij, the entropy term
                                                      with one of its two densities smoothed
    gfsd   Σ_j push_ij / k_i                          -∇ log of the smoothed density, at θ_i
    gfsf   (K + εI)⁻¹ Σ_j push_ij                     the field whose smoothing is that of -∇ log ν:
                                                      Σ_j k_ij u_j + ε u_i = Σ_j push_ij

No particle has a k_i below k_ii = 1, so that nothing is divided by a small number. The ridge ε is
meant relative to the diagonal of K, which is 1. blob and gfsd are sums over pairs and are tiled for
many particles (blob in two passes, the first for k_i); gfsf solves with the whole matrix K.

The same matrix is the covariance of the noise of `spos.noisy_svgd`, whose root is taken here too:
K + δI = L Lᵀ, with δ = 8 M times the machine's precision (1e-6 M in float32) so that rounding,
or particles that meet, cannot stop the factorisation.

References: blob is due to Carrillo, Craig, Patacchini (2019) and, as a sampler, to Chen et al., UAI
2018 (w-SGLD-B); gfsd and gfsf to Liu et al., ICML 2019.
"""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp

from spos import checks
from spos.cloud import Matrices, factorable
from spos.interaction import pairwise
from spos.interaction.kernels import Kernel, check_kernel
from spos.interaction.pairwise import (
    Cloud,
    Direction,
    by_blocks,
    by_rows,
    prepare,
)
from spos.interaction.stein_direction import stein_of
from spos.types import Number, Particles, State

Diffusion = Literal["blob", "gfsd", "gfsf"]
RIDGE = 0.01


def diffuse(
    kernel: Kernel,
    diffusion: Diffusion,
    state: State,
    scores: Particles,
    *,
    ridge: Number = RIDGE,
    weight: Number = 1.0,
    stein: bool = False,
) -> Direction:
    """`weight · (s_i - ∇ log ν(θ_i))`, plus the Stein direction if wanted, and the bandwidth η²."""

    def one(rows: Matrices, score: Matrices) -> tuple[Matrices, jax.Array]:
        cloud = prepare(kernel, rows, state)
        moved = [
            jnp.asarray(weight, s.dtype) * (s + v)
            for s, v in zip(score, DIFFUSIONS[diffusion](kernel, cloud, ridge), strict=True)
        ]
        if stein:
            pushed = stein_of(kernel, cloud, score)
            moved = [m + p for m, p in zip(moved, pushed, strict=True)]
        return moved, cloud.eta2

    return by_blocks(kernel, one, state.particles, scores)


def check_diffusion(kernel: Kernel, diffusion: str) -> None:
    check_kernel(kernel)
    checks.one_of("diffusion", diffusion, DIFFUSIONS)
    if kernel.blocks is not None:
        raise ValueError(
            "kernel must not have blocks here: a block's own density is not what its score "
            f"balances where blocks are correlated, got blocks={kernel.blocks!r}"
        )


def blob(kernel: Kernel, cloud: Cloud, ridge: Number) -> Matrices:
    (total,) = by_rows(cloud, lambda here, sq: [_sum(kernel(sq, cloud.eta2)[0])])

    def rows(here: Matrices, sq: jax.Array, own: jax.Array) -> Matrices:
        k, slope = kernel(sq, cloud.eta2)
        return _pushed(k * slope * (1.0 / own + 1.0 / total.T), here, cloud.theta)

    return by_rows(cloud, rows, total)


def gfsd(kernel: Kernel, cloud: Cloud, ridge: Number) -> Matrices:
    def rows(here: Matrices, sq: jax.Array) -> Matrices:
        k, slope = kernel(sq, cloud.eta2)
        return [p / _sum(k) for p in _pushed(k * slope, here, cloud.theta)]

    return by_rows(cloud, rows)


def gfsf(kernel: Kernel, cloud: Cloud, ridge: Number) -> Matrices:
    k, slope = _whole_matrix("gfsf", kernel, cloud)
    pushed = _pushed(k * slope, cloud.theta, cloud.theta)
    lifted = factorable(k + ridge * jnp.eye(len(k), dtype=k.dtype))
    factor = jax.scipy.linalg.cho_factor(lifted, lower=True)
    return [jax.scipy.linalg.cho_solve(factor, factorable(p)).astype(p.dtype) for p in pushed]


DIFFUSIONS: dict[str, Callable[..., Matrices]] = {"blob": blob, "gfsd": gfsd, "gfsf": gfsf}


def correlate(kernel: Kernel, particles: Particles, normals: Particles) -> Particles:
    """Normals whose covariance across particles is the kernel: L ξ / sqrt(M), with K = L Lᵀ."""

    def one(rows: Matrices, xi: Matrices) -> tuple[Matrices, jax.Array]:
        cloud = prepare(kernel, rows, state=None)
        k, _ = _whole_matrix("noisy_svgd", kernel, cloud)
        count = len(k)
        lift = 8 * count * jnp.finfo(k.dtype).eps
        lifted = factorable(k + lift * jnp.eye(count, dtype=k.dtype))
        root = jnp.linalg.cholesky(lifted).astype(k.dtype)
        return [root @ x / jnp.sqrt(count).astype(x.dtype) for x in xi], cloud.eta2

    return by_blocks(kernel, one, particles, normals)[0]


def _whole_matrix(method: str, kernel: Kernel, cloud: Cloud) -> tuple[jax.Array, jax.Array]:
    if cloud.sq is None:
        raise ValueError(
            f"particles must be at most {pairwise.DENSE_PARTICLES} for {method}, which factors "
            f"their whole kernel matrix, got {len(cloud.theta[0])}"
        )
    return kernel(cloud.sq, cloud.eta2)


def _pushed(weights: jax.Array, here: Matrices, theta: Matrices) -> Matrices:
    """Σ_j weights_ij (θ_i - θ_j)."""
    mass = _sum(weights)
    return [mass * h - weights @ t for h, t in zip(here, theta, strict=True)]


def _sum(rows: jax.Array) -> jax.Array:
    return jnp.sum(rows, axis=1, keepdims=True)
