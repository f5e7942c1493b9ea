"""Names for the numbers inside a pytree, as a person would write them."""

from typing import Any

import jax
import numpy as np

from spos.types import PyTree


def leaf_name(path: tuple[Any, ...], root: str = "theta") -> str:
    """`{"w": {"b": …}}` → `w.b`; a bare array is called `root`."""
    return jax.tree_util.keystr(path, simple=True, separator=".") or root


def entry_name(path: tuple[Any, ...], index: Any) -> str:
    """One number inside a leaf: `w.b[3, 1]`."""
    inside = ", ".join(str(int(i)) for i in index)
    return leaf_name(path) + (f"[{inside}]" if inside else "")


def parameters(tree: PyTree) -> tuple[list[str], np.ndarray]:
    """All numbers of a particle as the columns of one matrix, with their names."""
    names, columns = [], []
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        values = np.asarray(leaf, np.float64)
        names += [entry_name(path, index) for index in np.ndindex(values.shape[1:])]
        columns.append(values.reshape(len(values), -1))
    return names, np.concatenate(columns, axis=1)
