"""What the diagnostics take: particles as a matrix, scores at them, and sums over their pairs."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.cloud import flatten
from spos.interaction import pairwise
from spos.interaction.kernels import Kernel, check_kernel
from spos.names import parameters
from spos.programs import compiled
from spos.targets.target import Target, as_target, check_target
from spos.types import Particles


def points(name: str, particles: Particles, at_least: int = 1) -> jax.Array:
    """Particles, an array or a pytree of arrays that share their first axis, as an M × d matrix."""
    leaves = [jnp.asarray(checks.array(name, leaf)) for leaf in jax.tree.leaves(particles)]
    shapes = [leaf.shape for leaf in leaves]
    if not leaves or any(not shape or 0 in shape for shape in shapes):
        raise ValueError(
            f"{name} must be an array of shape (M, d), or a pytree of arrays of shape (M, …), none "
            f"of them empty, got {shapes or particles!r}"
        )
    if len({shape[0] for shape in shapes}) > 1:
        raise ValueError(f"{name} must share one leading axis, got shapes {shapes}")
    if any(jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in leaves):
        raise TypeError(f"{name} must be real, got {[str(leaf.dtype) for leaf in leaves]}")
    if shapes[0][0] < at_least:
        raise ValueError(f"{name} must hold at least {at_least} particles, got {shapes[0][0]}")
    dtype = jnp.result_type(float, *leaves)
    matrix = flatten(leaves).astype(dtype)
    if not checks.is_traced(matrix) and not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(np.asarray(matrix)))[0]
        raise ValueError(
            f"{name} must be finite, got {matrix[row, column]} in particle {row}, "
            f"parameter {parameters(particles)[0][column]}"
        )
    return matrix


def two_clouds(a: Particles, b: Particles, at_least: int = 1) -> tuple[jax.Array, jax.Array]:
    """Two samples of points in one space."""
    first, second = points("a", a, at_least), points("b", b, at_least)
    form, other = (str(jax.tree.structure(each)) for each in (a, b))
    if form != other:
        raise ValueError(f"a and b must be pytrees of one form, got {form} and {other}")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"a and b must have one dimension, got {first.shape[1]} and {second.shape[1]}"
        )
    return first, second


def scores_at(target: Any, particles: Particles) -> jax.Array:
    """The target's scores on all its data, as a matrix; `target` may be these scores already."""
    if not callable(target) and not isinstance(target, Target):
        scores = target
    else:
        target = as_target(target)
        particles = jax.tree.map(jnp.asarray, particles)
        check_target(target, particles)
        _must_be_inside(target, particles)
        scores = target.score(particles)
    shapes = [[jnp.shape(leaf) for leaf in jax.tree.leaves(tree)] for tree in (scores, particles)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"scores must have the shapes {shapes[1]} of particles, got {shapes[0]}")
    return points("scores", scores)


def _must_be_inside(target: Target, particles: Particles) -> None:
    if any(checks.is_traced(leaf) for leaf in jax.tree.leaves(particles)):
        return
    outside = target.outside(particles)
    if not checks.is_traced(outside) and outside.any():
        raise ValueError(
            "particles must be where the target has mass, but its log-density is -inf or NaN at "
            f"{outside.sum()} of {len(outside)}, first at particle {outside.argmax()}"
        )


def pairs(kernel: Kernel, rows: jax.Array) -> pairwise.Cloud:
    """The cloud with the bandwidth η² that a sampler with this kernel would use."""
    check_kernel(kernel)
    if kernel.blocks is not None:
        raise ValueError(f"kernel must not have blocks here, got blocks={kernel.blocks!r}")
    return _prepare(kernel, rows)


@compiled()  # the search for the median is a loop
def _prepare(kernel: Kernel, rows: jax.Array) -> pairwise.Cloud:
    return pairwise.prepare(kernel, [rows], None)
