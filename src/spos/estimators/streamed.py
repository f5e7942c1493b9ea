"""Tables that are read while a fit goes on: features larger than memory, outcomes in memory.

X may be a memory-mapped file of `LARGE` bytes or more, an array of h5py or zarr, or a class of
one's own with `len(X)` and `X[rows]`. All rows are looked at once, block by block, to see that they
are numbers; then minibatches are read ahead of the steps (`spos.targets.source`). What takes more
than a minibatch is taken from some of the rows, drawn at random: the scaling, the choice of the
noise, and what the fit is compared with. Equal rows are not merged, and memory-mapped files that
are smaller than `LARGE` are arrays like others, since joblib makes such files of them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_y

from spos import checks
from spos.estimators.validation import validated
from spos.networks import rows as in_memory
from spos.networks.rows import Random, Rows, Scaling, pad_columns, scaled

LARGE = 2**28  # bytes
BLOCK = 2**24  # bytes that are looked at at once
SOME = 20_000  # rows that stand for all


def is_source(X: Any) -> bool:
    """Is this a table to be read from, and not one in memory?"""
    if isinstance(X, np.memmap):
        return X.nbytes >= LARGE
    in_memory = isinstance(X, Sequence) or any(
        hasattr(X, name) for name in ("__dlpack__", "to_numpy", "toarray")
    )
    return not in_memory and hasattr(X, "__getitem__") and hasattr(X, "__len__")


class Inputs:
    """Features that are read by their row numbers.

    Args:
        source: what a user gave as X.
        without: rows that are left out, in increasing order.
        scaling: the networks' units; None reads numbers as they are.
    """

    def __init__(
        self, source: Any, without: np.ndarray | None = None, scaling: Scaling | None = None
    ) -> None:
        self.source, self.scaling = source, scaling
        self.without = np.empty(0, np.int64) if without is None else without
        # the rows that are left stand before the first, second, … that is left out
        self._before = self.without - np.arange(len(self.without))

    def __len__(self) -> int:
        return len(self.source) - len(self.without)

    def __getitem__(self, rows: Any) -> np.ndarray:
        places = np.asarray(rows)
        places = places + np.searchsorted(self._before, places, side="right")
        wanted, back = np.unique(places, return_inverse=True)  # files like an order
        found = np.asarray(self.source[wanted])
        if len(found) != len(wanted):
            raise ValueError(f"X must give a row for each of {len(wanted)}, got {len(found)}")
        found = found[back]
        return found if self.scaling is None else pad_columns(self.scaling.inputs(found))

    def scaled(self, scaling: Scaling) -> "Inputs":
        """The same in the networks' units."""
        return Inputs(self.source, self.without, scaling)


def rows_of(model: Any, X: Any, y: Any, sample_weight: Any, fresh: bool, known: bool) -> Rows:
    """The rows of an estimator, of which X stays where it is, after a look at all of it."""
    checks.no_mask("y", y)
    y = _check_y(np.asarray(y), multi_output=model._numbers, y_numeric=model._numbers)
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if not len(X) == len(y) == len(weights):
        raise ValueError(
            f"X, y and sample_weight must have as many rows, got {len(X)}, {len(y)} and "
            f"{len(weights)}"
        )
    if not (weights >= 0).all() or not weights.any():
        raise ValueError("sample_weight must be at least 0, and above 0 for at least one row")
    for block in _blocks(X):
        validated(model, block, reset=fresh)
        fresh = False
    inputs: Any = Inputs(X)
    return Rows(inputs, model._encode(y, known), model._class_weights(y, weights))


def scaled_rows(model: Any, rows: Rows) -> Rows:
    """In the networks' units, features when they are read."""
    inputs: Any = rows.x
    found = scaled(model.scaling_, rows._replace(x=inputs[np.arange(1)]), model._numbers)
    return found._replace(x=inputs.scaled(model.scaling_))


def _blocks(X: Any) -> Iterator[np.ndarray]:
    whole, total = Inputs(X), len(X)
    room = max(1, BLOCK // max(1, whole[np.arange(1)].nbytes)) if total else 1
    for begin in range(0, total, room):
        yield whole[np.arange(begin, min(begin + room, total))]


def some(rows: Rows, rng: Random) -> Rows:
    """Rows in memory that stand for all of these; themselves, where they are."""
    if not isinstance(rows.x, Inputs):
        return rows
    count = len(rows.y)
    chosen = np.sort(_distinct(rng, count, min(count, SOME)))
    return rows.take(chosen)._replace(x=np.asarray(rows.x[chosen], np.float64))


def split(rows: Rows, fraction: float, rng: Random) -> tuple[Rows, Rows | None]:
    """A training set and a validation set, as `spos.networks.rows.split` has them; of a table that
    is read, the second is in memory."""
    if not isinstance(rows.x, Inputs):
        return in_memory.split(rows, fraction, rng)
    count = len(rows.y)
    apart = in_memory.num_apart(count, fraction)
    if apart == 0:
        return rows, None
    chosen = np.sort(_distinct(rng, count, apart))
    validation = rows.take(chosen)._replace(x=np.asarray(rows.x[chosen], np.float64))
    inputs: Any = Inputs(rows.x.source, chosen)
    weights = None if rows.weights is None else np.delete(rows.weights, chosen)
    return Rows(inputs, np.delete(rows.y, chosen, axis=0), weights), validation


def _distinct(rng: Any, count: int, most: int) -> np.ndarray:
    """Different row numbers, without a shuffle of all."""
    found = np.empty(0, np.int64)
    while len(found) < most:
        more = rng.randint(count, size=2 * most)
        found = np.unique(np.concatenate([found, more]))
    chosen: np.ndarray = rng.permutation(found)[:most]
    return chosen
