"""A method on a split of a table: fitted once, and judged on rows that it has not seen.

Numbers: RMSE, -log p(y), CRPS and the share of outcomes in intervals of 90 %. y is divided by its
standard deviation on the training rows, so that tables can be read beside each other. A Gaussian
has its measures in closed form, with z = (y - m) / σ,

    CRPS = σ (z (2 Φ(z) - 1) + 2 φ(z) - 1/sqrt(π)),

and the networks' are those of 400 draws. Classes: -log p, expected calibration error and error.
"""

import time
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from spos.diagnostics import calibration
from spos_experiments.data.packaged import Frame
from spos_experiments.paper.tables.rivals import (
    CLASSIFICATIONS,
    OURS,
    REGRESSIONS,
    Gaussians,
)

LEVEL, DRAWS, TEST_SHARE = 0.9, 400, 0.2
WIDEST = 1.6448536269514722  # standard deviations that hold 90 % of a Gaussian


class Job(NamedTuple):
    """What is done at a time."""

    table: str
    split: int
    method: str


class Outcome(NamedTuple):
    """What was measured, and the processor seconds of the fit and its predictions."""

    measures: dict[str, float]
    seconds: float


def split(frame: Frame, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from, and the fifth of all rows to be judged by."""
    order = np.random.default_rng([seed, number]).permutation(len(frame.y))
    apart = round(TEST_SHARE * len(order))
    return order[apart:], order[:apart]


def outcome(
    frame: Frame, method: str, number: int, seed: int, settings: Mapping[str, Any]
) -> Outcome:
    """A method on one split; `settings` are ours, and empty but for trying things out."""
    from threadpoolctl import threadpool_limits

    began = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):  # threads that wait count as busy
        warnings.simplefilter("ignore")  # of rivals that reach a bound or their last iteration
        found = measured(frame, method, number, seed, settings)
    return Outcome(found, time.process_time() - began)


def measured(
    frame: Frame, method: str, number: int, seed: int, settings: Mapping[str, Any]
) -> dict[str, float]:
    """The measures of a method on one split."""
    learnt, judged = split(frame, number, seed)
    data = (frame.X[learnt], frame.y[learnt], frame.X[judged])
    if frame.classes:
        return _classes(method, data, frame.y[judged], seed, settings)
    scale = float(frame.y[learnt].std())
    return _numbers(method, data, frame.y[judged], seed, scale, settings)


def _numbers(
    name: str, data: Any, y: np.ndarray, seed: int, scale: float, settings: Mapping[str, Any]
) -> dict[str, float]:
    X, learnt, test = data
    if name != OURS:
        return gaussian_measures(REGRESSIONS[name](X, learnt, test, seed), y, scale)
    from spos import SPOSRegressor

    model = SPOSRegressor(random_state=seed, **settings).fit(X, learnt)
    low, high = model.predict_interval(test, LEVEL)
    return {
        "rmse": _rmse(model.predict(test), y) / scale,
        "nll": float(-model.log_predictive(test, y).mean()) - np.log(scale),
        "crps": float(crps(model.sample_y(test, DRAWS, random_state=seed), y).mean()) / scale,
        "coverage": float(((low <= y) & (y <= high)).mean()),
    }


def gaussian_measures(said: Gaussians, y: np.ndarray, scale: float) -> dict[str, float]:
    from scipy.stats import norm

    found = {"rmse": _rmse(said.mean, y) / scale}
    if said.sd is None:
        return found
    z = (y - said.mean) / said.sd
    each = said.sd * (z * (2.0 * norm.cdf(z) - 1.0) + 2.0 * norm.pdf(z) - np.pi**-0.5)
    return found | {
        "nll": float(-norm.logpdf(y, said.mean, said.sd).mean()) - np.log(scale),
        "crps": float(each.mean()) / scale,
        "coverage": float((np.abs(z) <= WIDEST).mean()),
    }


def crps(drawn: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of draws (n, m): E|Y - y| - E|Y - Y'| / 2, the second without the draws' own pairs."""
    drawn = np.sort(drawn, axis=1)
    count = drawn.shape[1]
    ranks = 2.0 * np.arange(1, count + 1) - count - 1.0
    spread = (drawn * ranks).sum(axis=1) / (count * (count - 1.0))
    away: np.ndarray = np.abs(drawn - y[:, None]).mean(axis=1) - spread
    return away


def _rmse(mean: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(((mean - y) ** 2).mean()))


def _classes(
    name: str, data: Any, y: np.ndarray, seed: int, settings: Mapping[str, Any]
) -> dict[str, float]:
    X, learnt, test = data
    if name == OURS:
        from spos import SPOSClassifier

        chances = SPOSClassifier(random_state=seed, **settings).fit(X, learnt).predict_proba(test)
    else:
        chances = CLASSIFICATIONS[name](X, learnt, test, seed)
    chances = np.clip(chances, 1e-6, None)
    chances = chances / chances.sum(axis=1, keepdims=True)
    return {
        "log_loss": float(-np.log(chances[np.arange(len(y)), y]).mean()),
        "ece": calibration.ece(chances, y).ece,
        "error": float((chances.argmax(1) != y).mean()),
    }
