"""Lengths and distances of a cloud of particles."""

import jax
import jax.numpy as jnp

from spos.types import Particles

NARROW = 64  # columns


def mean(rows: jax.Array) -> jax.Array:
    """Mean over the particle axis of a matrix. For wide rows as a product: XLA's CPU reduction over
    a leading axis is up to ten times slower there."""
    if rows.shape[1] <= NARROW:
        return jnp.mean(rows, axis=0)
    weights = jnp.full((1, len(rows)), 1.0 / len(rows), rows.dtype)
    return (weights @ rows)[0]


def norm(vectors: Particles) -> jax.Array:
    """Root mean square over particles of the Euclidean norm."""
    leaves = jax.tree.leaves(vectors)
    return jnp.sqrt(_sum_of_squares(leaves) / len(leaves[0]))


def expected_particle_distance(particles: Particles) -> jax.Array:
    """sqrt(Σ_ij ‖θ_i - θ_j‖²), by Σ_ij ‖θ_i - θ_j‖² = 2 M Σ_i ‖θ_i - mean‖²: no pair is visited."""
    leaves = jax.tree.leaves(particles)
    matrices = [jnp.reshape(leaf, (len(leaf), -1)) for leaf in leaves]
    spread = _sum_of_squares([rows - mean(rows) for rows in matrices])
    return jnp.sqrt(2.0 * len(leaves[0]) * spread)


def _sum_of_squares(leaves: list[jax.Array]) -> jax.Array:
    return jnp.sum(jnp.stack([jnp.sum(leaf * leaf) for leaf in leaves]))
