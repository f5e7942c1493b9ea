"""Arguments are checked once, where they enter, and a complaint names the argument, what came and
what is allowed. Values that are still being traced (a grid of settings under `vmap`) pass: their
shape is known but not their number."""

import math
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.names import entry_name, leaf_name
from spos.types import Particles, PyTree


def is_traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)


def positive(name: str, value: Any, *, allow_infinity: bool = False) -> Any:
    """A number above zero."""
    allowed = "a number above 0" + (" (infinity included)" if allow_infinity else "")
    if is_traced(value):
        if value.shape != ():
            raise ValueError(f"{name} must be {allowed}, got an array of shape {value.shape}")
        return value
    number = _real(name, value, allowed)
    if math.isnan(number) or number <= 0 or (math.isinf(number) and not allow_infinity):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number


def fraction(name: str, value: Any) -> Any:
    """A number in [0, 1)."""
    if is_traced(value):
        return positive(name, value)
    number = _real(name, value, "a number in [0, 1)")
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be a number in [0, 1), got {value!r}")
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


def function(name: str, value: Any) -> Any:
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {_describe(value)}")
    return value


def folder(name: str, value: Any) -> Path:
    """A folder that is there or can be made."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must name a folder, got {_describe(value)}")
    path = Path(value)
    if path.exists() and not path.is_dir():
        raise ValueError(f"{name} must name a folder, got the file {path}")
    return path


def one_of(name: str, value: Any, allowed: Collection[str]) -> Any:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value


def particles(value: Particles) -> Particles:
    """A pytree of real floating arrays that share their leading axis, finite where known."""
    leaves = jax.tree_util.tree_leaves_with_path(value)
    if not leaves:
        raise ValueError(f"particles must hold at least one array, got {value!r}")
    sizes = {}
    for path, leaf in leaves:
        name = leaf_name(path)
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise TypeError(f"particles: {name} must be an array, got {_describe(leaf)}")
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            raise TypeError(f"particles: {name} must be real floating point, got {leaf.dtype}")
        if leaf.ndim == 0:
            raise ValueError(f"particles: {name} must have a leading particle axis, got a scalar")
        if leaf.size == 0:
            raise ValueError(f"particles: {name} must not be empty, got shape {leaf.shape}")
        sizes[name] = leaf.shape[0]
    if len(set(sizes.values())) > 1:
        raise ValueError(f"particles: all leaves must share the leading axis, got {sizes}")
    for path, leaf in leaves:
        if not is_traced(leaf) and not np.isfinite(leaf).all():
            bad = np.argwhere(~np.isfinite(np.asarray(leaf)))[0]
            raise ValueError(
                f"particles must start finite, got {np.asarray(leaf)[tuple(bad)]} in particle "
                f"{bad[0]}, parameter {entry_name(path, bad[1:])}"
            )
    return jax.tree.map(jnp.asarray, value)


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
        if not hasattr(leaf, "shape") or leaf.dtype.kind in "OSUMm":
            raise TypeError(f"data: {name} must be a numeric array, got {_describe(leaf)}")
        if leaf.ndim == 0:
            raise ValueError(f"data: {name} must have a leading axis of examples, got a scalar")
        sizes[name] = leaf.shape[0]
    if len(set(sizes.values())) > 1:
        raise ValueError(f"data: all leaves must share the leading axis, got {sizes}")
    if 0 in sizes.values():
        raise ValueError(f"data must have at least one example, got {sizes}")
    return value


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


def _real(name: str, value: Any, allowed: str) -> float:
    if isinstance(value, str | bool) or np.iscomplexobj(value) or np.ndim(value) != 0:
        raise TypeError(f"{name} must be {allowed}, got {_describe(value)}")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {allowed}, got {_describe(value)}") from None


def _describe(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"an array of shape {value.shape} and type {getattr(value, 'dtype', '?')}"
    return f"{value!r} ({type(value).__name__})"
