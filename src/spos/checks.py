"""Arguments are checked once, where they enter, and a complaint names the argument, what came and
what is allowed. Values that are still being traced (a grid of settings under `vmap`) pass: their
shape is known but not their number.

JAX holds numbers in 32 bits unless it is told otherwise, and says nothing of those that do not fit:
2**40 becomes 0 and 1e300 infinity. So a number is checked as what it will be.
"""

import math
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.names import entry_name, leaf_name
from spos.types import Particles, PyTree

SHOWN = 200  # characters of a value in a complaint
WIDER = 'take 64 bits, jax.config.update("jax_enable_x64", True), or other units'


def is_traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)


def positive(name: str, value: Any, *, allow_infinity: bool = False) -> Any:
    """A number above zero."""
    allowed = "a number above 0" + (" (infinity included)" if allow_infinity else "")
    if is_traced(value):
        if value.shape != ():
            raise ValueError(f"{name} must be {allowed}, got an array of shape {value.shape}")
        return value
    number = real(name, value, allowed)
    if math.isnan(number) or number <= 0 or (math.isinf(number) and not allow_infinity):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    held = as_held(number)
    if held == 0 or (math.isinf(held) and not allow_infinity):
        raise ValueError(
            f"{name} must be {allowed}, got {value!r}, which {_default_float()} holds as {held}: "
            f"{WIDER}"
        )
    return number


def fraction(name: str, value: Any) -> Any:
    """A number in [0, 1)."""
    if is_traced(value):
        return positive(name, value)
    number = real(name, value, "a number in [0, 1)")
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be a number in [0, 1), got {value!r}")
    if as_held(number) == 1:
        raise ValueError(
            f"{name} must be a number in [0, 1), got {value!r}, which {_default_float()} holds as "
            f"1: {WIDER}"
        )
    return number


def whole(name: str, value: Any, *, at_least: int = 1, below: float = math.inf) -> int:
    """An integer of at least `at_least` and less than `below`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number, got {_describe(value)}")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value}")
    if value >= below:
        raise ValueError(f"{name} must be below {below}, got {value}")
    return int(value)


def wholes(name: str, values: Any) -> tuple[int, ...]:
    """Several whole numbers of at least 1, or none."""
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be whole numbers, one after another, got {_describe(values)}")
    return tuple(whole(name, each) for each in values)


def seed(name: str, value: Any) -> int:
    """A whole number that a key of JAX can be made of, to tell it from all others."""
    return whole(name, value, at_least=0, below=2**32)


def key(name: str, value: Any) -> jax.Array:
    """One key of JAX, typed or of the old kind."""
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    typed = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
    if not isinstance(value, jax.Array) or not (typed or dtype == jnp.uint32):
        raise TypeError(
            f"{name} must be a key of JAX, such as jax.random.key(0), got {_describe(value)}"
        )
    if typed and shape != ():
        raise ValueError(f"{name} must be one key, got an array of shape {shape}")
    return value


def function(name: str, value: Any) -> Any:
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {_describe(value)}")
    return value


def as_path(name: str, value: Any, what: str = "a file") -> Path:
    """What can be the name of a file."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must name {what}, got {_describe(value)}")
    found = Path(value)
    try:
        found.exists()
    except (OSError, ValueError) as error:  # too long, or with a zero byte in it
        raise ValueError(f"{name} must name {what}, got {str(value)[:80]!r}: {error}") from None
    return found


def folder(name: str, value: Any) -> Path:
    """A folder that is there or can be made."""
    path = as_path(name, value, "a folder")
    if path.exists() and not path.is_dir():
        raise ValueError(f"{name} must name a folder, got the file {path}")
    return path


def one_of(name: str, value: Any, allowed: Collection[str]) -> Any:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value


def particles(value: Particles, called: str = "particles") -> Particles:
    """A pytree of real floating arrays that share their leading axis, finite where known."""
    leaves = jax.tree_util.tree_leaves_with_path(value)
    if not leaves:
        raise ValueError(f"{called} must hold at least one array, got {value!r}")
    sizes = {}
    for path, leaf in leaves:
        name = leaf_name(path)
        array(f"{called}: {name}", leaf)
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            raise TypeError(f"{called}: {name} must be real floating point, got {leaf.dtype}")
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
    return jax.tree.map(jnp.asarray, value)


def _parts_here(leaf: Any) -> Iterator[tuple[int, np.ndarray]]:
    """What can be looked at without asking other processes, and which particle is its first."""
    if is_traced(leaf):
        return
    if not isinstance(leaf, jax.Array) or leaf.is_fully_addressable:
        yield 0, np.asarray(leaf)
        return
    for shard in leaf.addressable_shards:
        yield shard.index[0].start or 0, np.asarray(shard.data)


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
    for method in ("to_numpy", "toarray"):  # tables of pandas and the like, and sparse matrices
        if hasattr(value, method):
            raise TypeError(
                f"{name} must be an array, got a {type(value).__name__}: give its .{method}()"
            )
    dtype = getattr(value, "dtype", None)
    numpys = isinstance(dtype, np.dtype) and hasattr(value, "__array__")
    if dtype is None or not (numpys or isinstance(value, jax.Array | jax.ShapeDtypeStruct)):
        raise TypeError(f"{name} must be an array, got {_describe(value)}")
    if not (jnp.issubdtype(dtype, jnp.number) or dtype == np.bool_):
        raise TypeError(f"{name} must be a numeric array, got {_describe(value)}")
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
        raise ValueError(f"{name} must be an array of numbers, got {_describe(values)}") from None
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


def real(name: str, value: Any, allowed: str = "a number") -> float:
    """A real number, which may be infinite or NaN."""
    wrong = TypeError(f"{name} must be {allowed}, got {_describe(value)}")
    if isinstance(value, str | bytes | bool | np.bool_ | np.ma.MaskedArray):
        raise wrong
    try:
        if np.iscomplexobj(value) or np.ndim(value) != 0:
            raise wrong
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be {allowed}, got a number beyond 1e308") from None
    except (TypeError, ValueError):
        raise wrong from None


def as_held(number: float) -> float:
    """The number as JAX holds it by default."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.asarray(number).astype(_default_float()))


def _default_float() -> np.dtype[Any]:
    return np.dtype(jnp.result_type(float))


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


def _describe(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"an array of shape {value.shape} and type {getattr(value, 'dtype', '?')}"
    shown = repr(value)
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
    return f"{shown} ({type(value).__name__})"
