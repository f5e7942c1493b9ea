"""`spos paper particles`: does the error grow with the number of particles?

The Gaussian of `spos paper gaussian`, at a fixed number of iterations T: the error

    average over repeats of | (1/M) Σ_i θ_i(T)² - 5 |

against M. The median rule η² = med²/log M narrows the kernel as M grows, and a particle only learns
from scores within its kernel's reach, so that a narrow kernel moves the cloud more slowly. To tell
the two apart, M is also held fixed while η² takes the values that the rule gave to each M.

    spos paper particles
    spos paper particles --quick
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
from spos.io.figures import COLOURS
from spos.io.html import Table
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import (
    Drawing,
    Estimate,
    Findings,
    Tick,
    compiled,
    in_parallel,
    once,
)
from spos_experiments.frame.record import HOLDS, NOT_SEEN, Claim, Record, numbers, verdict
from spos_experiments.paper import line
from spos_experiments.paper.gaussian import BANDWIDTHS, TRUTH, label, log_density, paths

TITLE = "Error against the number of particles"
ABOUT = (
    "The same Gaussian at a fixed number of iterations: the error against the number of particles "
    "M, the bandwidth that the median rule chooses for each M, and the error when only the "
    "bandwidth changes."
)
FIXED, MEDIAN = BANDWIDTHS


@dataclass(frozen=True)
class Settings:
    particles: tuple[int, ...] = (5, 10, 20, 50, 100, 200, 500, 1000)
    betas: tuple[float, ...] = (math.inf, 100.0, 1.0)
    num_steps: int = 1000
    step_size: float = 0.03
    repeats: int = 100
    few: int = 10  # "errors increase" is judged from here to the largest M
    probe: int = 100  # particles where only the bandwidth changes
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            particles=(10, 60),
            betas=(math.inf, 1.0),
            num_steps=60,
            repeats=4,
            probe=60,
            hasty=True,
        )


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    def seen(state: spos.State, info: spos.Info) -> tuple[jax.Array, jax.Array]:
        return jnp.mean(state.particles**2), info.bandwidth

    cases = [(width, m) for m in sorted(settings.particles, reverse=True) for width in BANDWIDTHS]
    jobs = [functools.partial(paths, settings, seed, seen, *case) for case in cases]
    total = len(jobs) + 1
    found = dict(zip(cases, in_parallel(jobs, lambda done, _: tick(done, total)), strict=True))
    errors = {
        (label(beta), width): {
            m: Estimate.of(np.abs(np.float64(found[width, m][0][:, n, -1]) - TRUTH))
            for m in settings.particles
        }
        for width in BANDWIDTHS
        for n, beta in enumerate(settings.betas)
    }
    svgd = settings.betas.index(math.inf)
    eta2 = {m: float(found[MEDIAN, m][1][:, svgd].mean()) for m in settings.particles}
    held = dict(zip(eta2, probe(settings, seed, list(eta2.values())), strict=True))
    tick(total, total)
    curves = [
        {
            "method": method,
            "bandwidth": width,
            "error": [each.mean for each in series.values()],
            "se": [each.se for each in series.values()],
        }
        for (method, width), series in errors.items()
    ]
    return Findings(
        numbers=numbers(
            {
                "particles": list(settings.particles),
                "curves": curves,
                "median rule": list(eta2.values()),
                "probe error": [each.mean for each in held.values()],
                "probe se": [each.se for each in held.values()],
            }
        ),
        claims=claims(errors, eta2, held, settings),
        table=Table(
            ("error ± s.e.", *(f"M = {m}" for m in settings.particles)),
            [
                *((f"{a}, {b}", *map(str, series.values())) for (a, b), series in errors.items()),
                ("median rule's η²", *(f"{width:.3f}" for width in eta2.values())),
                (f"SVGD, M = {settings.probe}, that η²", *map(str, held.values())),
            ],
            f"Mean |E θ² − 5| after {settings.num_steps} iterations, {settings.repeats} repeats.",
        ),
    )


def probe(settings: Settings, seed: int, widths: list[float]) -> list[Estimate]:
    """SVGD's error with one number of particles, at several fixed bandwidths."""
    count = settings.probe

    def one(key: jax.Array, width: jax.Array) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        start = jax.random.normal(start_key, (count,))
        sampler = line.sampler(log_density, settings.step_size, jnp.inf, width, count)
        state, _ = spos.run(
            sampler, run_key, start, settings.num_steps, observe=lambda state, info: None
        )
        return jnp.mean(state.particles**2)

    def all_repeats(keys: jax.Array, widths: jax.Array) -> jax.Array:
        return jax.lax.map(lambda key: jax.vmap(one, (None, 0))(key, widths), keys)

    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), 2**30), settings.repeats)
    ends = compiled(all_repeats, settings.hasty)(keys, jnp.asarray(widths))
    return [Estimate.of(column) for column in np.abs(np.asarray(ends, np.float64) - TRUTH).T]


def claims(
    errors: Mapping[tuple[str, str], Mapping[int, Estimate]],
    eta2: Mapping[int, float],
    held: Mapping[int, Estimate],
    settings: Settings,
) -> list[Claim]:
    few, many = settings.few, max(settings.particles)
    rises, dips, lowest = {}, {}, {}
    for (method, width), series in errors.items():
        name = f"{method}, {width}"
        rises[name] = series[many].above(series[few])
        lowest[name] = best = min(series, key=lambda m: series[m].mean)
        ends = series[min(series)], series[many]
        dips[name] = all(end.above(series[best]) for end in ends)
    # our own explanation: the kernel's width alone does it, and without it nothing rises
    near = min(eta2, key=lambda m: abs(m - settings.probe))
    alone = held[many].above(held[near])
    without = [
        n for (_, width), n in zip(errors, rises, strict=True) if width == FIXED and rises[n]
    ]
    return [
        Claim(
            claim="At a fixed number of iterations the error increases with the number of "
            "particles.",
            measured=f"Error at M = {few} and at M = {many}: "
            + "; ".join(f"{a}, {b}: {s[few]} and {s[many]}" for (a, b), s in errors.items())
            + ".",
            verdict=verdict(rises, "run as "),
            rule=f"Seen for a method when the error at M = {many} exceeds the one at M = {few} by "
            "more than two standard errors.",
        ),
        Claim(
            claim="There is a best number of particles: with fewer or more the error is larger.",
            measured="Smallest error: "
            + "; ".join(
                f"{a}, {b}: {s[m]} at M = {m}, then {s[many]} at M = {many}"
                for ((a, b), s), m in zip(errors.items(), lowest.values(), strict=True)
            )
            + ".",
            verdict=verdict(dips, "run as "),
            rule="Seen for a method when the errors at the smallest and at the largest M both "
            "exceed the smallest error by more than two standard errors.",
        ),
        Claim(
            claim="Our explanation: not the number of particles raises the error but the narrower "
            "kernel that the median rule gives to more of them.",
            measured=f"The rule gives η² = {eta2[near]:.3f} to {near} particles and "
            f"{eta2[many]:.3f} to {many}. With M = {settings.probe} throughout, SVGD's error is "
            f"{held[near]} at the first width and {held[many]} at the second. With η² = 1 the "
            f"error rises with M for {', '.join(without) if without else 'no method'}.",
            verdict=HOLDS if alone and not without else NOT_SEEN,
            rule="Seen when the narrower kernel alone raises the error by more than two standard "
            "errors, and no method's error rises with M while η² is fixed.",
        ),
    ]


MARKS: dict[str, Any] = {"marker": "o", "markersize": 4}
LINES = {"SVGD": (COLOURS["svgd"], "-"), "SPOS β = 1": (COLOURS["spos"], "-")}


def draw(record: Record) -> list[Drawing]:
    found: Mapping[str, Any] = record.numbers
    probe_size = record.settings["probe"]
    sizes = np.asarray(found["particles"])
    figure, ((left, right), (widths, probed)) = drawing.titled(
        6.6,
        "More particles, larger error?",
        f"mean |E θ² − 5| after {record.settings['num_steps']} iterations, "
        f"{record.settings['repeats']} repeats; bars of ± 2 standard errors",
        rows=2,
        columns=2,
    )
    left.sharey(right)
    for axes, width in ((left, FIXED), (right, MEDIAN)):
        here = [curve for curve in found["curves"] if curve["bandwidth"] == width]
        for curve in here:
            tint, stroke = LINES.get(curve["method"], (COLOURS["spos"], ":"))
            bars = 2 * np.asarray(curve["se"])
            axes.errorbar(sizes, curve["error"], bars, color=tint, ls=stroke, **MARKS)
        axes.set_title(f"error, {width}", fontsize=11)
        drawing.log_axes(axes, sizes)
    for axes, width in ((left, FIXED), (right, MEDIAN)):
        here = [curve for curve in found["curves"] if curve["bandwidth"] == width]
        drawing.end_labels(
            axes,
            float(sizes[-1]),
            [curve["error"][-1] for curve in here],
            [curve["method"].replace("SPOS ", "") for curve in here],
            [LINES.get(curve["method"], (COLOURS["spos"], ":"))[0] for curve in here],
            fontsize=10,
            weight="bold",
        )
    widths.plot(sizes, found["median rule"], "o-", color=drawing.NOTE, markersize=4)
    widths.set_title("η² of the median rule", fontsize=11)
    drawing.log_axes(widths, sizes)
    widths.set_yscale("linear")
    widths.set_ylim(bottom=0)
    eta2 = np.asarray(found["median rule"])
    svgd = next(c for c in found["curves"] if c["method"] == "SVGD" and c["bandwidth"] == MEDIAN)
    probed.plot(eta2, svgd["error"], "o-", color=COLOURS["svgd"], markersize=4)
    bars = 2 * np.asarray(found["probe se"])
    probed.errorbar(eta2, found["probe error"], bars, color=drawing.NOTE, ls="--", **MARKS)
    probed.set_title("SVGD's error against η²", fontsize=11)
    probed.set_ylim(0, 1.15 * max(svgd["error"] + found["probe error"]))
    probed.set_xlim(0, 1.25 * eta2.max())
    key = (("M varies with η²", COLOURS["svgd"]), (f"M = {probe_size} for every η²", drawing.NOTE))
    for row, (text, tint) in enumerate(key):
        place = (0.98, 0.16 - 0.11 * row)
        probed.text(*place, text, transform=probed.transAxes, ha="right", color=tint)
    best = int(np.argmin(svgd["error"]))
    for n in {0, best, len(sizes) - 1}:
        probed.annotate(
            f"M = {sizes[n]}",
            (eta2[n], svgd["error"][n]),
            xytext=(-14, -14) if n == best else (6, 4),
            textcoords="offset points",
            fontsize=9,
            color=COLOURS["svgd"],
        )
    probed.grid(color=drawing.GRID, linewidth=0.6)
    probed.set_xlabel("bandwidth η²")
    for axes in (left, right, widths):
        axes.set_xlabel("particles M")
    return [
        Drawing(
            "particles.png",
            figure,
            "Four panels: error against the number of particles with a fixed and with the median "
            "bandwidth; the median bandwidth, which shrinks as particles are added; and the error "
            "of SVGD against the bandwidth, when M changes with it and when M stays the same.",
            "Above: the error against M. Below: the bandwidth that the median rule gives to each "
            "M, and SVGD's error at those bandwidths, with that M and with M held fixed.",
        )
    ]
