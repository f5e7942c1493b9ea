"""The rows of a table on their way into a network.

Equal rows become one that counts for all of them. That is the same posterior, cheaper, it makes a
weight of 2 the same as a second row to the last bit, and it keeps twins from sitting on both sides
of the split into rows to learn from and rows to judge by.

Programs are compiled for a number of rows. So that there are few such numbers, tables are filled up
to a round one with rows that count for nothing: at most an eighth more, or 64 in all.
"""

from typing import NamedTuple

import numpy as np

FEWEST_ROOM = 64
FEWEST_TO_SPLIT = 50  # rows; below, all of them are learnt from
MOST_HELD_OUT = 500


class Rows(NamedTuple):
    """`weights` say how often each row counts."""

    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    def take(self, chosen: np.ndarray) -> "Rows":
        return Rows(self.x[chosen], self.y[chosen], self.weights[chosen])


class Scaling(NamedTuple):
    """Where the rows that were learnt from lie, and how far they reach."""

    x_centre: np.ndarray
    x_unit: np.ndarray
    y_centre: float = 0.0
    y_unit: float = 1.0

    def inputs(self, x: np.ndarray) -> np.ndarray:
        return ((x - self.x_centre) / self.x_unit).astype(np.float32)

    def targets(self, y: np.ndarray) -> np.ndarray:
        return ((y - self.y_centre) / self.y_unit).astype(np.float32)


def merged(rows: Rows) -> Rows:
    """Each different row once, in an order that depends on their values alone."""
    table = np.ascontiguousarray(np.column_stack([rows.x, rows.y])) + 0.0  # -0 is 0
    as_bytes = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, which = np.unique(as_bytes, return_index=True, return_inverse=True)
    counts = np.bincount(which.ravel(), rows.weights, len(first))
    return Rows(rows.x[first], rows.y[first], counts)


def with_room(array: np.ndarray) -> np.ndarray:
    """Filled up with zeros to a round number of rows."""
    count = len(array)
    unit = 1 << max(0, (count - 1).bit_length() - 4)  # eight round numbers between powers of two
    room = max(FEWEST_ROOM, -(-count // unit) * unit)
    return np.concatenate([array, np.zeros((room - count, *array.shape[1:]), array.dtype)])


def split(rows: Rows, share: float, rng: np.random.RandomState) -> tuple[Rows, Rows | None]:
    """Rows to learn from, in random order, and rows to judge by, if there are enough."""
    count = len(rows.y)
    order = rng.permutation(count)
    held_out = min(MOST_HELD_OUT, round(share * count)) if count >= FEWEST_TO_SPLIT else 0
    if held_out == 0:
        return rows.take(order), None
    return rows.take(order[held_out:]), rows.take(order[:held_out])


def scaling_of(rows: Rows, numbers: bool) -> Scaling:
    """By mean and standard deviation; `numbers` says that y is one too, and not a class."""
    x_centre, x_unit = _centre_and_unit(rows.x, rows.weights)
    if not numbers:
        return Scaling(x_centre, x_unit)
    y_centre, y_unit = _centre_and_unit(rows.y, rows.weights)
    return Scaling(x_centre, x_unit, float(y_centre), float(y_unit))


def _centre_and_unit(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centre = np.average(values, axis=0, weights=weights)
    unit = np.sqrt(np.average((values - centre) ** 2, axis=0, weights=weights))
    constant = unit <= 10.0 * np.finfo(np.float64).eps * np.abs(centre)
    return centre, np.where(constant, 1.0, unit)
