"""Are probabilities of classes honest?

The confidence of a prediction is the probability of its most likely
class. In bins of confidence, (0, 1/B], …, (1 - 1/B, 1], the share of correct predictions should be
the mean confidence,

    expected calibration error = Σ_b n_b/n |accuracy_b - confidence_b|.

A finite sample has some error however honest the forecast. By the normal law of a sum of chances c,
about E|·| = sqrt(2/π Σ_{i in b} c_i (1 - c_i)) / n in bin b: the sum over bins is the `floor`.

References: Naeini, Cooper, Hauskrecht, AAAI 2015; Guo, Pleiss, Sun, Weinberger, ICML 2017.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spos import checks
from spos.diagnostics.calibration.arrays import BY_CHANCE, explain_grey, finite, scipy_for
from spos.io import figures

TOLERANCE = 1e-3  # of the sum of probabilities


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
        binomial = scipy_for("plot").stats.binom
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
            explain_grey(axes)
        return axes.figure


def ece(probabilities: ArrayLike, labels: ArrayLike, *, num_bins: int = 15) -> Reliability:
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


def nll(probabilities: ArrayLike, labels: ArrayLike) -> float:
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


def brier(probabilities: ArrayLike, labels: ArrayLike) -> float:
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


def _forecast(probabilities: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    p, labels = finite("probabilities", probabilities, 2), np.asarray(labels)
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
