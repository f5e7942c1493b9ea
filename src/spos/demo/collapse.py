"""A standard normal in more and more dimensions: SVGD loses the variance, SPOS keeps it."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.demo.part import Figure, Part
from spos.io import figures, html, progress
from spos.io.figures import COLOURS, FAINT, TRUTH

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
    figure, axes = figures.titled(
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
