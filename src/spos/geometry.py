"""Lengths and distances of a cloud of particles."""

import jax
import jax.numpy as jnp

from spos.types import Particles


def centred(rows: jax.Array) -> jax.Array:
    """Particles relative to their mean. Going through the first particle costs nothing and makes
    coincident particles exactly zero, which rounding in the mean alone would not."""
    relative = rows - rows[0]
    return relative - jnp.mean(relative, axis=0)


def norm(vectors: Particles) -> jax.Array:
    """Root mean square over particles of the Euclidean norm."""
    leaves = jax.tree.leaves(vectors)
    return jnp.sqrt(_sum_of_squares(leaves) / len(leaves[0]))


def expected_particle_distance(particles: Particles) -> jax.Array:
    """sqrt(Σ_ij ‖θ_i - θ_j‖²), by Σ_ij ‖θ_i - θ_j‖² = 2 M Σ_i ‖θ_i - mean‖²: no pair is visited."""
    leaves = jax.tree.leaves(particles)
    return jnp.sqrt(2.0 * len(leaves[0]) * _sum_of_squares([centred(leaf) for leaf in leaves]))


def _sum_of_squares(leaves: list[jax.Array]) -> jax.Array:
    return jnp.sum(jnp.stack([jnp.sum(leaf * leaf) for leaf in leaves]))
