"""`spos demo`: three small experiments that show what the library is for, in half a minute.

1. **Collapse.** A standard normal in more and more dimensions: SVGD loses the variance, SPOS keeps
   it.
2. **Many modes.** All particles start in one of seven modes: SVGD stays there, noise gets out.
3. **A regression.** Real data, unknown noise, predictions with intervals, checked against the
   exact posterior.

Each experiment gives a `Part`: text, one table and its figures. The same parts become the lines on
the terminal, the PNG files and the page `report.html`. Every number in them is computed here.
"""

import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos import progress
from spos.report import figures, html, write_whole
from spos.report.figures import COLOURS, FAINT, TRUTH
from spos.result import Result, versions
from spos.targets import analytic, toys


@dataclass(frozen=True)
class Figure:
    """A picture, the file it goes to, and what it shows in words."""

    file: str
    png: bytes
    alt: str


@dataclass(frozen=True)
class Part:
    """One experiment, ready to be shown."""

    heading: str
    setting: str
    findings: tuple[str, ...]
    table: html.Table
    figures: tuple[Figure, ...]


def run(out: Path, seed: int = 0) -> list[Part]:
    """Run everything, print the tables, and write the figures and the page into the folder."""
    began = time.monotonic()
    _require()
    _prepare(out)
    parts = []
    for number, experiment in enumerate(EXPERIMENTS, start=1):
        print(f"[{number}/{len(EXPERIMENTS)}] {TITLES[experiment]} …", file=sys.stderr, flush=True)
        with figures.style():
            part = experiment(seed)
            for figure in part.figures:
                write_whole(out / figure.file, figure.png)
        print(f"\n{part.heading}\n\n{_as_text(part.table)}\n", flush=True)
        for finding in part.findings:
            print(finding)
        parts.append(part)
    page = html.page("What spos does", _sections(parts, seed, time.monotonic() - began))
    html.write(out / "report.html", page)
    files = ", ".join(figure.file for part in parts for figure in part.figures)
    print(f"\n{time.monotonic() - began:.0f} s. The page is {out / 'report.html'}, beside {files}.")
    return parts


# --- 1. collapse ----------------------------------------------------------------------------------

DIMENSIONS = (2, 5, 20, 50, 100)
CLOUD, COLLAPSE_STEPS = 50, 2500
QUICK = {"xla_backend_optimization_level": 1}  # so short a run is mostly compilation
# label, colour, line, inside of the markers, step size, β; SVGD is the same program with β = ∞
METHODS = (
    ("SPOS β=1", COLOURS["spos"], "-", COLOURS["spos"], 0.03, 1.0),
    ("SPOS β=10", COLOURS["spos"], ":", "white", 0.03, 10.0),
    ("SVGD", COLOURS["svgd"], "-", COLOURS["svgd"], 1.0, math.inf),
)


def collapse(seed: int) -> Part:
    """The variance that is left of N(0, I), by dimension."""
    bar = progress.Progress("collapse", len(DIMENSIONS)) if progress.wanted(None) else None
    rows = []
    # most of the time goes into compiling one program per dimension, which two threads can share
    with ThreadPoolExecutor(2) as pool:
        for row in pool.map(lambda d: collapse_variances(d, seed), DIMENSIONS):
            rows.append(row)
            if bar is not None:
                bar.update(len(rows))
    if bar is not None:
        bar.close()
    variances = np.asarray(rows)
    lost = variances[-1, -1]
    return Part(
        heading="SVGD loses variance as the dimension grows; SPOS keeps it",
        setting=(
            f"The target is a standard normal in d dimensions, whose every coordinate has variance "
            f"1. {CLOUD} particles, drawn from it to begin with, are moved for {COLLAPSE_STEPS} "
            "steps with the median bandwidth; the figure shows the variance of a coordinate "
            "afterwards, averaged over coordinates and, for SPOS, over the second half of the run."
        ),
        findings=(
            f"In {DIMENSIONS[-1]} dimensions {lost:.0%} of the variance is left with SVGD, "
            f"{variances[-1, 0]:.0%} with SPOS at β = 1 and {variances[-1, 1]:.0%} at β = 10.",
        ),
        table=html.Table(
            ("dimension", *(method[0] for method in METHODS), "truth"),
            [
                (str(d), *(f"{value:.3f}" for value in row), "1")
                for d, row in zip(DIMENSIONS, variances, strict=True)
            ],
            "Variance of a coordinate.",
        ),
        figures=(
            Figure(
                "collapse.png",
                figures.png(_draw_collapse(variances)),
                "Variance against dimension, from 2 to 100. The line of SVGD falls from "
                f"{variances[0, -1]:.2f} to {lost:.2f}; the lines of SPOS stay near the true "
                "value of 1.",
            ),
        ),
    )


def collapse_variances(dimension: int, seed: int) -> np.ndarray:
    """One value per method: the last one where it settles, the late average where there is noise.

    The mean of the target is zero and known, so that the variance is the mean square.
    """

    def one(key: jax.Array, start: jax.Array, step_size: jax.Array, beta: jax.Array) -> jax.Array:
        def seen(state: spos.State, info: spos.Info) -> jax.Array:
            return jnp.mean(state.particles**2)

        sampler = spos.spos(_standard_normal, step_size, beta)
        return spos.run(sampler, key, start, COLLAPSE_STEPS, observe=seen)[1]

    start = np.random.default_rng(seed).standard_normal((CLOUD, dimension), np.float32)
    step_sizes, betas = (
        jnp.asarray(column) for column in zip(*(method[-2:] for method in METHODS), strict=True)
    )
    program = jax.jit(jax.vmap(one, in_axes=(None, None, 0, 0)), compiler_options=QUICK)
    paths = np.asarray(program(jax.random.key(seed), start, step_sizes, betas))
    late = paths[:, COLLAPSE_STEPS // 2 :].mean(axis=1)
    return np.where(np.isinf(betas), paths[:, -1], late)


def _standard_normal(theta: jax.Array) -> jax.Array:
    return -0.5 * jnp.sum(theta**2)


def _draw_collapse(variances: np.ndarray) -> Any:
    figure, axes = _titled(
        4.2,
        "How much of the variance is left?",
        f"{CLOUD} particles on a standard normal; the truth is 1 in every dimension",
    )
    axes.axhline(1.0, color=TRUTH, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    axes.text(3.2, 1.035, "true variance", fontsize=10, color=TRUTH, ha="center")
    for column, (label, tint, line, inside, _, _) in enumerate(METHODS):
        values = variances[:, column]
        axes.plot(DIMENSIONS, values, line, color=tint, marker="o", markersize=7, mfc=inside)
        axes.annotate(
            f"{label}\n{values[-1]:.2f}",
            (DIMENSIONS[-1], max(values[-1], 0.06)),  # two lines stay above the axis
            xytext=(12, 0),
            textcoords="offset points",
            va="center",
            color=tint,
            fontweight="bold",
            annotation_clip=False,
        )
    axes.set_xscale("log")
    axes.set_xticks(DIMENSIONS, [str(d) for d in DIMENSIONS])
    axes.minorticks_off()
    axes.set_ylim(0.0, 1.13)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("dimension")
    axes.set_ylabel("variance of the particles")
    return figure


# --- 2. many modes --------------------------------------------------------------------------------

MODE_PARTICLES, MODE_STEPS, MODE_STEP_SIZE = 100, 5000, 0.01
START, JITTER = -0.225, 0.05


def many_modes(seed: int) -> Part:
    """Where particles that all start in one mode are in the end."""
    basins = toys.multimode_basins()
    noise = np.random.default_rng(seed).standard_normal(MODE_PARTICLES)
    start = (START + JITTER * noise).astype(np.float32)
    samplers = {
        "SPOS": spos.spos(toys.multimode, MODE_STEP_SIZE),
        "SVGD": spos.svgd(toys.multimode, MODE_STEP_SIZE),
        "SGLD": spos.sgld(toys.multimode, MODE_STEP_SIZE),
    }
    found = {
        name: np.asarray(_sample(sampler, start, MODE_STEPS, seed=seed).particles)
        for name, sampler in samplers.items()
    }
    counts = {name: toys.count_by_basin(points, basins) for name, points in found.items()}
    masses = np.asarray([basin.mass for basin in basins])
    off = {name: 0.5 * np.abs(n / n.sum() - masses).sum() for name, n in counts.items()}
    rows = [
        (f"{b.mode:.3f}", f"{100 * b.mass:.1f}", *(str(n[i]) for n in counts.values()))
        for i, b in enumerate(basins)
    ]
    rows.append(("all", f"{100 * masses.sum():.1f}", *(str(n.sum()) for n in counts.values())))
    rows.append(("off by", "0.0", *(f"{100 * value:.1f}" for value in off.values())))
    reached = {name: int((n > 0).sum()) for name, n in counts.items()}
    return Part(
        heading="Noise finds the other modes; a deterministic method stays where it started",
        setting=(
            f"A density on the line with {len(basins)} modes. All {MODE_PARTICLES} particles start "
            f"beside the mode at {START}: at a normal distance of standard deviation {JITTER}, "
            f"because coincident particles would not repel each other. Every method takes "
            f"{MODE_STEPS} steps of {MODE_STEP_SIZE} at β = 1, with the median bandwidth."
        ),
        findings=(
            f"SVGD has particles in {reached['SVGD']} of {len(basins)} basins, SPOS in "
            f"{reached['SPOS']}, SGLD in {reached['SGLD']}.",
            "Steps of this size are coarse for modes this sharp, which makes both noisy methods "
            "a little too flat; smaller steps come closer to the exact shares.",
        ),
        table=html.Table(
            ("mode", "exact %", *counts),
            rows,
            "Particles in the basin of each mode, out of "
            f"{MODE_PARTICLES}. “Off by” is the percentage of particles in the wrong basin.",
        ),
        figures=(
            Figure(
                "modes.png",
                figures.png(_draw_modes(found, reached, len(basins))),
                "Three histograms of particles over the true density with seven modes. "
                + " ".join(f"{n} reaches {k} of them." for n, k in reached.items()),
            ),
        ),
    )


def _draw_modes(found: dict[str, np.ndarray], reached: dict[str, int], total: int) -> Any:
    x, density = toys.multimode_density()
    shown = slice(None, None, 100)
    title = f"{MODE_PARTICLES} particles, all started near {START}".replace("-", "−")
    figure, panels = _titled(
        5.8, title, f"where they are after {MODE_STEPS} steps", rows=len(found), sharex=True
    )
    for axes, (name, points) in zip(panels, found.items(), strict=True):
        tint = COLOURS[name.lower()]
        axes.fill_between(x[shown], density[shown], color=FAINT, linewidth=0)
        axes.hist(points, bins=np.arange(-3.0, 4.0, 0.1), density=True, color=tint, alpha=0.7)
        axes.plot(x[shown], density[shown], color=TRUTH, linewidth=1.2)
        axes.plot(points, np.full_like(points, -0.2), "|", color=tint, markersize=9)
        axes.text(0.0, 0.80, name, transform=axes.transAxes, color=tint, weight="bold", size=13)
        count = f"reached {reached[name]} of {total} modes"
        axes.text(0.0, 0.64, count, transform=axes.transAxes, color=tint)
        axes.set_ylim(-0.4, 3.8)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    peak = np.argmax(density)
    panels[0].annotate(
        "true density",
        (x[peak], density[peak]),
        xytext=(10, 4),
        textcoords="offset points",
        fontsize=10,
    )
    panels[-1].set_xlim(-3.0, 3.6)
    panels[-1].set_xlabel("θ")
    return figure


# --- 3. a regression ------------------------------------------------------------------------------

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
    result = _sample(sampler, start, REGRESSION_STEPS, seed=seed, history_every=HISTORY_EVERY)
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
    figure, axes = _titled(
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
    figure, axes = _titled(
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


# --- putting it together --------------------------------------------------------------------------

TITLES: dict[Callable[[int], Part], str] = {
    collapse: "variance by dimension",
    many_modes: "seven modes",
    regression: "regression on the diabetes data",
}
EXPERIMENTS = tuple(TITLES)


def _sections(parts: list[Part], seed: int, seconds: float) -> list[html.Section]:
    opening = html.Section(
        "",
        (
            html.Text(
                "Bayesian inference with a cloud of particles: the kernel moves and spreads them "
                "(SVGD), noise lets them explore (SGLD), and SPOS does both at once."
            ),
        ),
    )
    body = [
        html.Section(
            part.heading,
            (
                html.Text(part.setting),
                *(html.Picture(figure.png, figure.alt) for figure in part.figures),
                *(html.Text(finding) for finding in part.findings),
                part.table,
            ),
        )
        for part in parts
    ]
    made = ", ".join(f"{name} {version}" for name, version in versions().items())
    closing = html.Section(
        "How this page was made",
        (html.Text(f"spos demo --seed {seed}, in {seconds:.0f} s on this machine: {made}."),),
    )
    return [opening, *body, closing]


def _titled(height: float, title: str, note: str, *, rows: int = 1, sharex: bool = False) -> Any:
    """A figure with a title, a quieter line under it, and its panels in the room below."""
    figure = figures.new_figure(6.4, height)
    figure.get_layout_engine().set(rect=(0.0, 0.0, 1.0, 1.0 - 0.66 / height))
    figure.text(0.015, 1.0 - 0.09 / height, title, fontsize=14, weight="bold", va="top")
    figure.text(0.015, 1.0 - 0.38 / height, note, color="#666666", va="top")
    return figure, figure.subplots(rows, 1, sharex=sharex)


def _sample(sampler: spos.Sampler, start: Any, num_steps: int, **options: Any) -> Result:
    result = spos.sample(sampler, start, num_steps, **options)
    if result.interrupted:  # a half-finished experiment would be shown as a whole one
        raise KeyboardInterrupt
    return result


def _as_text(table: html.Table) -> str:
    cells = [list(table.headings), *(list(row) for row in table.rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(table.headings))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )


def _require() -> None:
    """All that is needed, before any time is spent."""
    try:
        import matplotlib  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{error.name} is not installed, get it with: pip install 'spos[demo]'"
        ) from error


def _prepare(out: Path) -> None:
    """The folder exists and can be written to, or an error that says why not."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=out)
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise OSError(f"cannot write to the folder {out}: {error.strerror}") from error
