"""Averages over a few independent runs, with intervals by bootstrap.

    mean                   all runs
    median                 half of the runs are above
    interquartile mean     the mean of the middle half: one lucky or lost run in four cannot move it

An interval is that of the 2.5 % and 97.5 % quantiles of the average over draws with replacement
from the runs. With twenty runs it is a little too narrow, as all bootstrap intervals are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

DRAWS = 10_000
LEVEL = 0.95

Average = Callable[[np.ndarray], np.ndarray]  # over the last axis


def mean(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.mean(values, axis=-1))


def median(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.median(values, axis=-1))


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """The mean of the middle half; where a quarter is no whole number, runs at its edge count in
    part."""
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    edges = np.arange(count + 1)
    inside = np.clip(edges, count / 4, 3 * count / 4)
    return np.asarray(ordered @ (np.diff(inside) / (count / 2)))


class Interval(NamedTuple):
    """An average and where it may well be."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.0f} [{self.low:.0f}, {self.high:.0f}]"


def interval(values: Any, average: Average = mean) -> Interval:
    """The average of some runs with its interval; one run has none.

    Args:
        values: a number a run.
        average: one of the above.
    """
    runs = np.asarray(values, np.float64)
    if len(runs) < 2:
        return Interval(float(average(runs)), float("nan"), float("nan"))
    drawn = np.random.default_rng(0).integers(len(runs), size=(DRAWS, len(runs)))
    low, high = np.quantile(average(runs[drawn]), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(average(runs)), float(low), float(high))
