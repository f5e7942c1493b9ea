"""A NumPyro model as a part of a value: its function, and the arguments that are not data.

Arrays among the arguments travel as data; sizes, switches and scalars are structure. Programs are
equal, and share what is compiled, when their function, their fixed arguments and the form of all
arguments are. A function may also read variables from outside, and these may change between two
calls: what tracing it computes, constants included, is therefore part of the comparison.
"""

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.primitives import Messenger

from spos import checks
from spos.adapters.model import Arguments
from spos.names import leaf_name
from spos.types import PyTree

NEEDS_NUMBERS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
_ADDRESS = re.compile(r"0x[0-9a-f]+")


class _Data:
    """Stands where an argument travels as data."""

    def __repr__(self) -> str:
        return "data"


DATA = _Data()


class Rows(Messenger):  # type: ignore[misc]
    """Gives each subsampled plate its rows, all of them unless told; `plates` remembers N and B."""

    def __init__(self, model: Any, rows: Mapping[str, jax.Array]) -> None:
        super().__init__(model)
        self.rows = rows
        self.plates: dict[str, tuple[int, int]] = {}

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] == "plate" and msg["value"] is None:
            self.plates[msg["name"]] = size, _ = msg["args"]
            rows = self.rows.get(msg["name"], jnp.arange(size))
            msg["value"], msg["args"] = rows, (size, len(rows))


@dataclass(frozen=True, eq=False)
class Program:
    """The model's function and its arguments, but for the data.

    Attributes:
        model: the function.
        structure: that of the pytree (args, kwargs).
        fixed: its leaves, with `DATA` where the data go.
        traced: a digest of what the function computes.
    """

    model: Any
    structure: Any
    fixed: tuple[Any, ...]
    traced: str = ""

    @classmethod
    def of(cls, model: Any, own: Arguments, travel: bool) -> tuple["Program", tuple[Any, ...]]:
        """The program and its data; without `travel` arrays are constants of the program."""
        leaves, structure = jax.tree.flatten(own)
        for leaf in leaves:
            checks.no_mask(f"arguments of {getattr(model, '__name__', 'the model')}", leaf)
        moves = [travel and _is_data(leaf) for leaf in leaves]
        fixed = tuple(DATA if m else leaf for m, leaf in zip(moves, leaves, strict=True))
        data = tuple(jnp.asarray(leaf) for m, leaf in zip(moves, leaves, strict=True) if m)
        return cls(model, structure, fixed), data

    @property
    def name(self) -> str:
        """The model in words."""
        return f"the NumPyro model {getattr(self.model, '__name__', type(self.model).__name__)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @functools.cached_property
    def _key(self) -> tuple[Any, ...]:
        # what cannot be hashed is compared by identity, and kept alive by this program
        return (
            *(_hashable(self.model), _hashable(self.structure), self.traced),
            *map(_hashable, self.fixed),
        )

    def with_trace(self, traced: Any) -> "Program":
        """The same program, known by what it computes, as `jax.make_jaxpr` shows it."""
        return replace(self, traced=_digest(traced))

    def arguments(self, data: tuple[Any, ...]) -> Arguments:
        """The model's own, with the data put back in their places."""
        moved = iter(data)
        leaves = [next(moved) if leaf is DATA else leaf for leaf in self.fixed]
        args, kwargs = jax.tree.unflatten(self.structure, leaves)
        return args, kwargs

    def seeded(self, key: Any, rows: Mapping[str, jax.Array]) -> Rows:
        """The model with random numbers and rows."""
        return Rows(handlers.seed(self.model, key), rows)

    def describe(self, data: tuple[Any, ...]) -> str:
        """The shapes of the arguments."""
        words = []
        for (group, *path), leaf in jax.tree_util.tree_leaves_with_path(self.arguments(data)):
            if hasattr(leaf, "shape"):
                place = "argument " if group.idx == 0 else ""
                words.append(f"{place}{leaf_name(tuple(path))} of shape {leaf.shape}")
        return f"with {', '.join(words)}" if words else "without arrays"


def _is_data(leaf: PyTree) -> bool:
    """Sizes and switches are for Python; arrays of numbers are data."""
    return (
        isinstance(leaf, np.ndarray | jax.Array)
        and leaf.ndim > 0
        and leaf.dtype.kind not in "OSUMm"
    )


def _hashable(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray | np.generic | jax.Array):
        array = np.asarray(leaf)
        if array.dtype.kind != "O":
            return array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest()
    try:
        hash(leaf)
    except TypeError:
        return type(leaf), id(leaf)
    return type(leaf), leaf


def _digest(traced: Any) -> str:
    """Of the program's text and of all constants in it."""
    sha = hashlib.sha256(_ADDRESS.sub("", str(traced)).encode())
    for constant in _constants(traced):
        if jnp.issubdtype(constant.dtype, jax.dtypes.prng_key):
            constant = jax.random.key_data(constant)
        sha.update(np.asarray(constant).tobytes())
    return sha.hexdigest()


def _constants(traced: Any) -> Iterator[Any]:
    """The arrays of a program and of all programs inside it."""
    yield from (each for each in getattr(traced, "consts", ()) if hasattr(each, "dtype"))
    for equation in getattr(traced, "jaxpr", traced).eqns:
        for given in equation.invars:
            if np.ndim(value := getattr(given, "val", 0)):  # a literal, which the text cuts short
                yield value
        for inside in jax.tree.leaves(list(equation.params.values())):
            if hasattr(inside, "eqns") or hasattr(inside, "consts"):
                yield from _constants(inside)
