"""A cloud of particles as a matrix: flattening, lengths and distances.

Particles are pytrees; `flatten` makes one M × d matrix of them and `unflatten` undoes that. Where
particles are large, copying them into one matrix costs more than the sums that need it: `matrices`
then leaves each leaf as a matrix of its own, and joins only small ones.
"""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp

from spos.types import Particles

NARROW = 64  # columns
JOINED_ENTRIES = 2**20  # a pytree of at most so many numbers is copied into one matrix

Matrices = list[jax.Array]  # each M × n: the particles, cut by columns


def size(particles: Particles) -> int:
    """M, the number of particles."""
    return int(jax.tree.leaves(particles)[0].shape[0])


def dimension(particles: Particles) -> int:
    """d, the number of parameters of one particle."""
    return sum(math.prod(leaf.shape[1:]) for leaf in jax.tree.leaves(particles))


def flatten(particles: Particles, axes: int = 1) -> jax.Array:
    """All numbers of a particle in one row, after so many leading axes."""
    rows = [jnp.reshape(x, (*x.shape[:axes], -1)) for x in jax.tree.leaves(particles)]
    return rows[0] if len(rows) == 1 else jnp.concatenate(rows, axis=-1)


def unflatten(rows: Any, like: Particles, axes: int = 1) -> Particles:
    """Undo `flatten`, with any leading axes; `like` has the form, `axes` of its own leading."""
    leaves, treedef = jax.tree.flatten(like)
    ends = itertools.accumulate((math.prod(leaf.shape[axes:]) for leaf in leaves), initial=0)
    parts = [
        rows[..., first:end].reshape(*rows.shape[:-1], *leaf.shape[axes:]).astype(leaf.dtype)
        for (first, end), leaf in zip(itertools.pairwise(ends), leaves, strict=True)
    ]
    return jax.tree.unflatten(treedef, parts)


def matrices(particles: Particles) -> Matrices:
    """A matrix for each leaf, or a single one where that is cheap."""
    rows = leaf_matrices(particles)
    if len(rows) > 1 and sum(r.size for r in rows) <= JOINED_ENTRIES:
        return [jnp.concatenate(rows, axis=1)]
    return rows


def leaf_matrices(particles: Particles) -> Matrices:
    """A matrix for each leaf."""
    return [jnp.reshape(leaf, (len(leaf), -1)) for leaf in jax.tree.leaves(particles)]


def from_matrices(parts: Matrices, like: Particles) -> Particles:
    """Undo `matrices`."""
    leaves, treedef = jax.tree.flatten(like)
    if len(parts) < len(leaves):
        return unflatten(parts[0], like)
    shaped = [
        m.reshape(leaf.shape).astype(leaf.dtype) for m, leaf in zip(parts, leaves, strict=True)
    ]
    return jax.tree.unflatten(treedef, shaped)


def squared_distances(a: Any, b: Any) -> Any:
    """‖a_i - b_j‖² for all rows of two matrices, of NumPy or of JAX, from one Gram product."""
    sq = (a * a).sum(1)[:, None] + (b * b).sum(1) - 2.0 * a @ b.T
    return sq.clip(0.0)


def factorable(matrix: jax.Array) -> jax.Array:
    """The matrix in a type that LAPACK knows: half precision is factored as float32."""
    return matrix.astype(jnp.promote_types(matrix.dtype, jnp.float32))


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
    rows = leaf_matrices(particles)
    spread = _sum_of_squares([each - mean(each) for each in rows])
    return jnp.sqrt(2.0 * len(rows[0]) * spread)


def _sum_of_squares(leaves: Matrices) -> jax.Array:
    return jnp.sum(jnp.stack([jnp.sum(leaf * leaf) for leaf in leaves]))
