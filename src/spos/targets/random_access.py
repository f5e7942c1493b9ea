"""Rows by their numbers, from files and from whatever has `len(thing)` and `thing[rows]`."""

import mmap
from typing import Any

import jax
import numpy as np

from spos.names import leaf_name
from spos.targets.source import Form, Source, as_arrays
from spos.types import PyTree

SLICE = 2**22  # bytes that are read from a memory-mapped file before its pages are let go
MOST = 2**31  # row numbers are 32-bit
LOOKED_AT = 8  # rows, when a source is made: they tell its form, and by them it is known


@jax.tree_util.register_static
class RandomAccess(Source):
    """Rows by their numbers.

    Args:
        tree: a pytree of things with `len(thing)` and `thing[rows]`.

    Attributes:
        seen: the numbers of some rows.
        examples: those rows.
    """

    def __init__(self, tree: PyTree) -> None:
        sizes = {
            leaf_name(path, root="the source"): len(leaf)
            for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
        }
        total = next(iter(sizes.values()))
        if len(set(sizes.values())) > 1:
            raise ValueError(f"data: all parts must have equally many rows, got {sizes}")
        if not 0 < total < MOST:
            raise ValueError(f"data must have at least 1 row and fewer than 2^31, got {total}")
        self.tree = tree
        self.seen = np.unique(np.linspace(0, total - 1, LOOKED_AT).astype(np.int64))
        try:
            self.examples = self._read(self.seen)
        except (TypeError, IndexError) as error:
            raise TypeError(
                f"data must give rows for an array of row numbers, data[rows], got {error!r}"
            ) from error
        super().__init__(total, Form.of(self.examples))
        self.form.fit(self.examples, len(self.seen))

    def take(self, rows: np.ndarray) -> PyTree:
        """These rows, in this order; further axes of `rows` stay."""
        found = self.form.fit(self._read(rows.ravel()), rows.size)
        return jax.tree.map(lambda leaf: leaf.reshape(*rows.shape, *leaf.shape[1:]), found)

    def _read(self, rows: np.ndarray) -> PyTree:
        return as_arrays(jax.tree.map(lambda leaf: _rows_of(leaf, rows), self.tree))


def _rows_of(leaf: Any, rows: np.ndarray) -> PyTree:
    if isinstance(leaf, np.memmap):
        return _from_file(leaf, rows)
    if isinstance(leaf, np.ndarray):
        return leaf[rows]
    # in increasing order and each once: h5py insists on it, and every disk likes it
    wanted, places = np.unique(rows, return_inverse=True)
    found = as_arrays(leaf[wanted])
    if len(wanted) == len(rows) and (wanted == rows).all():
        return found
    return jax.tree.map(
        lambda array: array[places] if array.shape[:1] == wanted.shape else array, found
    )


def _from_file(leaf: np.memmap, rows: np.ndarray) -> np.ndarray:
    """Rows of a memory-mapped file, which stays out of the resident memory."""
    found = np.empty((len(rows), *leaf.shape[1:]), leaf.dtype)
    step = max(1, SLICE // max(1, found[:1].nbytes))
    shared = leaf.mode in ("r", "r+")  # pages of a copy ("c") may hold what is nowhere else
    mapped = getattr(leaf, "_mmap", None) if shared else None
    for begin in range(0, len(rows), step):
        found[begin : begin + step] = leaf[rows[begin : begin + step]]
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)
    return found
