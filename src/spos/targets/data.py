"""What a user gives as data: arrays in memory, rows to be read, or batches that come."""

from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from spos import checks
from spos.targets.random_access import RandomAccess
from spos.targets.source import Source
from spos.targets.stream import Stream
from spos.types import PyTree


def as_data(data: PyTree, num_examples: int | None = None) -> PyTree:
    """Arrays in memory, or a source.

    Args:
        data: what a user has.
        num_examples: given for an iterable of batches.

    Returns:
        A pytree of arrays of JAX, a `RandomAccess` or a `Stream`.
    """
    if isinstance(data, Source):
        return data
    if num_examples is not None:
        return Stream(data, checks.whole("num_examples", num_examples))
    if isinstance(data, Iterable) and not (hasattr(data, "__getitem__") or _is_sparse(data)):
        raise TypeError(
            "num_examples must be given for an iterable of batches, which does not tell of how "
            f"many rows they are, got a {type(data).__name__} without it"
        )
    if any(_is_read(leaf) for leaf in jax.tree.leaves(data)):
        return RandomAccess(data)
    return checks.data(data)


def _is_sparse(data: Any) -> bool:
    """Of SciPy; it can be iterated over, but is refused as an array."""
    return hasattr(data, "toarray")


def _is_read(leaf: Any) -> bool:
    """Is this a thing to read rows from, and not an array (or a column of a table) in memory?"""
    if isinstance(leaf, np.memmap):
        return True
    if isinstance(leaf, np.ndarray | jax.Array | str | bytes) or hasattr(leaf, "to_numpy"):
        return False
    return hasattr(leaf, "__getitem__") and hasattr(leaf, "__len__")
