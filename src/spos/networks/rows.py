"""The rows of a table on their way into a network.

Equal rows become one that counts for all of them. That is the same posterior, cheaper, it makes a
weight of 2 the same as a second row to the last bit, and it keeps twins from sitting on both sides
of the split into a training and a validation set.

Programs are compiled for a number of rows and of columns. So that there are few such numbers, all
the folds of a cross-validation have the same: a table is filled up to a round number of rows with
rows of its own, each of which then counts for less, and to a round number of columns with zeros.
The first costs nothing, since a step sees a minibatch.
"""

from typing import NamedTuple

import numpy as np

from spos.networks.plain import Scaling, bend

__all__ = ["Rows", "Scaling"]

FEWEST_TO_SPLIT = 50  # rows; below, all of them are for training
MOST_FOR_VALIDATION = 500
TAILS = 0.01  # share of a column's values, at either end, that do not tell its scale
X_LIMIT = 4.0  # units from which on an input grows like a logarithm
POWERS = np.linspace(0.0, 2.0, 41)
BEYOND = 0.25  # of the range of outcomes, that a mean may look at beyond them

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


def scaled(scaling: Scaling, rows: Rows, numbers: bool) -> Rows:
    """In the networks' units; `numbers` says that y is one too, and not a class."""
    y = scaling.targets(rows.y) if numbers else rows.y.astype(np.int32)
    weights = None if rows.weights is None else rows.weights.astype(np.float32)
    return Rows(scaling.inputs(rows.x), y, weights)


def merged(rows: Rows) -> Rows:
    """Each different row once, in an order that depends on their values alone."""
    table = np.ascontiguousarray(np.column_stack([rows.x, rows.y])) + 0.0  # -0 is 0
    as_bytes = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, which = np.unique(as_bytes, return_index=True, return_inverse=True)
    counts = np.bincount(which.ravel(), rows.weights, len(first))
    return Rows(rows.x[first], rows.y[first], counts)


def pad_rows(array: np.ndarray, fewest: int = 0) -> np.ndarray:
    """The array with zeros below, up to a round number of rows, at least that of `fewest`."""
    missing = round_rows(max(len(array), fewest)) - len(array)
    return np.concatenate([array, np.zeros((missing, *array.shape[1:]), array.dtype)])


def round_rows(count: int) -> int:
    """64 times a power of four, and from 16,384 on a power of two."""
    bits = max(6, (count - 1).bit_length())
    return 1 << (bits if bits > 14 else bits + bits % 2)


def pad_columns(x: np.ndarray) -> np.ndarray:
    """Inputs with columns of zeros, up to a round number."""
    missing = round_columns(x.shape[1]) - x.shape[1]
    return np.concatenate([x, np.zeros((len(x), missing), x.dtype)], axis=1) if missing else x


def round_columns(count: int) -> int:
    """A power of two from 8 on, or one and a half of it."""
    power = 1 << max(3, (count - 1).bit_length())
    return power if power == 8 or count > 3 * power // 4 else 3 * power // 4


def padded(rows: Rows, fewest: int = 0) -> Rows:
    """The same posterior with a round number of rows, at least that of `fewest`: rows come again
    and count for less."""
    count = len(rows.y)
    again = np.arange(round_rows(max(count, fewest))) % count
    weights = np.ones(count) if rows.weights is None else rows.weights
    shared = weights / np.bincount(again)
    return Rows(rows.x[again], rows.y[again], shared[again].astype(np.float32))


def num_apart(count: int, fraction: float) -> int:
    """How many of so many rows are for validation."""
    return min(MOST_FOR_VALIDATION, round(fraction * count)) if count >= FEWEST_TO_SPLIT else 0


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
    order, apart = rng.permutation(count), num_apart(count, fraction)
    if apart == 0:
        return rows.take(order), None
    return rows.take(order[apart:]), rows.take(order[:apart])


def scaling_of(
    rows: Rows, numbers: bool, *, robust: bool = False, transform: bool = False
) -> Scaling:
    """By mean and standard deviation of the training set.

    Args:
        rows: the training set.
        numbers: y are numbers too, and not classes.
        robust: the ends of a column do not tell its scale, and outliers in it are drawn near.
        transform: bend y by the power that makes it most like a Gaussian.

    Returns:
        The networks' units.
    """
    x = _without_ends(rows.x, rows.weights) if robust else rows.x
    x_centre, x_unit = _centre_and_unit(x, rows.weights, constant=np.inf)
    limit = X_LIMIT if robust else np.inf
    if not numbers:
        return Scaling(x_centre, x_unit, limit)
    if not transform:
        centre, unit = _centre_and_unit(rows.y, rows.weights, constant=1.0)
        return Scaling(x_centre, x_unit, limit, centre, unit)
    columns = rows.y if rows.y.ndim > 1 else rows.y[:, None]
    found = [_bent(column, rows.weights) for column in columns.T]
    fields = np.asarray(found).T
    if rows.y.ndim == 1:
        fields = fields[:, 0]
    return Scaling(x_centre, x_unit, limit, *fields)


def _bent(y: np.ndarray, weights: np.ndarray | None) -> tuple[float, ...]:
    """The fields of a `Scaling` for one outcome, by the likelihood of a Gaussian behind the bend.

    Outcomes that are never negative may bend around zero, others bend around their mean.
    """
    centre, unit = _centre_and_unit(y, weights, constant=1.0)
    around = [(float(centre), float(unit))]
    if y.min() >= 0.0 and (y > 0).any():
        around += [(0.0, float(scale)) for scale in np.quantile(y[y > 0], [0.05, 0.5])]
    best: tuple[float, ...] = ()
    highest = -np.inf
    for origin, scale in around:
        z = (y - origin) / scale
        slopes = np.average(np.sign(z) * np.log1p(np.abs(z)), weights=weights)
        for power in POWERS:
            t = bend(z, power)
            middle, width = (float(v) for v in _centre_and_unit(t, weights, constant=1.0))
            likelihood = (power - 1.0) * slopes - np.log(width) - np.log(scale)
            if likelihood > highest:
                low, high = (float(end - middle) / width for end in (t.min(), t.max()))
                room = BEYOND * (high - low)
                highest = likelihood
                best = (middle, width, power, origin, scale, low - room, high + room)
    return best


def _without_ends(x: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Columns clipped to their quantiles, but for those that would be constant then."""
    ends = [TAILS, 1.0 - TAILS]
    low, high = np.quantile(x, ends, 0, weights=weights, method="inverted_cdf")
    clipped: np.ndarray = np.where(low < high, np.clip(x, low, high), x)
    return clipped


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
