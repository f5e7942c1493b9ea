"""`spos paper collapse`: how far apart do particles stay?

    EPD(τ) = sqrt( Σ_ij E‖θ_i(τ) - θ_j(τ)‖² ),        shown per particle, EPD/M

The paper proves that SVGD's particles fall together, EPD ≤ C0 exp(-2λτ), and that SPOS keeps them
apart. Both theorems speak of the flow as printed, in which the kernel's gradient *attracts*; the
SVGD that people run has the repulsive sign. The printed flow exists here and nowhere else in the
library: `Attractive`, the RBF kernel with its push reversed.

1. **Three flows** on N(0, I) in the plane with η² = 1, from a small disc around the mode, with the
   SVGD bound where it applies: to the attractive flow, while particles share the kernel's concave
   cap. Also drawn is exp(-λτ), which is what the paper's proof gives (see `spos.theory`).
2. **SPOS** for several β, with its bound. That needs a bounded score, which a Gaussian lacks; H_F
   and m_K are taken over the region that the particles visited. Where λ ≤ 0 there is no bound.
3. **Variance against dimension**: what is left of each coordinate's variance of 1.

    spos paper collapse
    spos paper collapse --quick
"""

import functools
import math
from typing import Any

import numpy as np

from spos import Kernel
from spos.io.html import Table
from spos_experiments.frame.experiment import Estimate, Findings, Tick, in_parallel, once
from spos_experiments.frame.record import numbers
from spos_experiments.paper.collapse.figures import draw
from spos_experiments.paper.collapse.findings import bounds, claims
from spos_experiments.paper.collapse.flows import PRINTED, REPULSIVE, distances, variances
from spos_experiments.paper.collapse.settings import Settings
from spos_experiments.paper.gaussian import label, recorded_steps

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Do particles collapse?"
ABOUT = (
    "The distance between particles over time for SVGD, for SPOS, and for the flow as the paper "
    "prints it, with the paper's bounds where they apply; and the variance that is left as the "
    "dimension grows."
)


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    flow = (settings.flow_step, round(settings.flow_time / settings.flow_step))
    slow = (settings.spos_step, round(settings.spos_time / settings.spos_step))
    wide = settings.radii[0]
    tasks: dict[str, tuple[Kernel, float, float, float, int]] = {
        "SVGD": (REPULSIVE, math.inf, wide, *flow),
        "SPOS β = 1, the same flow": (REPULSIVE, 1.0, wide, *flow),
        **{f"as printed, radius {r:g}": (PRINTED, math.inf, r, *flow) for r in settings.radii},
        **{label(beta): (REPULSIVE, beta, wide, *slow) for beta in settings.betas},
        **{f"{label(b)}, as printed": (PRINTED, b, wide, *slow) for b in settings.betas},
    }
    jobs: list[Any] = [functools.partial(variances, settings, seed, d) for d in settings.dimensions]
    jobs += [functools.partial(distances, settings, seed, *task) for task in tasks.values()]
    results = in_parallel(jobs, tick)
    left = dict(zip(settings.dimensions, results, strict=False))
    paths = dict(zip(tasks, results[len(left) :], strict=True))

    curves = []
    for name, (kernel, beta, radius, h, steps) in tasks.items():
        epd, reach = paths[name]
        tau = h * np.arange(steps)
        keep = np.concatenate([[0], recorded_steps(steps - 1)])
        curve: dict[str, Any] = {"name": name, "beta": beta, "attractive": kernel is PRINTED}
        curve |= {"radius": radius, "reach": reach, "tau": tau[keep], "epd": epd[keep]}
        curves.append(curve | bounds(curve, settings))
    variance = {d: [Estimate.of(row) for row in rows] for d, rows in left.items()}
    labels = [label(beta) for beta in settings.cloud_betas]
    by_dimension = {
        name: {
            "mean": [each[n].mean for each in variance.values()],
            "se": [each[n].se for each in variance.values()],
        }
        for n, name in enumerate(labels)
    }
    return Findings(
        numbers=numbers(
            {"curves": curves, "dimensions": list(settings.dimensions), "variance": by_dimension}
        ),
        claims=claims(curves, by_dimension, settings),
        table=Table(
            ("variance ± s.e.", *labels, "truth"),
            [(f"dimension {d}", *map(str, each), "1") for d, each in variance.items()],
            f"Variance of a coordinate of {settings.cloud} particles on N(0, I) over the second "
            f"half of {settings.cloud_steps} steps, {settings.cloud_repeats} repeats.",
        ),
    )
