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

import functools
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
    Rows,
    by_blocks,
    num_particles,
    prepare,
    sum_over,
    without_memory,
)
from spos.interaction.stein_direction import stein_of
from spos.mesh import shards
from spos.mesh.shards import ALL, OWN
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

    def direction(
        kernel: Kernel,
        numbers: tuple[Number, Number],
        state: State,
        particles: Particles,
        scores: Particles,
    ) -> Direction:
        ridge, weight = numbers

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

        return by_blocks(kernel, one, particles, scores)

    return shards.by_shards(direction, (ALL, ALL, ALL, OWN, OWN), (OWN, ALL))(
        kernel, (ridge, weight), without_memory(state), state.particles, scores
    )


def check_diffusion(kernel: Kernel, diffusion: str) -> None:
    check_kernel(kernel)
    checks.one_of("diffusion", diffusion, DIFFUSIONS)
    if kernel.blocks is not None:
        raise ValueError(
            "kernel must not have blocks here: a block's own density is not what its score "
            f"balances where blocks are correlated, got blocks={kernel.blocks!r}"
        )


def blob(kernel: Kernel, cloud: Cloud, ridge: Number) -> Matrices:
    def density(theta: Matrices) -> Rows:
        return lambda here, sq: [_sum(kernel(sq, cloud.eta2)[0])]

    def pushes(theta: Matrices, total: jax.Array) -> Rows:
        def rows(here: Matrices, sq: jax.Array, own: jax.Array) -> Matrices:
            k, slope = kernel(sq, cloud.eta2)
            return _pushed(k * slope * (1.0 / own + 1.0 / total.T), here, theta)

        return rows

    (total,) = sum_over(cloud, density)
    return sum_over(cloud, pushes, total, beside=[total])


def gfsd(kernel: Kernel, cloud: Cloud, ridge: Number) -> Matrices:
    def smoothed(sums: Matrices, here: Matrices) -> Matrices:
        *pushed, total = sums
        return [p / total for p in pushed]

    return sum_over(cloud, functools.partial(_pushes, kernel, cloud.eta2), finish=smoothed)


def gfsf(kernel: Kernel, cloud: Cloud, ridge: Number) -> Matrices:
    k = _whole_matrix("gfsf", kernel, cloud)
    *pushed, _ = sum_over(cloud, functools.partial(_pushes, kernel, cloud.eta2))
    lifted = factorable(k + ridge * jnp.eye(len(k), dtype=k.dtype))
    factor = jax.scipy.linalg.cho_factor(lifted, lower=True)

    def solved(columns: jax.Array) -> jax.Array:
        return jax.scipy.linalg.cho_solve(factor, factorable(columns)).astype(columns.dtype)

    return [shards.across(solved, p) for p in pushed]


DIFFUSIONS: dict[str, Callable[..., Matrices]] = {"blob": blob, "gfsd": gfsd, "gfsf": gfsf}


def correlate(kernel: Kernel, particles: Particles, normals: Particles) -> Particles:
    """Normals whose covariance across particles is the kernel: L ξ / sqrt(M), with K = L Lᵀ."""

    def correlated(kernel: Kernel, particles: Particles, normals: Particles) -> Particles:
        def one(rows: Matrices, xi: Matrices) -> tuple[Matrices, jax.Array]:
            cloud = prepare(kernel, rows, state=None)
            k = _whole_matrix("noisy_svgd", kernel, cloud)
            count = len(k)
            lift = 8 * count * jnp.finfo(k.dtype).eps
            lifted = factorable(k + lift * jnp.eye(count, dtype=k.dtype))
            root = jnp.linalg.cholesky(lifted).astype(k.dtype)
            spread = [shards.across(lambda c: root @ c, x) for x in xi]
            return [x / jnp.sqrt(count).astype(x.dtype) for x in spread], cloud.eta2

        return by_blocks(kernel, one, particles, normals)[0]

    return shards.by_shards(correlated, (ALL, OWN, OWN), OWN)(kernel, particles, normals)


def _whole_matrix(method: str, kernel: Kernel, cloud: Cloud) -> jax.Array:
    if num_particles(cloud) > pairwise.DENSE_PARTICLES:
        raise ValueError(
            f"particles must be at most {pairwise.DENSE_PARTICLES} for {method}, which factors "
            f"their whole kernel matrix, got {num_particles(cloud)}"
        )
    assert cloud.sq is not None
    return kernel(shards.whole(cloud.sq), cloud.eta2)[0]


def _pushes(kernel: Kernel, eta2: jax.Array, theta: Matrices) -> Rows:
    """What these sources add to Σ_j push_ij and, last, to Σ_j k_ij."""

    def rows(here: Matrices, sq: jax.Array) -> Matrices:
        k, slope = kernel(sq, eta2)
        return [*_pushed(k * slope, here, theta), _sum(k)]

    return rows


def _pushed(weights: jax.Array, here: Matrices, theta: Matrices) -> Matrices:
    """Σ_j weights_ij (θ_i - θ_j)."""
    mass = _sum(weights)
    return [mass * h - weights @ t for h, t in zip(here, theta, strict=True)]


def _sum(rows: jax.Array) -> jax.Array:
    return jnp.sum(rows, axis=1, keepdims=True)
