"""Distances between laws of one particle, with what chance alone would give."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spos_experiments.frame.experiment import Estimate
from spos_experiments.paper.theory.densities import Density

BLOCKS, BINS = 20, 200
ABOVE_FLOOR = 3.0  # a distance counts where it is so many times what chance alone would give


class Law(NamedTuple):
    """Averages of a sorted sample over bins of equal mass, one row for each block of repeats."""

    rows: np.ndarray

    @classmethod
    def of(cls, samples: np.ndarray) -> "Law":
        """Of samples whose first axis are the repeats."""
        size = len(samples) // BLOCKS
        blocks = samples[: size * BLOCKS].reshape(BLOCKS, -1).astype(np.float64)
        # a block smaller than the bins has each of its values in several of them
        blocks = np.repeat(np.sort(blocks, axis=1), -(-BINS // blocks.shape[1]), axis=1)
        edges = np.linspace(0, blocks.shape[1], BINS + 1).round().astype(int)[:-1]
        return cls(np.add.reduceat(blocks, edges, axis=1) / np.diff([*edges, blocks.shape[1]]))

    def even(self) -> "Law":
        """Each point counted together with its mirror image."""
        return Law((self.rows - self.rows[:, ::-1]) / 2)

    @classmethod
    def exact(cls, density: Density, fine: int = 50) -> "Law":
        u = (np.arange(BINS * fine) + 0.5) / (BINS * fine)
        return cls(density.quantile(u).reshape(1, BINS, fine).mean(2))


class Distance(NamedTuple):
    """W1 of two laws, its standard error, and what chance would give if they were the same."""

    mean: float
    se: float
    floor: float

    @property
    def clear(self) -> bool:
        return self.mean > ABOVE_FLOOR * self.floor

    def __str__(self) -> str:
        return f"{self.mean:.2g} ± {self.se:.1g}"


def distance(a: Law, b: Law) -> Distance:
    here = gap(a.rows.mean(0), b.rows.mean(0))
    left_out = [[gap(rest, b.rows.mean(0)) for rest in without_one(a.rows)],
                [gap(a.rows.mean(0), rest) for rest in without_one(b.rows)]]  # fmt: skip
    noise = np.sqrt(sum(each.rows.var(0, ddof=1) / len(each.rows)
                        for each in (a, b) if len(each.rows) > 1))  # fmt: skip
    floor = math.sqrt(2 / math.pi) * float(np.mean(noise))  # E|z| of a normal z
    return Distance(here, math.hypot(*map(jackknife, left_out)), floor)


def gap(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).mean())


def without_one(rows: np.ndarray) -> list[np.ndarray]:
    if len(rows) == 1:
        return []
    return [np.delete(rows, n, axis=0).mean(0) for n in range(len(rows))]


def jackknife(left_out: Any) -> float:
    """The standard error of an estimate from those that leave out one block each."""
    values = np.asarray(left_out, float)
    return float(np.sqrt((len(values) - 1) * values.var())) if len(values) else 0.0


def slope(x: Sequence[float], y: Sequence[Any]) -> Estimate:
    """Of log y over log x, by least squares with weights; nan with fewer than three points."""
    if len(x) < 3:
        return Estimate(math.nan, math.nan)
    means = np.array([each.mean for each in y])
    weights = means / np.array([max(each.se, 1e-3 * each.mean) for each in y])
    design = np.stack([np.log(x), np.ones(len(x))], axis=1) * weights[:, None]
    values = np.log(means) * weights
    found = np.linalg.lstsq(design, values, rcond=None)[0]
    excess = float(np.sum((values - design @ found) ** 2)) / (len(x) - 2)
    se = math.sqrt(np.linalg.inv(design.T @ design)[0, 0] * max(1.0, excess))
    return Estimate(float(found[0]), se)
