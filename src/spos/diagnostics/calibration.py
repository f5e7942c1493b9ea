"""Is a predictive distribution honest?

**Outcomes that are numbers.** The probability integral transform of an outcome y is u = F(y), with
F the predictive distribution function. If F is the law of y, u is uniform. F is a mixture of equal
parts, one a particle:

    Gaussians N(m_s, v_s):    u = 1/S Σ_s Φ((y - m_s) / sqrt(v_s))
    draws:                    u = (number below y + U (1 + number equal to y)) / (S + 1)

with U uniform, so that a few draws from the law of y already give a uniform u exactly. The central
interval of level l holds y when |u - 1/2| ≤ l/2, and so it does in a share l of all cases. The
Kolmogorov-Smirnov test says how often chance alone is as far from uniform. It takes the u for
independent, which they are only nearly, as all predictions come from one training set.

**Outcomes that are classes.** The confidence of a prediction is the probability of its most likely
class. In bins of confidence, (0, 1/B], …, (1 - 1/B, 1], the share of correct predictions should be
the mean confidence,

    expected calibration error = Σ_b n_b/n |accuracy_b - confidence_b|.

A finite sample has some error however honest the forecast. By the normal law of a sum of chances c,
about E|·| = sqrt(2/π Σ_{i in b} c_i (1 - c_i)) / n in bin b: the sum over bins is the `floor`.

References: Dawid, JRSS A 1984; Gneiting, Balabdaoui, Raftery, JRSS B 2007; Naeini, Cooper,
Hauskrecht, AAAI 2015; Guo, Pleiss, Sun, Weinberger, ICML 2017.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spos import checks
from spos.io import figures

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
SAID = (0.5, 0.9, 0.95)  # in words, if among the levels
TOLERANCE = 1e-3  # of the sum of probabilities
SUSPICIOUS = 0.01  # p-value
BARS = 20
BY_CHANCE = 0.95  # of bars and of points are inside the bands


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
        binomial = _scipy("plot").stats.binom
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
            _explain_grey(right)
        return left.figure


@dataclass(frozen=True)
class Reliability:
    """Confidence and accuracy by bins of confidence, and what they add up to.

    Attributes:
        ece: the expected calibration error.
        floor: about what an honest forecast would have.
        nll: the negative log-likelihood of an outcome.
        brier: the Brier score.
        edges: of the bins.
        confidence: the mean confidence of each bin; nan where it is empty.
        accuracy: the share of correct predictions of each bin; nan where it is empty.
        counts: predictions in each bin.
    """

    ece: float
    floor: float
    nll: float
    brier: float
    edges: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    counts: np.ndarray

    def __str__(self) -> str:
        shares = self.counts / self.counts.sum()
        confidence, accuracy = (
            np.nansum(shares * self.confidence),
            np.nansum(shares * self.accuracy),
        )
        return (
            f"{self.counts.sum()} predictions: accuracy {accuracy:.1%}, mean confidence "
            f"{confidence:.1%}; expected calibration error {self.ece:.4f} over {len(self.counts)} "
            f"bins (about {self.floor:.4f} by chance alone), negative log-likelihood "
            f"{self.nll:.4g}, Brier score {self.brier:.4g}."
        )

    def plot(self, axes: Any = None) -> Any:
        """The reliability diagram, with points as large as their bins are full.

        Args:
            axes: one of matplotlib's; new ones by default.

        Returns:
            The figure of matplotlib.
        """
        tint, full = figures.COLOURS["spos"], self.counts > 0
        x, y, count = self.confidence[full], self.accuracy[full], self.counts[full]
        binomial = _scipy("plot").stats.binom
        low, high = np.asarray(binomial.interval(BY_CHANCE, count, np.minimum(x, 1))) / count
        with figures.style():
            if axes is None:
                axes = figures.new_figure(4.2, 4.0, shown=True).subplots()
            axes.plot([0, 1], [0, 1], color=figures.TRUTH, linewidth=1.0)
            axes.vlines(x, low, high, color=figures.TRUTH, alpha=0.2, linewidth=7)
            axes.plot(x, y, color=tint, linewidth=1.4)
            axes.scatter(x, y, s=12 + 90 * count / count.max(), color=tint, zorder=3, clip_on=False)
            axes.set(title="reliability", xlabel="confidence", ylabel="share that is correct")
            axes.set(xlim=(0, 1), ylim=(0, 1.02))
            _explain_grey(axes)
        return axes.figure


def pit(y: Any, draws: Any, sds: Any = None, *, seed: int = 0) -> np.ndarray:
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
    y, draws = _finite("y", y, 1), _finite("draws", draws, 2)
    if draws.shape[1] != len(y):
        raise ValueError(f"draws must have shape (S, {len(y)}) to go with y, got {draws.shape}")
    checks.whole("seed", seed, at_least=0)
    if sds is None:
        below, equal = (draws < y).sum(axis=0), (draws == y).sum(axis=0)
        lot = np.random.default_rng(seed).uniform(size=len(y))
        return (below + lot * (equal + 1)) / (len(draws) + 1)
    sds = _finite("sds", sds, np.ndim(sds))
    if sds.shape not in (draws.shape, draws.shape[:1]):
        raise ValueError(f"sds must have shape {draws.shape} or {draws.shape[:1]}, got {sds.shape}")
    if not (sds > 0).all():
        raise ValueError(f"sds must be above 0, got {sds.min()}")
    normal = _scipy("pit").special.ndtr
    return normal((y - draws) / sds.reshape(len(draws), -1)).mean(axis=0)


def coverage(
    y: Any, draws: Any, sds: Any = None, *, levels: Sequence[float] = LEVELS, seed: int = 0
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
    nominal = _finite("levels", levels, 1)
    if not ((nominal > 0) & (nominal < 1)).all():
        raise ValueError(f"levels must be above 0 and below 1, got {levels!r}")
    u = pit(y, draws, sds, seed=seed)
    observed = (np.abs(u - 0.5) <= nominal[:, None] / 2).mean(axis=1)
    test = _scipy("coverage").stats.kstest(u, "uniform")
    return Coverage(u, nominal, observed, float(test.statistic), float(test.pvalue))


def ece(probabilities: Any, labels: Any, *, num_bins: int = 15) -> Reliability:
    """The expected calibration error of probabilities of classes, with its bins.

    Args:
        probabilities: of shape (n, K), each row summing to 1.
        labels: the classes that came true, n whole numbers.
        num_bins: of confidence.

    Returns:
        The error, what chance explains of it, and the bins.

    Example:
        >>> spos.diagnostics.calibration.ece([[0.8, 0.2], [0.2, 0.8]], [0, 1]).ece
        0.19999999999999996
    """
    p, labels = _forecast(probabilities, labels)
    checks.whole("num_bins", num_bins)
    edges, best = np.linspace(0, 1, num_bins + 1), p.max(axis=1)
    place = np.searchsorted(edges[1:-1], best)  # a confidence on an edge belongs below it
    count, sure, right, chance = (
        np.bincount(place, weights, num_bins)
        for weights in (None, best, p.argmax(axis=1) == labels, np.clip(best * (1 - best), 0, None))
    )
    with np.errstate(invalid="ignore"):  # of an empty bin
        confidence, accuracy = sure / count, right / count
    return Reliability(
        ece=float(np.abs(right - sure).sum() / len(p)),
        floor=float(np.sqrt(2 / np.pi * chance).sum() / len(p)),
        nll=nll(p, labels),
        brier=brier(p, labels),
        edges=edges,
        confidence=confidence,
        accuracy=accuracy,
        counts=count,
    )


def nll(probabilities: Any, labels: Any) -> float:
    """The mean of -log p of the classes that came true; infinite if one had no probability.

    Args:
        probabilities: of shape (n, K), each row summing to 1.
        labels: the classes that came true, n whole numbers.

    Returns:
        The negative log-likelihood.
    """
    p, labels = _forecast(probabilities, labels)
    with np.errstate(divide="ignore"):
        return float(-np.log(p[np.arange(len(p)), labels]).mean())


def brier(probabilities: Any, labels: Any) -> float:
    """The mean squared distance, summed over classes, from 0 for the best to 2 for the worst.

    Args:
        probabilities: of shape (n, K), each row summing to 1.
        labels: the classes that came true, n whole numbers.

    Returns:
        The Brier score.

    Example:
        >>> spos.diagnostics.calibration.brier([[1.0, 0.0], [1.0, 0.0]], [0, 1])
        1.0
    """
    p, labels = _forecast(probabilities, labels)
    return float(((p - np.eye(p.shape[1])[labels]) ** 2).sum(axis=1).mean())


def _forecast(probabilities: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    p, labels = _finite("probabilities", probabilities, 2), np.asarray(labels)
    if (p < 0).any():
        raise ValueError(f"probabilities must not be negative, got {p.min()}")
    off = np.abs(p.sum(axis=1) - 1)
    if off.max() > TOLERANCE:
        row = int(off.argmax())
        raise ValueError(f"probabilities must sum to 1, got {p[row].sum():.6g} in row {row}")
    if labels.dtype.kind not in "iu" or labels.shape != p.shape[:1]:
        raise ValueError(
            f"labels must be {len(p)} whole numbers, one a row of probabilities, got an array of "
            f"shape {labels.shape} and type {labels.dtype}"
        )
    if labels.min() < 0 or labels.max() >= p.shape[1]:
        raise ValueError(
            f"labels must be from 0 to {p.shape[1] - 1}, got {labels.min()} to {labels.max()}"
        )
    return p, labels


def _finite(name: str, values: Any, axes: int) -> np.ndarray:
    """An array of real numbers with so many axes, none of them empty."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" and "float" not in array.dtype.name:  # bfloat16 is kind V
        raise TypeError(f"{name} must be an array of real numbers, got type {array.dtype}")
    if array.ndim != axes or array.size == 0:
        raise ValueError(
            f"{name} must be an array with {axes} axes, none empty, got shape {array.shape}"
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        place = tuple(int(n) for n in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, got {array[place]} at {place}")
    return array


def _explain_grey(axes: Any) -> None:
    axes.text(0.98, 0.03, f"grey: {BY_CHANCE:.0%} by chance", ha="right", fontsize=9)


def _scipy(who: str) -> Any:
    try:
        import scipy.special
        import scipy.stats
    except ImportError as error:
        raise ImportError(f"{who} needs scipy: pip install 'spos[diagnostics]'") from error
    return scipy
