"""Are predictive intervals honest?

The probability integral transform of an outcome y is u = F(y), with
F the predictive distribution function. If F is the law of y, u is uniform. F is a mixture of equal
parts, one a particle:

    Gaussians N(m_s, v_s):    u = 1/S Σ_s Φ((y - m_s) / sqrt(v_s))
    draws:                    u = (number below y + U (1 + number equal to y)) / (S + 1)

with U uniform, so that a few draws from the law of y already give a uniform u exactly. The central
interval of level l holds y when |u - 1/2| ≤ l/2, and so it does in a share l of all cases. The
Kolmogorov-Smirnov test says how often chance alone is as far from uniform. It takes the u for
independent, which they are only nearly, as all predictions come from one training set.

References: Dawid, JRSS A 1984; Gneiting, Balabdaoui, Raftery, JRSS B 2007.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spos import checks
from spos.diagnostics.calibration.arrays import BY_CHANCE, explain_grey, finite, scipy_for
from spos.io import figures

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
SAID = (0.5, 0.9, 0.95)  # in words, if among the levels
SUSPICIOUS = 0.01  # p-value
BARS = 20


@dataclass(frozen=True)
class Coverage:
    """How many outcomes central intervals hold.

    Attributes:
        pit: the probability integral transform of every outcome.
        levels: the nominal levels of the intervals.
        observed: the shares of outcomes inside.
        statistic: of the Kolmogorov-Smirnov test.
        p_value: how often honest predictions have a `pit` as far from uniform.
    """

    pit: np.ndarray
    levels: np.ndarray
    observed: np.ndarray
    statistic: float
    p_value: float

    def __str__(self) -> str:
        pairs = list(zip(self.levels, self.observed, strict=True))
        shares = ", ".join(
            f"{level:.3g} hold {share:.3f}"
            for level, share in [pair for pair in pairs if pair[0] in SAID] or pairs
        )
        return (
            f"{len(self.pit)} outcomes; intervals of level {shares} of them. The transforms are "
            f"{self._verdict()} (Kolmogorov-Smirnov p-value {self.p_value:.2g})."
        )

    def _verdict(self) -> str:
        if self.p_value > SUSPICIOUS:
            return "as uniform as those of honest predictions"
        # in standard errors of uniform numbers: their mean, and their distance from the middle
        off, away = self.pit.mean() - 1 / 2, np.abs(self.pit - 1 / 2).mean() - 1 / 4
        if abs(off) > 2 * abs(away):
            return f"not uniform: predictions are too {'low' if off > 0 else 'high'}"
        return f"not uniform: predictions are too {'sure' if away > 0 else 'unsure'}"

    def plot(self, axes: Any = None) -> Any:
        """The histogram of the transforms and the coverage, with bands of chance.

        Args:
            axes: two of matplotlib's; new ones by default.

        Returns:
            The figure of matplotlib.
        """
        binomial = scipy_for("plot").stats.binom
        count, tint = len(self.pit), figures.COLOURS["spos"]
        with figures.style():
            if axes is None:
                axes = figures.new_figure(7.6, 3.4, shown=True).subplots(1, 2)
            left, right = axes
            low, high = np.asarray(binomial.interval(BY_CHANCE, count, 1 / BARS)) * BARS / count
            left.hist(self.pit, BARS, range=(0, 1), density=True, color=tint, alpha=0.75)
            left.axhspan(low, high, color=figures.TRUTH, alpha=0.15, linewidth=0)
            left.axhline(1.0, color=figures.TRUTH, linewidth=1.0)
            left.set(title="where outcomes fall", ylabel="density", xlim=(0, 1))
            left.set_xlabel("predictive probability below the outcome")
            grid = np.linspace(0, 1, 101)
            low, high = np.asarray(binomial.interval(BY_CHANCE, count, grid)) / count
            right.fill_between(grid, low, high, color=figures.TRUTH, alpha=0.15, linewidth=0)
            right.plot(grid, grid, color=figures.TRUTH, linewidth=1.0)
            right.plot(self.levels, self.observed, "o-", color=tint, markersize=4, linewidth=1.4)
            right.set(title="coverage", xlabel="level of the interval", ylabel="share of outcomes")
            right.set(xlim=(0, 1), ylim=(0, 1.02))
            explain_grey(right)
        return left.figure


def pit(
    y: ArrayLike, draws: ArrayLike, sds: ArrayLike | None = None, *, seed: int = 0
) -> np.ndarray:
    """Probability integral transforms of outcomes.

    Args:
        y: the outcomes, of shape (n,).
        draws: predicted outcomes of shape (S, n); with `sds`, the means of Gaussians.
        sds: their standard deviations, of shape (S, n) or (S,).
        seed: for what is random with draws alone.

    Returns:
        n numbers in [0, 1], uniform if the predictions are honest.

    Example:
        >>> spos.diagnostics.calibration.pit([0.0], [[0.0], [0.0]], sds=[1.0, 2.0])
        array([0.5])
    """
    y, draws = finite("y", y, 1), finite("draws", draws, 2)
    if draws.shape[1] != len(y):
        raise ValueError(f"draws must have shape (S, {len(y)}) to go with y, got {draws.shape}")
    checks.whole("seed", seed, at_least=0)
    if sds is None:
        below, equal = (draws < y).sum(axis=0), (draws == y).sum(axis=0)
        lot = np.random.default_rng(seed).uniform(size=len(y))
        return (below + lot * (equal + 1)) / (len(draws) + 1)
    sds = finite("sds", sds, np.ndim(sds))
    if sds.shape not in (draws.shape, draws.shape[:1]):
        raise ValueError(f"sds must have shape {draws.shape} or {draws.shape[:1]}, got {sds.shape}")
    if not (sds > 0).all():
        raise ValueError(f"sds must be above 0, got {sds.min()}")
    normal = scipy_for("pit").special.ndtr
    return normal((y - draws) / sds.reshape(len(draws), -1)).mean(axis=0)


def coverage(
    y: ArrayLike,
    draws: ArrayLike,
    sds: ArrayLike | None = None,
    *,
    levels: Sequence[float] = LEVELS,
    seed: int = 0,
) -> Coverage:
    """Do central intervals hold as many outcomes as they say?

    Args:
        y: the outcomes, of shape (n,).
        draws: predicted outcomes of shape (S, n); with `sds`, the means of Gaussians.
        sds: their standard deviations, of shape (S, n) or (S,).
        levels: of the intervals, each in (0, 1).
        seed: for what is random with draws alone.

    Returns:
        The coverage, and a test of the transforms.

    Example:
        >>> y = np.linspace(-2.0, 2.0, 9)
        >>> spos.diagnostics.calibration.coverage(y, np.zeros((1, 9)), [1.0], levels=[0.5]).observed
        array([0.33333333])
    """
    nominal = finite("levels", levels, 1)
    if not ((nominal > 0) & (nominal < 1)).all():
        raise ValueError(f"levels must be above 0 and below 1, got {levels!r}")
    u = pit(y, draws, sds, seed=seed)
    observed = (np.abs(u - 0.5) <= nominal[:, None] / 2).mean(axis=1)
    test = scipy_for("coverage").stats.kstest(u, "uniform")
    return Coverage(u, nominal, observed, float(test.statistic), float(test.pvalue))
