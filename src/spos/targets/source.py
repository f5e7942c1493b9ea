"""Data that are read while a run goes on: larger than memory, or made elsewhere.

**Random access** (`random_access.py`): a pytree of things with `len(thing)` and `thing[rows]`, such
as NumPy memmaps, arrays of zarr or h5py, a data set of Hugging Face, or a class of one's own whose
`[rows]` gives a pytree of arrays. The rows of a step remain a function of seed and step, as for
data in memory.

**A stream** (`stream.py`): anything that can be iterated for batches, such as the loaders of torch
or grain. It decides itself which rows come; each batch counts for all the data.

A source is a static part of its posterior, without leaves. Compiled programs never see it: they get
`detached(sampler)`, which knows the form of a row and the number of rows, and batches that were
read on the host.
"""

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.names import leaf_name
from spos.types import PyTree

T = TypeVar("T")


class Form(NamedTuple):
    """The form of one row: hashable, so that it can be static."""

    structure: Any
    leaves: tuple[jax.ShapeDtypeStruct, ...]

    @classmethod
    def of(cls, rows: PyTree) -> "Form":
        """That of each of these rows, in JAX's own types."""
        leaves, structure = jax.tree.flatten(checks.rows(rows))
        shapes = [jax.ShapeDtypeStruct(x.shape[1:], _type(x.dtype)) for x in leaves]
        return cls(structure, tuple(shapes))

    @property
    def nbytes(self) -> int:
        return sum(leaf.size * leaf.dtype.itemsize for leaf in self.leaves)

    def stack(self, *leading: int) -> PyTree:
        """The shapes of many rows."""
        shapes = [jax.ShapeDtypeStruct((*leading, *x.shape), x.dtype) for x in self.leaves]
        return jax.tree.unflatten(self.structure, shapes)

    def fit(self, found: PyTree, count: int) -> PyTree:
        """What was read, as so many rows of this form, or an error."""
        found = as_arrays(found)
        paths, structure = jax.tree_util.tree_flatten_with_path(found)
        if structure != self.structure:
            raise ValueError(
                f"data must give rows of one form, {self.structure}, got {structure} this time"
            )
        for (path, leaf), like in zip(paths, self.leaves, strict=True):
            name = leaf_name(path, root="the array")
            if leaf.shape[:1] != (count,):
                raise ValueError(
                    f"data[rows] must give a row for each of {count} row numbers, got "
                    f"{name} of shape {leaf.shape}"
                )
            if leaf.shape[1:] != like.shape or _type(leaf.dtype) != like.dtype:
                raise ValueError(
                    f"data must give rows of one form, {like.dtype}{list(like.shape)} for {name}, "
                    f"got {leaf.dtype}{list(leaf.shape[1:])} this time"
                )
        return found


@jax.tree_util.register_static
class Source:
    """What a program knows of a source; those that can be read are `RandomAccess` and `Stream`.

    Attributes:
        num_examples: N.
        form: of one row.
    """

    def __init__(self, num_examples: int, form: Form) -> None:
        self.num_examples, self.form = num_examples, form

    def __eq__(self, other: object) -> bool:
        if type(self) is not Source or type(other) is not Source:
            return self is other
        return (self.num_examples, self.form) == (other.num_examples, other.form)

    def __hash__(self) -> int:
        return hash((type(self), self.num_examples, self.form))

    def __repr__(self) -> str:
        rows = ", ".join(f"{leaf.dtype}{list(leaf.shape)}" for leaf in self.form.leaves)
        return f"<{type(self).__name__.lower()} of {self.num_examples} rows of {rows}>"


def source_of(value: PyTree) -> Source | None:
    """The source in a sampler or a target; None where all data are in memory."""
    found = (leaf for leaf in jax.tree.leaves(value, is_leaf=_is_source) if _is_source(leaf))
    return next(found, None)


def detached(value: T) -> T:
    """The same without the way to the data: what compiled programs are made from and kept by."""
    return jax.tree.map(
        lambda leaf: Source(leaf.num_examples, leaf.form) if _is_source(leaf) else leaf,
        value,
        is_leaf=_is_source,
    )


def as_arrays(rows: PyTree) -> PyTree:
    """Whatever holds rows as arrays of NumPy; a list of numbers is an array, too."""
    return jax.tree.map(np.asarray, rows, is_leaf=_is_list_of_numbers)


def _is_source(leaf: Any) -> bool:
    return isinstance(leaf, Source)


def _is_list_of_numbers(node: Any) -> bool:
    return isinstance(node, list) and not any(
        hasattr(item, "shape") or isinstance(item, dict | tuple) for item in node
    )


def _type(found: Any) -> Any:
    """That in which JAX holds it."""
    return jnp.dtype(jax.dtypes.canonicalize_dtype(found))
