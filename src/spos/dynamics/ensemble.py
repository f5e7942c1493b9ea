"""The cloud as its own preconditioner: dynamics that do not care how a target is scaled or turned.

With the mean m and the covariance C = (1/M) Σ_j (θ_j - m)(θ_j - m)ᵀ of the particles, C = RᵀR, a
step is taken in the coordinates z_i = R⁻ᵀ (θ_i - m), in which the cloud is round, and where scores
are R s_i. For SPOS that reads

    θ_i += h { (1/β) [C s_i + ((d + 1)/M)(θ_i - m)]
               + (1/M) Σ_j k_ij [C s_j + slope_ij (θ_i - θ_j)] } + sqrt(2h/β) C^½ ξ_i,

the kernel's distances being those of z. Noise of covariance C, where C moves with the particles,
needs the divergence of C in the drift. By ∂C_ab/∂θ_ic = (1/M) [δ_ac (θ_i - m)_b + δ_bc (θ_i - m)_a]
(what the mean adds cancels), Σ_b ∂C_ab/∂θ_ib = ((d + 1)/M) (θ_i - m)_a: exact for any M, and with
1/M in C. Without that term the cloud is too narrow, the more so the larger d/M. Without noise there
is no such term.

An affine map of the target and of the start maps the whole path: C^½ ξ_i is taken to be
(1/√M) Σ_j ζ_ij (θ_j - m), with M² normals ζ, and z is unique up to a rotation, of which no drift
takes notice.

**Few particles.** Up to M = d + 1 the cloud is (almost) flat, and no step leads out of its plane.
There the covariance is shrunk towards its diagonal,

    C_λ = (1 - λ) C + λ diag C,   λ = d / (d + M - 1),   (d + 1)  becomes  (1 - λ)(d + 1) + 2 λ,

λ being the diagonal's share of the d + (M - 1) directions that the two know of. Scales of single
parameters then cost nothing still, but correlations do.

R comes from a QR factorisation of a root B of C = BᵀB (the particles, and the diagonal's root),
never from C, whose condition number is the square of B's; its Q holds z, up to a factor.

References: Leimkuhler, Matthews, Weare (2018); Garbuno-Inigo, Nüsken, Reich (2020), for the term.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.cloud import dimension, factorable, flatten, size, unflatten
from spos.dynamics.preconditioners import Preconditioner
from spos.names import entry_name
from spos.types import Number, Particles, State
from spos.values import value

LARGEST = 1000  # parameters: a step costs a QR factorisation, some d³ operations


@value
class Ensemble(Preconditioner):
    """Precondition by the covariance of the particles; see `ensemble`."""

    def init(self, particles: Particles) -> tuple[()]:
        check_cloud(particles)
        return ()


def ensemble() -> Ensemble:
    """Step in coordinates in which the particles are round, so that neither the scales of a target
    nor its correlations matter.

    Takes at least two particles and at most 1000 parameters, and asks for more particles than
    parameters to see all correlations.

    Returns:
        The preconditioner.

    Example:
        >>> spos.ensemble()
        Ensemble()
    """
    return Ensemble()


class RoundCloud(NamedTuple):
    """The particles in coordinates in which they are round."""

    z: jax.Array  # M × d
    triangle: jax.Array  # R: θ - m = z R, and a score in z is s Rᵀ
    correction: float  # the divergence of C is this times θ_i - m


def check_cloud(particles: Particles) -> None:
    count, wide = size(particles), dimension(particles)
    if count < 2:
        raise ValueError(f"particles must be at least 2 for spos.ensemble(), got {count}")
    if wide > LARGEST:
        raise ValueError(
            f"particles must have at most {LARGEST} parameters for spos.ensemble(), which factors "
            f"their covariance, got {wide}: use spos.rmsprop()"
        )
    for path, leaf in jax.tree_util.tree_leaves_with_path(particles):
        if checks.is_traced(leaf):
            continue
        still = np.argwhere(np.ptp(np.asarray(leaf), axis=0) == 0)
        if len(still):
            raise ValueError(
                "particles must differ in every parameter for spos.ensemble(), which moves along "
                f"their differences, got all alike in {entry_name(path, still[0])}"
            )


def whitened(
    drift: Callable[[jax.Array, State, Particles], tuple[Particles, Any]],
    noise: Number | None,
    key: jax.Array,
    state: State,
    scores: Particles,
) -> tuple[Particles, Any]:
    """The drift taken in the round coordinates, with the term that noise of level `noise` needs."""
    here = frame(flatten(state.particles))
    turned = flatten(scores) @ here.triangle.T
    moved, bandwidth = drift(key, state._replace(particles=here.z), turned)
    if noise is not None:
        moved = moved + jnp.asarray(noise * here.correction, here.z.dtype) * here.z
    return unflatten(moved @ here.triangle, state.particles), bandwidth


def cloud_noise(normals: Callable[[jax.Array], Particles], particles: Particles) -> Particles:
    """Noise with the covariance of the particles; `normals(like)` gives normals shaped alike."""
    theta = flatten(particles)
    rows = root(theta)
    zeta = normals(jnp.zeros((len(theta), len(rows)), theta.dtype))
    return unflatten(zeta @ rows, particles)


def frame(theta: jax.Array) -> RoundCloud:
    count, wide = theta.shape
    q, triangle = (part.astype(theta.dtype) for part in jnp.linalg.qr(factorable(root(theta))))
    weight = shrinkage(count, wide)
    correction = ((1.0 - weight) * (wide + 1) + 2.0 * weight) / count
    return RoundCloud((count / (1.0 - weight)) ** 0.5 * q[:count], triangle, correction)


def root(theta: jax.Array) -> jax.Array:
    """B, with C_λ = BᵀB: the centred particles and, where they are few, the diagonal's root."""
    count, wide = theta.shape
    weight = shrinkage(count, wide)
    centred = theta - jnp.mean(theta, axis=0)
    rows = ((1.0 - weight) / count) ** 0.5 * centred
    if weight == 0.0:
        return rows
    spread = jnp.sqrt(weight * jnp.mean(centred * centred, axis=0))
    return jnp.concatenate([rows, jnp.diag(spread)])


def shrinkage(count: int, wide: int) -> float:
    """λ."""
    return wide / (wide + count - 1) if count <= wide + 1 else 0.0
