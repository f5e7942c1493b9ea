"""The rows of a table on their way into a network.

Equal rows become one that counts for all of them. That is the same posterior, cheaper, it makes a
weight of 2 the same as a second row to the last bit, and it keeps twins from sitting on both sides
of the split into a training and a validation set.

Programs are compiled for a number of rows. So that there are few such numbers, tables are padded to
a round one with rows that count for nothing: at most an eighth more, or 64 in all.
"""

from typing import Any, NamedTuple

import numpy as np

FEWEST_PADDED = 64
FEWEST_TO_SPLIT = 50  # rows; below, all of them are for training
MOST_FOR_VALIDATION = 500

Random = np.random.RandomState | np.random.Generator


class Rows(NamedTuple):
    """Inputs and what was observed; `weights` say how often each row counts, once if None."""

    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None

    def take(self, chosen: np.ndarray) -> "Rows":
        weights = None if self.weights is None else self.weights[chosen]
        return Rows(self.x[chosen], self.y[chosen], weights)

    def counted(self, times: float) -> "Rows":
        """The same rows, each as if it came so many times."""
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        return self._replace(weights=times * weights)

    @property
    def total(self) -> float:
        """For how many rows they count."""
        return float(len(self.y) if self.weights is None else self.weights.sum(dtype=np.float64))


class Scaling(NamedTuple):
    """Mean and standard deviation of the training set: the networks' units.

    The unit of an input that never varied is infinite: nothing is known of what another value of it
    would do, so that it is left out of account.
    """

    x_centre: np.ndarray
    x_unit: np.ndarray
    y_centre: float = 0.0
    y_unit: float = 1.0

    def inputs(self, x: np.ndarray) -> np.ndarray:
        return _in_units("X", x, self.x_centre, self.x_unit)

    def targets(self, y: np.ndarray) -> np.ndarray:
        return _in_units("y", y, self.y_centre, self.y_unit)

    def rows(self, rows: Rows, numbers: bool) -> Rows:
        """In the networks' units; `numbers` says that y is one too, and not a class."""
        y = self.targets(rows.y) if numbers else rows.y.astype(np.int32)
        weights = None if rows.weights is None else rows.weights.astype(np.float32)
        return Rows(self.inputs(rows.x), y, weights)


def merged(rows: Rows) -> Rows:
    """Each different row once, in an order that depends on their values alone."""
    table = np.ascontiguousarray(np.column_stack([rows.x, rows.y])) + 0.0  # -0 is 0
    as_bytes = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, which = np.unique(as_bytes, return_index=True, return_inverse=True)
    counts = np.bincount(which.ravel(), rows.weights, len(first))
    return Rows(rows.x[first], rows.y[first], counts)


def pad_rows(array: np.ndarray) -> np.ndarray:
    """The array with zeros below, up to a round number of rows."""
    count = len(array)
    unit = 1 << max(0, (count - 1).bit_length() - 4)  # eight round numbers between powers of two
    padded = max(FEWEST_PADDED, -(-count // unit) * unit)
    return np.concatenate([array, np.zeros((padded - count, *array.shape[1:]), array.dtype)])


def padded(rows: Rows) -> Rows:
    """The same posterior with a round number of rows: those that are added count 0 times."""
    weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    return Rows(pad_rows(rows.x), pad_rows(rows.y), pad_rows(weights.astype(np.float32)))


def split(rows: Rows, fraction: float, rng: Random) -> tuple[Rows, Rows | None]:
    """A training set in random order, and a validation set if there are rows enough.

    Args:
        rows: all of them.
        fraction: of the rows that are for validation, `MOST_FOR_VALIDATION` at most.
        rng: shuffles.

    Returns:
        Training and validation set; None if that is empty.
    """
    count = len(rows.y)
    order = rng.permutation(count)
    apart = 0
    if count >= FEWEST_TO_SPLIT:
        apart = min(MOST_FOR_VALIDATION, round(fraction * count))
    if apart == 0:
        return rows.take(order), None
    return rows.take(order[apart:]), rows.take(order[:apart])


def scaling_of(rows: Rows, numbers: bool) -> Scaling:
    """By mean and standard deviation; `numbers` says that y is one too, and not a class."""
    x_centre, x_unit = _centre_and_unit(rows.x, rows.weights, constant=np.inf)
    if not numbers:
        return Scaling(x_centre, x_unit)
    y_centre, y_unit = _centre_and_unit(rows.y, rows.weights, constant=1.0)
    return Scaling(x_centre, x_unit, float(y_centre), float(y_unit))


def _centre_and_unit(
    values: np.ndarray, weights: np.ndarray | None, constant: float
) -> tuple[np.ndarray, np.ndarray]:
    # by a power of 2, which costs no digit: squares of 1e300 and of 1e-300 are not numbers
    _, power = np.frexp(np.max(np.abs(values), axis=0))
    values = np.ldexp(values, -power)
    centre = np.average(values, axis=0, weights=weights)
    unit = np.sqrt(np.average((values - centre) ** 2, axis=0, weights=weights))
    still = unit <= 10.0 * np.finfo(np.float64).eps * np.abs(centre)
    return np.ldexp(centre, power), np.where(still, constant, np.ldexp(unit, power))


def _in_units(name: str, values: np.ndarray, centre: Any, unit: Any) -> np.ndarray:
    with np.errstate(over="ignore"):
        scaled: np.ndarray = ((values - centre) / unit).astype(np.float32)
    if not np.isfinite(scaled).all():
        place = tuple(int(n) for n in np.argwhere(~np.isfinite(scaled))[0])
        raise ValueError(
            f"{name} must be nearer to the training set, got {values[place]} in row {place[0]}, "
            "which is too far away for float32"
        )
    return scaled
