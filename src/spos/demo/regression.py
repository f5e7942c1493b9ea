"""Real data, unknown noise, predictions with intervals, checked against the exact posterior."""

import math
import statistics
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.demo.part import Figure, Part, sample
from spos.io import figures, html
from spos.io.figures import COLOURS, FAINT, TRUTH
from spos.targets import analytic

REGRESSION_PARTICLES, REGRESSION_STEPS, REGRESSION_STEP_SIZE = 50, 4000, 2e-4
HISTORY_EVERY = 40
TEST_SHARE, SPLIT_SEED = 0.2, 0
LEVEL = 0.9
TAILS = (0.5 - LEVEL / 2, 0.5 + LEVEL / 2)
FEATURES = {
    "age": "age",
    "sex": "sex",
    "bmi": "body mass index",
    "bp": "blood pressure",
    "s1": "total cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol / HDL",
    "s5": "log triglycerides",
    "s6": "blood sugar",
}


@dataclass(frozen=True)
class Data:
    """Features and outcome in standard units of the training part, and the outcome's own unit."""

    names: list[str]
    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    centre: float
    unit: float


def diabetes() -> Data:
    """Progression of diabetes after a year, from ten measurements of 442 patients."""
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(bunch.target))
    test, train = np.split(order, [round(TEST_SHARE * len(order))])
    x, y = bunch.data, bunch.target
    x = (x - x[train].mean(0)) / x[train].std(0)
    centre, unit = y[train].mean(), y[train].std()
    y = (y - centre) / unit
    names = [FEATURES[name] for name in bunch.feature_names]
    return Data(names, (x[train], y[train]), (x[test], y[test]), float(centre), float(unit))


def log_likelihood(theta: dict[str, jax.Array], batch: tuple[jax.Array, jax.Array]) -> jax.Array:
    x, y = batch
    residual = (y - x @ theta["weights"]) / jnp.exp(theta["log_noise"])
    return -0.5 * residual**2 - theta["log_noise"]


def log_prior(theta: dict[str, jax.Array]) -> jax.Array:
    return -0.5 * jnp.sum(theta["weights"] ** 2) - 0.5 * theta["log_noise"] ** 2


def regression(seed: int) -> Part:
    """Bayesian linear regression whose noise is unknown too."""
    data = diabetes()
    x, y = data.train
    target = spos.posterior(log_likelihood, log_prior, (x.astype(np.float32), y.astype(np.float32)))
    rng = np.random.default_rng(seed)
    start = {
        "weights": rng.normal(0.0, 0.1, (REGRESSION_PARTICLES, x.shape[1])).astype(np.float32),
        "log_noise": rng.normal(0.0, 0.1, REGRESSION_PARTICLES).astype(np.float32),
    }
    sampler = spos.spos(target, REGRESSION_STEP_SIZE)
    result = sample(sampler, start, REGRESSION_STEPS, seed=seed, history_every=HISTORY_EVERY)
    late = jax.tree.map(lambda kept: np.float64(kept[len(kept) // 2 :]), result.history)
    weights = late["weights"].reshape(-1, x.shape[1])
    noise = np.exp(late["log_noise"]).ravel()

    exact = analytic.conjugate_regression(x, y, float(np.mean(noise**2)))
    scale = np.sqrt(np.diag(exact.covariance))
    gap = np.abs(weights.mean(0) - exact.mean) / scale
    width = weights.std(0) / scale

    truth = data.test[1]
    mean = data.test[0] @ weights.mean(0)
    low, high = predictive_interval(data.test[0], weights, noise, rng)
    inside = (low <= truth) & (truth <= high)
    rmse = data.unit * math.sqrt(np.mean((truth - mean) ** 2))
    blind = data.unit * math.sqrt(np.mean(truth**2))
    spread = np.quantile(weights, TAILS, axis=0)
    rows = [
        (name, *(f"{round(value, 3) + 0.0:.3f}" for value in values))  # no minus before zero
        for name, *values in zip(
            data.names, weights.mean(0), weights.std(0), exact.mean, scale, strict=True
        )
    ]
    return Part(
        heading="A regression with honest intervals",
        setting=(
            f"Ten measurements predict how diabetes progresses within a year: {len(y)} patients to "
            f"learn from, {len(truth)} held out. Weights have a standard normal prior, in standard "
            "units, and the logarithm of the noise is sampled along with them. "
            f"{REGRESSION_PARTICLES} SPOS particles take {REGRESSION_STEPS} steps of "
            f"{REGRESSION_STEP_SIZE:g} on all the data; the {len(noise)} draws are every "
            f"{HISTORY_EVERY}th step of the second half. The exact posterior is the conjugate one "
            "with the noise fixed at its sampled mean."
        ),
        findings=(
            f"Held out: root mean square error {rmse:.1f} (always guessing the mean: {blind:.1f}); "
            f"{inside.mean():.1%} of {len(truth)} outcomes lie in their {LEVEL:.0%} interval.",
            f"Against the exact posterior: means differ by at most {gap.max():.2f} standard "
            f"deviations, standard deviations are {width.min():.2f} to {width.max():.2f} times "
            "the exact ones.",
        ),
        table=html.Table(
            ("weight", "mean", "sd", "exact mean", "exact sd"),
            rows,
            "Posterior of the weights in standard units, from SPOS and exactly.",
        ),
        figures=(
            Figure(
                "weights.png",
                figures.png(_draw_weights(data.names, weights.mean(0), spread, exact)),
                f"{LEVEL:.0%} intervals of ten regression weights, from SPOS and exact; they "
                "coincide closely.",
            ),
            Figure(
                "predictions.png",
                figures.png(_draw_predictions(data, mean, low, high, inside)),
                f"Predictions with {LEVEL:.0%} intervals for {len(truth)} held-out patients in "
                f"order of prediction, and the true outcomes, {inside.sum()} of which lie inside.",
            ),
        ),
    )


def predictive_interval(
    x: np.ndarray, weights: np.ndarray, noise: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the interval of a new outcome: uncertain weights and noise together."""
    outcomes = x @ weights.T + noise * rng.standard_normal((len(x), len(noise)))
    low, high = np.quantile(outcomes, TAILS, axis=1)
    return low, high


def _draw_weights(
    names: list[str], mean: np.ndarray, spread: np.ndarray, exact: analytic.Normal
) -> Any:
    half = statistics.NormalDist().inv_cdf(TAILS[1]) * np.sqrt(np.diag(exact.covariance))
    order = np.argsort(mean)
    rows = np.arange(len(names))
    figure, axes = figures.titled(
        4.8, "What predicts diabetes?", f"means and {LEVEL:.0%} intervals of the weights"
    )
    axes.axvline(0.0, color=FAINT, linewidth=1.2, zorder=0)
    tint = COLOURS["spos"]
    axes.hlines(rows + 0.14, *spread[:, order], color=tint, linewidth=4, alpha=0.55)
    axes.plot(mean[order], rows + 0.14, "o", color=tint, markersize=6)
    left, right = exact.mean[order] - half[order], exact.mean[order] + half[order]
    axes.hlines(rows - 0.16, left, right, color=TRUTH, linewidth=1.6)
    axes.plot(exact.mean[order], rows - 0.16, "D", color=TRUTH, markersize=4)
    top = order[-1]
    axes.text(
        spread[1, top] + 0.02, rows[-1] + 0.14, "SPOS", color=tint, weight="bold", va="center"
    )
    axes.text(right[-1] + 0.02, rows[-1] - 0.22, "exact", color=TRUTH, va="center")
    axes.set_yticks(rows, [names[i] for i in order])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("weight, in standard units")
    return figure


def _draw_predictions(
    data: Data, mean: np.ndarray, low: np.ndarray, high: np.ndarray, inside: np.ndarray
) -> Any:
    order = np.argsort(mean)
    rows = np.arange(len(order))
    mean, low, high, truth = (
        data.centre + data.unit * values[order] for values in (mean, low, high, data.test[1])
    )
    hit = inside[order]
    tint, missed = COLOURS["spos"], COLOURS["svgd"]
    figure, axes = figures.titled(
        4.4,
        f"{hit.mean():.0%} of held-out outcomes lie in their {LEVEL:.0%} interval",
        f"{len(hit)} patients, in order of prediction",
    )
    axes.vlines(rows, low, high, color=tint, alpha=0.25, linewidth=3)
    axes.plot(rows, mean, color=tint)
    axes.plot(rows[hit], truth[hit], "o", color=TRUTH, markersize=4)
    axes.plot(rows[~hit], truth[~hit], "X", color=missed, markersize=8)
    legend = (
        (f"{LEVEL:.0%} interval and mean", tint),
        (f"outcome inside: {hit.sum()}", TRUTH),
        (f"outcome outside: {(~hit).sum()}", missed),
    )
    for line, (text, colour) in enumerate(legend):
        axes.text(
            0.01, 0.95 - 0.075 * line, text, transform=axes.transAxes, color=colour, weight="bold"
        )
    axes.set_ylim(top=1.12 * max(high.max(), truth.max()))
    axes.set_ylabel("disease progression")
    axes.set_xticks([])
    return figure
