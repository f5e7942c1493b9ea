"""A short name for the code of functions, by which a changed function is known.

A function is its instructions and what they work with: constants, defaults, what it closes over and
the globals that it reads. Numbers, texts and arrays among these count by their value, functions by
their code, classes by their methods, and tuples, lists, dicts and dataclasses by what is in them.
All else (modules, other objects) has no name that would be the same in the next process, and does
not count; nor does what the function itself writes to, such as a counter. What installed packages
bring goes by its name and by what it closes over, so that a newer version of a package is not
another run by itself.
"""

import dataclasses
import dis
import functools
import hashlib
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.io.archive import digest
from spos.values import Value, fields

LABEL = f"code under Python {sys.version_info.major}.{sys.version_info.minor}"
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
ARRAYS = (np.ndarray, np.generic, jax.Array)
INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def code_of(value: Any) -> str:
    """A short name for the code of all functions in a value; its own numbers do not count."""
    hasher, seen = hashlib.sha256(), dict[int, Any]()
    for function in _functions(value):
        _add(hasher, function, seen)
    return hasher.hexdigest()[:16]


def _functions(one: Any) -> Iterator[Any]:
    if isinstance(one, jax.tree_util.Partial):  # its numbers are leaves of the value
        yield from _functions(one.func)
        for each in (*one.args, *one.keywords.values()):
            yield from _functions(each)
    elif isinstance(one, Value):
        yield type(one)
        for each in fields(one).values():
            yield from _functions(each)
    elif isinstance(one, tuple | list):
        for each in one:
            yield from _functions(each)
    elif callable(one) or dataclasses.is_dataclass(one):
        yield one


def _add(hasher: Any, one: Any, seen: dict[int, Any]) -> None:
    """Take in one thing that a function works with, and all that it consists of."""
    if isinstance(one, PLAIN):
        hasher.update(repr(one).encode("utf-8", "backslashreplace"))
    elif isinstance(one, ARRAYS):
        hasher.update(_numbers(one))
    elif id(one) not in seen:
        seen[id(one)] = one  # kept: the place of what is thrown away may be taken by another
        for each in _parts(one):
            _add(hasher, each, seen)


def _parts(one: Any) -> Iterator[Any]:
    if isinstance(one, FunctionType):
        yield from _of_function(one)
    elif isinstance(one, CodeType):
        yield from (one.co_code, one.co_names, one.co_varnames, one.co_consts)
    elif isinstance(one, MethodType):
        yield from (one.__func__, one.__self__)
    elif isinstance(one, functools.partial):
        yield from (one.func, one.args, one.keywords)
    elif isinstance(one, Mapping):
        yield from (each for pair in one.items() for each in pair)
    elif isinstance(one, tuple | list):
        yield from one
    elif isinstance(one, frozenset):  # a constant of `x in {…}`, in no order
        yield from sorted(repr(each) for each in one if isinstance(each, PLAIN))
    elif isinstance(one, type):
        yield one.__qualname__
        if not _installed(one):
            yield from (each for each in vars(one).values() if isinstance(each, FunctionType))
            yield one.__bases__
    else:
        yield from _of_object(one)


def _of_function(one: FunctionType) -> Iterator[Any]:
    code = one.__code__
    written = {name for does, name in _names(code) if does in ("STORE_GLOBAL", "STORE_DEREF")}
    yield from (one.__defaults__, one.__kwdefaults__)
    for name, cell in zip(code.co_freevars, one.__closure__ or (), strict=True):
        if name not in written:
            yield from _content(cell)
    if _installed(one):
        yield one.__qualname__
        return
    yield code
    for name in sorted({name for does, name in _names(code) if does == "LOAD_GLOBAL"} - written):
        held = one.__globals__.get(name)
        # a list or a dict that the whole module sees may be filled by anybody
        if isinstance(held, (*PLAIN, *ARRAYS, tuple)) or (
            isinstance(held, FunctionType) and held.__module__ == one.__module__
        ):
            yield held


def _of_object(one: Any) -> Iterator[Any]:
    if hasattr(one, "__wrapped__"):  # as `jax.jit` and decorators leave it
        yield one.__wrapped__
        return
    yield type(one)
    if dataclasses.is_dataclass(one):
        yield from (getattr(one, field.name, None) for field in dataclasses.fields(one))


def _installed(one: Any) -> bool:
    """Is it a package's, not the user's?"""
    name = one.__module__ or ""
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return name.split(".")[0] in ("spos", "builtins") or file.startswith(INSTALLED)


def _names(code: CodeType) -> Iterator[tuple[str, Any]]:
    """What is done to which name, also by the functions inside."""
    yield from ((each.opname, each.argval) for each in dis.get_instructions(code))
    for inside in code.co_consts:
        if isinstance(inside, CodeType):
            yield from _names(inside)


def _content(cell: Any) -> Iterator[Any]:
    try:
        yield cell.cell_contents
    except ValueError:  # empty
        return


def _numbers(array: Any) -> bytes:
    if isinstance(array, jax.core.Tracer) or not getattr(array, "is_fully_addressable", True):
        return b""
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    array = np.asarray(array)
    return b"" if array.dtype.hasobject else digest({"": array})
