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

import dataclasses
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos import theory
from spos.interaction.kernels import Kernel
from spos.io.figures import COLOURS, OTHER, TRUTH
from spos.io.html import Table
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import (
    Drawing,
    Estimate,
    Findings,
    Tick,
    compiled,
    in_parallel,
)
from spos_experiments.frame.record import Claim, Record, numbers, verdict
from spos_experiments.paper.gaussian import label, recorded_steps

TITLE = "Do particles collapse?"
ABOUT = (
    "The distance between particles over time for SVGD, for SPOS, and for the flow as the paper "
    "prints it, with the paper's bounds where they apply; and the variance that is left as the "
    "dimension grows."
)
ETA2, PLANE = 1.0, 2


@dataclass(frozen=True)
class Settings:
    particles: int = 20
    repeats: int = 50
    radii: tuple[float, ...] = (0.25, 0.02)  # of the disc at the start
    flow_time: float = 5.0
    flow_step: float = 0.005
    betas: tuple[float, ...] = (1.0, 0.1, 0.03)
    spos_time: float = 3.0
    spos_step: float = 0.001
    dimensions: tuple[int, ...] = (2, 5, 10, 20, 50, 100)
    cloud: int = 50
    cloud_betas: tuple[float, ...] = (1.0, 10.0, math.inf)
    cloud_steps: int = 2500
    cloud_repeats: int = 10
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self, particles=8, repeats=3, flow_step=0.05, spos_step=0.01, betas=(0.1,),
            dimensions=(2, 20), cloud=10, cloud_steps=100, cloud_repeats=2, hasty=True,
        )  # fmt: skip


class Attractive(Kernel):
    """The RBF kernel with the sign of its gradient as the paper prints it: it pulls together."""

    def constant_slope(self, bandwidth: jax.Array) -> jax.Array:
        return -2.0 / bandwidth

    def __call__(self, sq: jax.Array, bandwidth: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.exp(-sq / bandwidth), self.constant_slope(bandwidth)


def log_normal(theta: jax.Array) -> jax.Array:
    return -0.5 * jnp.sum(theta**2)


REPULSIVE, PRINTED = spos.rbf(ETA2), Attractive("rbf", ETA2)


def distances(
    settings: Settings, seed: int, kernel: Kernel, beta: float, radius: float, h: float, steps: int
) -> tuple[np.ndarray, float]:
    """EPD/M before each step, with the mean square over repeats, and a particle's widest reach."""
    sampler = spos.spos(log_normal, h, beta, kernel=kernel)

    def seen(state: spos.State, info: spos.Info) -> tuple[jax.Array, jax.Array]:
        return info.epd, jnp.max(jnp.linalg.norm(state.particles, axis=1))

    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        angle_key, radius_key, run_key = jax.random.split(key, 3)
        angle = 2 * jnp.pi * jax.random.uniform(angle_key, (settings.particles,))
        length = radius * jnp.sqrt(jax.random.uniform(radius_key, (settings.particles,)))
        start = length[:, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)
        return spos.run(sampler, run_key, start, steps, observe=seen)[1]

    keys = jax.random.split(jax.random.key(seed), settings.repeats)
    epd, reach = compiled(jax.vmap(one), settings.hasty)(keys)
    mean = np.sqrt(np.mean(np.asarray(epd, np.float64) ** 2, axis=0)) / settings.particles
    return mean, max(float(jnp.max(reach)), radius)


def constants(radius: float) -> theory.Constants:
    """N(0, I) and the kernel as seen from within a disc around the mode."""
    return theory.Constants(
        dim=PLANE,
        lipschitz=1.0,
        convexity=1.0,
        score_bound=radius,
        bandwidth=ETA2,
        kernel_concavity=theory.kernel_concavity(ETA2, 2 * radius),
    )


def variances(settings: Settings, seed: int, dimension: int) -> np.ndarray:
    """The mean square of a coordinate late in the run, with axes (β, repeat)."""
    steps = settings.cloud_steps

    def one(key: jax.Array, beta: jax.Array) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        start = jax.random.normal(start_key, (settings.cloud, dimension))
        # without noise nothing limits the step, and a collapse is slow
        h = jnp.where(jnp.isinf(beta), 1.0, 0.03)
        sampler = spos.spos(log_normal, h, beta)
        _, seen = spos.run(
            sampler, run_key, start, steps, observe=lambda state, info: jnp.mean(state.particles**2)
        )
        return jnp.mean(seen[steps // 2 :])

    def all_repeats(keys: jax.Array, betas: jax.Array) -> jax.Array:
        return jax.lax.map(lambda key: jax.vmap(one, (None, 0))(key, betas), keys)

    key = jax.random.fold_in(jax.random.key(seed), dimension)
    keys = jax.random.split(key, settings.cloud_repeats)
    found = compiled(all_repeats, settings.hasty)(keys, jnp.asarray(settings.cloud_betas))
    return np.asarray(found, np.float64).T


def run(settings: Settings, seed: int, tick: Tick) -> Findings:
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


def bounds(curve: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The bound on EPD/M for this curve, as printed and as proved, or why there is none."""
    count, tau = settings.particles, curve["tau"]
    about = constants(curve["reach"])
    if math.isinf(curve["beta"]):
        if not curve["attractive"]:
            return {"bound": None, "why": "the theorem is about the attractive flow"}
        start = float(curve["epd"][0]) * count
        printed = [theory.svgd_spread(about, initial_spread=start, tau=t) for t in tau]
        # the proof bounds the square of EPD, which halves the exponent
        proved = [theory.svgd_spread(about, initial_spread=start, tau=t / 2) for t in tau]
    else:
        if not curve["attractive"]:  # its kernel contributes at worst -L to λ
            worst = -about.kernel_gradient_lipschitz
            about = dataclasses.replace(about, kernel_concavity=worst)
        gap = curve["radius"] ** 2  # of two uniform points of a disc: E‖θ - θ'‖² = r²
        about_run = {"beta": curve["beta"], "num_particles": count}
        options: dict[str, Any] = {**about_run, "initial_gap": gap}
        printed = [theory.spos_spread(about, tau=t, **options) for t in tau]
        proved = []
    if not printed[0].applies:
        return {"bound": None, "why": printed[0].why}
    return {
        "bound": [float(each) / count for each in printed],
        "proved": [float(each) / count for each in proved] or None,
        "why": "",
    }


def exceeds(curve: Mapping[str, Any], bound: str = "bound") -> bool:
    """Whether a curve leaves its bound anywhere, by more than rounding."""
    return worst(curve, bound) > 1.001


def worst(curve: Mapping[str, Any], bound: str = "bound") -> float:
    """The largest ratio of the measured distance to its bound."""
    return float(np.max(np.asarray(curve["epd"]) / np.asarray(curve[bound])))


def claims(
    curves: list[dict[str, Any]], variance: Mapping[str, Any], settings: Settings
) -> list[Claim]:
    named = {curve["name"]: curve for curve in curves}
    printed = [c for c in curves if c["attractive"] and math.isinf(c["beta"])]
    noisy = [c for c in curves if math.isfinite(c["beta"]) and c["name"].startswith("SPOS β")]
    noisy = [c for c in noisy if "same flow" not in c["name"]]
    applies = [c for c in noisy if c["bound"] is not None]
    refused = [c for c in noisy if c["bound"] is None]
    svgd = named["SVGD"]
    wide = printed[0]
    fell = {name: c["epd"][-1] / c["epd"][0] for name, c in (("SVGD", svgd), ("printed", wide))}
    top = settings.dimensions[-1]
    last = {name: each["mean"][-1] for name, each in variance.items()}
    return [
        Claim(
            claim="SVGD's particles collapse to a point.",
            measured=f"From time 0 to {settings.flow_time:g}, EPD changed by a factor of "
            f"{fell['SVGD']:.3g} with the repulsive sign that SVGD has, and of "
            f"{fell['printed']:.3g} with the attractive sign that the paper prints.",
            verdict=verdict(
                {
                    "the kernel repels, as in SVGD": fell["SVGD"] < 0.01,
                    "the kernel attracts, as the paper prints it": fell["printed"] < 0.01,
                }
            ),
            rule="Seen for a flow when EPD falls below a hundredth of its start.",
        ),
        Claim(
            claim="SVGD's EPD is bounded by C0 exp(−2λτ).",
            measured="Attractive flow: "
            + "; ".join(
                f"start radius {c['radius']:g}: EPD/M {c['epd'][-1]:.3g} at the end, "
                + (
                    f"bound {c['bound'][-1]:.3g}, with exp(−λτ) instead {c['proved'][-1]:.3g}"
                    if c["bound"] is not None
                    else f"no bound, because {c['why']}"
                )
                for c in printed
            )
            + f". The repulsive flow has no such bound: {svgd['why']}.",
            verdict=verdict(
                {
                    f"particles start within {c['radius']:g} of the mode": c["bound"] is not None
                    and not exceeds(c)
                    for c in printed
                }
            ),
            rule="Seen for a start when the attractive flow never exceeds the bound.",
        ),
        Claim(
            claim="SPOS's EPD is bounded by C1 exp(−2λτ) + 4 sqrt(d/β) M/λ.",
            measured="EPD/M and the bound, at the end: "
            + "; ".join(
                f"{c['name']}: {c['epd'][-1]:.3g} and {c['bound'][-1]:.3g} (at worst EPD is "
                f"{worst(c):.2f} times the bound)"
                for c in applies
            )
            + ". No bound, since λ ≤ 0: "
            + (", ".join(c["name"] for c in refused) or "none")
            + ". H_F and m_K are those of the region that the particles visited.",
            verdict=verdict(
                {c["name"]: not exceeds(c) for c in applies} or {"no β": False}, "run as "
            ),
            rule="Seen for a β and a sign, among those with λ > 0, when the measured EPD never "
            "exceeds the bound.",
        ),
        Claim(
            claim="The noise of SPOS keeps particles from collapsing.",
            measured=f"Variance left of 1 in {top} dimensions: "
            + "; ".join(f"{name}: {value:.3f}" for name, value in last.items())
            + ".",
            verdict=verdict({n: v > 0.5 for n, v in last.items() if n != "SVGD"}, "run as "),
            rule=f"Seen for a β when more than half of the variance is left in {top} dimensions.",
        ),
    ]


def draw(record: Record) -> list[Drawing]:
    return [_flows(record), _noisy(record), _dimensions(record)]


def _flows(record: Record) -> Drawing:
    curves = {curve["name"]: curve for curve in record.numbers["curves"]}
    shown = {
        "SVGD": ("SVGD", COLOURS["svgd"], "-"),
        "SPOS β = 1, the same flow": ("SPOS β = 1", COLOURS["spos"], "-"),
    }
    starts = [name for name in curves if name.startswith("as printed")]
    shown |= dict.fromkeys(starts, ("as printed", OTHER, "-"))
    figure, axes = drawing.titled(
        5.2,
        "Distance between particles over time",
        "root mean square, from a small disc around the mode of N(0, I), logarithmic axis;\n"
        "grey: the paper's bound for the printed flow, dashed, and what its proof gives, dotted",
    )
    labels = []
    for name, (text, tint, stroke) in shown.items():
        curve = curves[name]
        axes.plot(curve["tau"], curve["epd"], stroke, color=tint)
        labels.append((curve["tau"][-1], curve["epd"][-1], text, tint))
        if curve.get("bound") is not None:
            axes.plot(curve["tau"], curve["bound"], "--", color=drawing.NOTE, linewidth=1.4)
            axes.plot(curve["tau"], curve["proved"], ":", color=drawing.NOTE, linewidth=1.4)
    axes.set_yscale("log")
    axes.set_ylim(bottom=1e-7)
    axes.set_xlim(0, record.settings["flow_time"])
    axes.set_xlabel("time τ = steps × h")
    axes.set_ylabel("EPD / M")
    axes.grid(color=drawing.GRID, linewidth=0.6)
    x, heights, texts, tints = zip(*labels, strict=True)
    drawing.end_labels(axes, x[0], heights, texts, tints, fontsize=11, weight="bold")
    radii = ", ".join(f"{curves[name]['radius']:g}" for name in starts)
    return Drawing(
        "epd.png",
        figure,
        "Distance between particles over time, on a logarithmic axis: SVGD and SPOS spread out "
        "and settle near the spread of the target, the flow as printed falls together.",
        f"The printed flow starts from discs of radius {radii}. Its bounds: "
        + "; ".join(
            f"radius {curves[n]['radius']:g}: "
            + (
                curves[n]["why"]
                or ("broken as printed" if exceeds(curves[n]) else "kept as printed")
                + (", broken as proved" if exceeds(curves[n], "proved") else ", kept as proved")
            )
            for n in starts
        )
        + ". For SVGD there is no bound to draw: the theorem is about the attractive sign.",
    )


def _noisy(record: Record) -> Drawing:
    curves = [
        c
        for c in record.numbers["curves"]
        if c["name"].startswith("SPOS β") and "same flow" not in c["name"]
    ]
    betas = list(dict.fromkeys(c["beta"] for c in curves))
    figure, panels = drawing.titled(
        4.2,
        "Distance between particles of SPOS over time",
        "blue: SPOS; purple: with the printed sign; dashed: the paper's bound for each;\n"
        "black: the spread of the target",
        columns=len(betas),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    count = record.settings["particles"]
    truth = math.sqrt(2 * PLANE * (count - 1) / count)
    for axes, beta in zip(panels[0], betas, strict=True):
        axes.axhline(truth, color=TRUTH, linewidth=1)
        missing = []
        for curve in (c for c in curves if c["beta"] == beta):
            tint = OTHER if curve["attractive"] else COLOURS["spos"]
            axes.plot(curve["tau"], curve["epd"], color=tint)
            if curve["bound"] is not None:
                axes.plot(curve["tau"], curve["bound"], "--", color=tint, linewidth=1.5)
            else:
                missing.append(tint)
        if len(missing) == 2:
            axes.text(0.97, 0.06, "no bound:\nλ ≤ 0", transform=axes.transAxes, ha="right",
                      color=drawing.NOTE)  # fmt: skip
        elif missing:
            axes.text(0.97, 0.06, "no bound: λ ≤ 0", transform=axes.transAxes, ha="right",
                      color=missing[0])  # fmt: skip
        axes.set_title(f"β = {beta:g}", fontsize=11)
        axes.set_xlabel("time τ")
        axes.grid(color=drawing.GRID, linewidth=0.6)
    highest = max(max(c["epd"] + (c["bound"] or [])) for c in curves)
    panels[0, 0].set_ylim(0, 1.1 * max(highest, truth))
    panels[0, 0].set_ylabel("EPD / M")
    return Drawing(
        "epd-spos.png",
        figure,
        "Distance between particles of SPOS over time for several β, with the repulsive and with "
        "the printed sign, and the paper's bounds where they apply.",
        "H_F and m_K in the bounds are those of the region that the particles visited, since a "
        "Gaussian's score has no bound. "
        + " ".join(f"{c['name']}: {c['why']}." for c in curves if c["bound"] is None),
    )


def _dimensions(record: Record) -> Drawing:
    found = record.numbers
    x = found["dimensions"]
    figure, axes = drawing.titled(
        4.2,
        "How much of the variance is left?",
        f"{record.settings['cloud']} particles on a standard normal; the truth is 1 in every "
        "dimension",
    )
    axes.axhline(1.0, color=TRUTH, linewidth=1.2, linestyle=(0, (4, 3)))
    strokes = iter(("-", ":", "-."))
    ends = []
    for name, each in found["variance"].items():
        tint = COLOURS["svgd" if name == "SVGD" else "spos"]
        stroke = "-" if name == "SVGD" else next(strokes)
        bars = 2 * np.asarray(each["se"])
        axes.errorbar(x, each["mean"], bars, color=tint, ls=stroke, marker="o", markersize=5)
        ends.append((each["mean"][-1], f"{name}\n{each['mean'][-1]:.2f}", tint))
    axes.set_xscale("log")
    axes.set_xticks(x, [str(d) for d in x])
    axes.minorticks_off()
    axes.set_ylim(0, 1.15)
    axes.grid(axis="y", color=drawing.GRID, linewidth=0.6)
    axes.set_xlabel("dimension")
    axes.set_ylabel("variance of a coordinate")
    heights, texts, tints = zip(*ends, strict=True)
    drawing.end_labels(axes, x[-1], heights, texts, tints, gap=2.4, weight="bold")
    return Drawing(
        "dimension.png",
        figure,
        "Variance against dimension. "
        + " ".join(f"{text.replace(chr(10), ' ')}." for _, text, _ in ends),
        "Median bandwidth; bars of ± 2 standard errors.",
    )
