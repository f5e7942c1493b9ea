"""Arrays, and pytrees of them."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.checks.scalars import WIDER, described, is_traced
from spos.names import entry_name, leaf_name
from spos.types import Particles, PyTree


def particles(value: Particles, called: str = "particles") -> Particles:
    """A pytree of real floating arrays that share their leading axis, finite where known."""
    leaves = jax.tree_util.tree_leaves_with_path(value)
    if not leaves:
        raise ValueError(f"{called} must hold at least one array, got {value!r}")
    if isinstance(value, int | float | list | tuple) and all(
        isinstance(leaf, int | float) for _, leaf in leaves
    ):
        raise TypeError(
            f"{called} must be arrays with a leading axis, such as "
            f"jax.random.normal(key, (100, 2)) or jnp.asarray of a list, got {described(value)}"
        )
    sizes = {}
    for path, leaf in leaves:
        name = leaf_name(path)
        array(f"{called}: {name}", leaf)
        if isinstance(leaf, jax.ShapeDtypeStruct):
            raise TypeError(f"{called}: {name} must be an array, got only the shape of one")
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            way = ": give its .astype(float)" if jnp.issubdtype(leaf.dtype, jnp.integer) else ""
            raise TypeError(f"{called}: {name} must be real floating point, got {leaf.dtype}{way}")
        if leaf.ndim == 0:
            raise ValueError(f"{called}: {name} must have a leading particle axis, got a scalar")
        if leaf.size == 0:
            raise ValueError(f"{called}: {name} must not be empty, got shape {leaf.shape}")
        sizes[name] = leaf.shape[0]
    if len(set(sizes.values())) > 1:
        raise ValueError(f"{called}: all leaves must share the leading axis, got {sizes}")
    for path, leaf in leaves:
        for first, part in _parts_here(leaf):
            if not np.isfinite(part).all():
                bad = np.argwhere(~np.isfinite(part))[0]
                raise ValueError(
                    f"{called} must start finite, got {part[tuple(bad)]} in particle "
                    f"{first + bad[0]}, parameter {entry_name(path, bad[1:])}"
                )
    return jax.tree.map(_strong, value)


def _strong(leaf: Any) -> jax.Array:
    """Of no weak type, such as `jnp.full(3, 1.0)` has: what a step gives has none either, and a
    loop would be compiled twice."""
    made = jnp.asarray(leaf)
    return jnp.asarray(made, made.dtype)


def _parts_here(leaf: Any) -> Iterator[tuple[int, np.ndarray]]:
    """What can be looked at without asking other processes, and which particle is its first."""
    if is_traced(leaf):
        return
    if not isinstance(leaf, jax.Array) or leaf.is_fully_addressable:
        yield 0, np.asarray(leaf)
        return
    for shard in leaf.addressable_shards:
        first = shard.index[0].start if shard.index else None
        yield first or 0, np.asarray(shard.data)


def broken(tree: PyTree) -> list[str]:
    """A phrase for each array that has something else than finite numbers, and where."""
    words = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        dtype = getattr(leaf, "dtype", None)
        if not isinstance(dtype, np.dtype) or not jnp.issubdtype(dtype, jnp.inexact):
            continue
        for first, values in _parts_here(leaf):
            bad = np.argwhere(np.isnan(values))
            if not len(bad):
                bad = np.argwhere(~np.isfinite(values))
            if len(bad):
                value = values[tuple(bad[0])]
                place = (first + bad[0][0], *bad[0][1:]) if values.ndim else ()
                more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
                words.append(f"{entry_name(path, place)} is {value}{more}")
                break
    return words


def shapes(tree: PyTree) -> str:
    """A pytree by the types and shapes of what is in it, whatever that is."""
    return str(jax.tree.map(_shape, tree))


def _shape(leaf: Any) -> str:
    kind = getattr(leaf, "dtype", type(leaf).__name__)
    return f"{kind}{list(getattr(leaf, 'shape', ()))}"


def data(value: PyTree) -> PyTree:
    """A pytree of arrays that share their leading axis, one entry per example."""
    return jax.tree.map(jnp.asarray, rows(value))


def rows(value: PyTree) -> PyTree:
    """The same, left as it is."""
    leaves = jax.tree_util.tree_leaves_with_path(value)
    if not leaves:
        raise ValueError(f"data must hold at least one array, got {value!r}")
    sizes = {}
    for path, leaf in leaves:
        name = leaf_name(path, root="the array")
        array(f"data: {name}", leaf)
        if leaf.ndim == 0:
            raise ValueError(f"data: {name} must have a leading axis of examples, got a scalar")
        sizes[name] = leaf.shape[0]
    if len(set(sizes.values())) > 1:
        raise ValueError(f"data: all leaves must share the leading axis, got {sizes}")
    if 0 in sizes.values():
        raise ValueError(f"data must have at least one example, got {sizes}")
    return value


def array(name: str, value: Any) -> Any:
    """A numeric array, of NumPy, JAX or what becomes one, whose numbers JAX can hold."""
    if is_traced(value):
        return value
    no_mask(name, value)
    # tables of pandas and the like, sparse matrices, and results of this library
    for way in ("to_numpy()", "toarray()", "particles"):
        if hasattr(value, way.removesuffix("()")):
            raise TypeError(
                f"{name} must be an array, got a {type(value).__name__}: give its .{way}"
            )
    dtype = getattr(value, "dtype", None)
    numpys = isinstance(dtype, np.dtype) and hasattr(value, "__array__")
    if dtype is None or not (numpys or isinstance(value, jax.Array | jax.ShapeDtypeStruct)):
        raise TypeError(f"{name} must be an array, got {described(value)}")
    if not (jnp.issubdtype(dtype, jnp.number) or dtype == np.bool_):
        raise TypeError(f"{name} must be a numeric array, got {described(value)}")
    if isinstance(value, jax.Array | jax.ShapeDtypeStruct):
        return value
    if not dtype.isnative:
        raise TypeError(
            f"{name} must be in the byte order of this machine, got {dtype}: give its "
            f".astype({dtype.newbyteorder('=').name!r})"
        )
    try:
        held = jax.dtypes.canonicalize_dtype(dtype)
    except TypeError:
        raise TypeError(f"{name} must be an array that JAX can hold, got type {dtype}") from None
    if held.itemsize < dtype.itemsize:
        _must_fit(name, np.asarray(value), held)
    return value


def no_mask(name: str, value: Any) -> None:
    """Everybody who makes an array of one that is masked would forget the mask without a word."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must be an array without a mask, got a masked array: fill it, or leave the "
            "masked rows out"
        )


def numbers(name: str, values: Any) -> Any:
    """Real numbers, as an array of any shape; lists of them will do."""
    if is_traced(values):
        return values
    no_mask(name, values)
    try:
        found = np.asarray(values)
    except ValueError:  # rows of unequal lengths
        raise ValueError(f"{name} must be an array of numbers, got {described(values)}") from None
    if found.dtype.kind not in "fiu" and "float" not in found.dtype.name:  # bfloat16 is kind V
        raise TypeError(f"{name} must be an array of real numbers, got type {found.dtype}")
    return found


def arrays(name: str, tree: PyTree) -> PyTree:
    """A pytree of numeric arrays with a leading axis each, whatever their numbers are."""
    leaves = jax.tree.leaves(tree)
    if not leaves:
        raise ValueError(f"{name} must hold at least one array, got {tree!r}")
    for leaf in leaves:
        if array(name, leaf).ndim == 0:
            raise ValueError(f"{name} must have a leading axis, got a scalar")
    return tree


def log_prob_output(name: str, output: PyTree, shape: tuple[int, ...], meaning: str) -> None:
    """What a user's log-density or log-likelihood gives back, seen by shape and type alone."""
    if isinstance(output, float) and shape == ():  # a constant, such as a flat prior's 0.0
        return
    if not hasattr(output, "shape"):
        raise TypeError(f"{name} must return {meaning}, got a {type(output).__name__}")
    if not jnp.issubdtype(output.dtype, jnp.floating):
        raise TypeError(f"{name} must return real floating point, got {output.dtype}")
    if output.shape != shape:
        raise ValueError(f"{name} must return {meaning}, got shape {output.shape}")


def _must_fit(name: str, value: np.ndarray, held: np.dtype[Any]) -> None:
    if value.dtype.kind in "iu":
        ends = np.iinfo(held)
        bad = (value < ends.min) | (value > ends.max)
    else:
        with np.errstate(over="ignore", under="ignore"):
            bad = np.isfinite(value) & ~np.isfinite(value.astype(held))
    if bad.any():
        place = tuple(int(n) for n in np.argwhere(bad)[0])
        raise ValueError(f"{name} holds {value[place]}, too large for {held}: {WIDER}")
