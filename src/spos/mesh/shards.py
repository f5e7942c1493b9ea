"""Which part of the particles a device has, and how programs are told.

While a run is traced, JAX's ambient mesh (`jax.set_mesh`) says over which devices its particles are
sharded; `spos.sample` and `spos.run` set it when they are given sharded particles (`over`). Rooms
that compute with particles ask here: `by_shards` makes a function of all particles one that every
device computes for its own, and inside of it `inside()`, `number()` and `index()` tell which those
are. On one device all of this is nothing, and the programs are those without a mesh.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from spos.types import Particles, PyTree

AXIS = "particles"
DATA_AXIS = "data"
OWN, ALL = P(AXIS), P()  # each device has a share; each has all of it
RECORDS = P(None, AXIS)  # an axis of records before that of the particles


def mesh_of(tree: PyTree) -> Mesh | None:
    """The mesh that a pytree is sharded over by particles; None where it is not, or is traced."""
    for leaf in jax.tree.leaves(tree):
        if isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer):
            place = leaf.sharding
            if isinstance(place, NamedSharding) and AXIS in place.mesh.axis_names:
                mesh = place.mesh
                return mesh if isinstance(mesh, Mesh) and mesh.size > 1 else None
    return None


@contextlib.contextmanager
def over(tree: PyTree) -> Iterator[Mesh | None]:
    """Inside, programs know that particles are sharded as `tree` is."""
    mesh = mesh_of(tree)
    with contextlib.nullcontext() if mesh is None else jax.set_mesh(mesh):
        yield mesh


def ambient() -> AbstractMesh | None:
    """The mesh of what is traced just now; None without one, and inside of `by_shards`."""
    mesh = jax.sharding.get_abstract_mesh()
    return mesh if AXIS in mesh.axis_names and mesh.size > 1 and not inside() else None


def inside() -> bool:
    """Is this what one device computes for its own particles?"""
    return AXIS in jax.sharding.get_abstract_mesh().manual_axes


def number() -> int:
    """Of the shards that the particles are in."""
    return int(jax.lax.axis_size(AXIS)) if inside() else 1


def index() -> jax.Array | int:
    """Which of them this one is."""
    return jax.lax.axis_index(AXIS) if inside() else 0


def mean(values: jax.Array) -> jax.Array:
    """The mean over all shards of what each has a mean of."""
    return jax.lax.pmean(values, AXIS) if inside() else values


def whole(rows: jax.Array) -> jax.Array:
    """The rows of all shards."""
    return jax.lax.all_gather(rows, AXIS, tiled=True) if inside() else rows


def mean_of_rows(values: jax.Array, count: int, wanted: jax.Array) -> jax.Array:
    """The mean over all of so many rows where it is wanted, and else each row's own value. A share
    may end with rows that another has, too (`divided`): they do not count."""

    if not inside():
        return jnp.where(wanted, values.mean(), values)

    def mean_of_all() -> jax.Array:
        own = index() * len(values) + jnp.arange(len(values)) < count
        total = jax.lax.psum(jnp.sum(jnp.where(own, values, 0.0)), AXIS)
        return jnp.broadcast_to(total / count, values.shape)

    return jax.lax.cond(wanted, mean_of_all, lambda: values)


def by_shards(function: Callable[..., Any], in_specs: Any, out_specs: Any) -> Callable[..., Any]:
    """The function, computed by every device for its own particles. The specs say of each argument
    and result whether a device has its share or all of it."""
    mesh = ambient()
    if mesh is None:
        return function
    return jax.shard_map(
        function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False
    )


def divided(
    function: Callable[[PyTree, Any], Any],
    common: PyTree,
    rows: tuple[PyTree, ...],
    axes: tuple[int, ...],
    found: tuple[int, ...],
) -> Any:
    """`function(common, rows)`, row by row: each device computes its share, and all get all of it.

    `axes` says of each part of `rows`, and `found` of each part of what is found, which axis counts
    rows. Their number need not divide: some are computed twice. All that is found has one type, so
    that it is sent in one piece.
    """
    mesh = ambient()
    if mesh is None:
        return function(common, rows)
    count = jax.tree.leaves(rows[0])[0].shape[axes[0]]
    place = jnp.arange(count + -count % mesh.shape[AXIS]) % count

    def own(common: PyTree, rows: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
        parts = function(common, rows)
        first = [_moved(part, axis, 0) for part, axis in zip(parts, found, strict=True)]
        leaves, structure = jax.tree.flatten(first)
        sizes = [leaf[0].size for leaf in leaves]
        ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
        table = jnp.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)
        table = jax.lax.all_gather(table, AXIS, tiled=True)
        leaves = [
            table[:count, end - size : end].reshape(count, *leaf.shape[1:])
            for leaf, size, end in zip(leaves, sizes, ends, strict=True)
        ]
        parts = jax.tree.unflatten(structure, leaves)
        return tuple(_moved(part, 0, axis) for part, axis in zip(parts, found, strict=True))

    filled = tuple(
        jax.tree.map(lambda leaf, axis=axis: jnp.take(leaf, place, axis), part)
        for part, axis in zip(rows, axes, strict=True)
    )
    places = tuple(P(*[None] * axis, AXIS) for axis in axes)
    return by_shards(own, (ALL, places), ALL)(common, filled)


def _moved(tree: PyTree, source: int, to: int) -> PyTree:
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, source, to), tree)


def specs(function: Callable[[Particles], PyTree], particles: Particles) -> PyTree:
    """Which axes of `function(particles)` are those of the particles: they grow with M."""
    count = len(jax.tree.leaves(particles)[0])
    other = count - 1 if count > 2 else count + 1

    def shapes(rows: int) -> PyTree:
        like = jax.tree.map(
            lambda x: jax.ShapeDtypeStruct((rows, *x.shape[1:]), x.dtype), particles
        )
        return jax.eval_shape(lambda given: function(given), like)

    return jax.tree.map(
        lambda a, b: P(*(AXIS if m != n else None for m, n in zip(a.shape, b.shape, strict=True))),
        shapes(count),
        shapes(other),
    )


def kept_on(tree: PyTree, places: PyTree) -> PyTree:
    """The pytree, held where the specs say while a program runs."""
    if ambient() is None:
        return tree
    return jax.tree.map(jax.lax.with_sharding_constraint, tree, places)


def on_all(tree: PyTree) -> PyTree:
    """The pytree, whole on every device: small things that every process will look at."""
    if ambient() is None:
        return tree
    return jax.tree.map(lambda leaf: jax.lax.with_sharding_constraint(leaf, ALL), tree)


def across(function: Callable[[jax.Array], jax.Array], rows: jax.Array) -> jax.Array:
    """`function` of columns, each of which it takes whole: a device works on its share of columns
    with the rows of all devices, and gets its own rows back."""
    if not inside():
        return function(rows)
    missing = -rows.shape[1] % number()
    padded = jnp.pad(rows, ((0, 0), (0, missing)))
    columns = jax.lax.all_to_all(padded, AXIS, split_axis=1, concat_axis=0, tiled=True)
    back = jax.lax.all_to_all(function(columns), AXIS, split_axis=0, concat_axis=1, tiled=True)
    return back[:, : rows.shape[1]]
