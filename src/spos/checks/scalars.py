"""Numbers, choices, keys and paths."""

import math
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

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
            f"{name} must be {allowed}, got {value!r}, which {default_float()} holds as {held}: "
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
            f"{name} must be a number in [0, 1), got {value!r}, which {default_float()} holds as "
            f"1: {WIDER}"
        )
    return number


def whole(name: str, value: Any, *, at_least: int = 1, below: float = math.inf) -> int:
    """An integer of at least `at_least` and less than `below`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number, got {described(value)}")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value}")
    if value >= below:
        raise ValueError(f"{name} must be below {below}, got {value}")
    return int(value)


def switch(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {described(value)}")
    return bool(value)


def wholes(name: str, values: Any) -> tuple[int, ...]:
    """Several whole numbers of at least 1, or none."""
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be whole numbers, one after another, got {described(values)}")
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
            f"{name} must be a key of JAX, such as jax.random.key(0), got {described(value)}"
        )
    if typed and shape != ():
        raise ValueError(f"{name} must be one key, got an array of shape {shape}")
    return value


def function(name: str, value: Any) -> Any:
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {described(value)}")
    return value


def as_path(name: str, value: Any, what: str = "a file") -> Path:
    """What can be the name of a file."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must name {what}, got {described(value)}")
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


def real(name: str, value: Any, allowed: str = "a number") -> float:
    """A real number, which may be infinite or NaN."""
    wrong = TypeError(f"{name} must be {allowed}, got {described(value)}")
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
        return float(np.asarray(number).astype(default_float()))


def default_float() -> np.dtype[Any]:
    return np.dtype(jnp.result_type(float))


def described(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"an array of shape {value.shape} and type {getattr(value, 'dtype', '?')}"
    shown = repr(value)
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
    return f"{shown} ({type(value).__name__})"
