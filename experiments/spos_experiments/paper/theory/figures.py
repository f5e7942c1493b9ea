"""From numbers to pictures."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spos.io.figures import COLOURS, OTHER, TRUTH
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.theory.claims import about_case, estimate
from spos_experiments.paper.theory.densities import CURVATURE, ETA2
from spos_experiments.paper.theory.laws import ABOVE_FLOOR


def draw(record: Record) -> list[Drawing]:
    found = record.numbers
    return [_draw_particles(found), _draw_decay(found), _draw_steps(found, record.settings),
            _draw_plan(found)]  # fmt: skip


def _line(axes: Any, x: Any, y: Any, se: Any, tint: str, mark: str = "o") -> None:
    x, y, se = (np.asarray(v, float) for v in (x, y, se))
    axes.fill_between(x, np.maximum(y - 2 * se, 1e-9), y + 2 * se, color=tint, alpha=0.2, lw=0)
    axes.plot(x, y, mark + "-", color=tint, markersize=4, linewidth=1.8)


def _draw_particles(found: Mapping[str, Any]) -> Drawing:
    cases = found["particles"]
    figure, panels = drawing.titled(
        5.0,
        "The law nears its limit faster than the bound",
        "distances against the number of particles M; filled: beyond what chance gives,\n"
        "dotted: slopes −1/2 and −1; bands of ± 2 standard errors",
        columns=len(cases), sharey=True, squeeze=False,
    )  # fmt: skip
    kinds = {"cloud": ("cloud", COLOURS["svgd"]), "twin": ("twin", COLOURS["sgld"]),
             "law": ("law", COLOURS["spos"])}  # fmt: skip
    for axes, case in zip(panels[0], cases, strict=True):
        sizes = np.asarray(case["sizes"], float)
        labels = []
        for kind, (text, tint) in kinds.items():
            y, se, floor = (np.asarray(case[kind][key]) for key in ("w1", "se", "floor"))
            clear = y > ABOVE_FLOOR * floor
            _line(axes, sizes[clear], y[clear], se[clear], tint)
            axes.plot(sizes[~clear], y[~clear], "o", mfc="white", color=tint, markersize=4)
            if clear.any():
                labels.append((text, tint, y[clear][-1], sizes[clear][-1]))
        for anchor, power in (("twin", -0.5), ("law", -1.0)):
            y = case[anchor]["w1"][0] * (sizes / sizes[0]) ** power
            axes.plot(sizes, y, ":", color=drawing.NOTE, linewidth=1.2)
        if case["bound"][0] is not None:
            axes.plot(sizes, case["bound"], "--", color=TRUTH, linewidth=1.6)
            labels.append(("bound", TRUTH, case["bound"][-1], sizes[-1]))
        axes.set_title(about_case(case), fontsize=10.5)
        axes.set_xlabel("M")
        axes.set_xlim(sizes[0] / 1.2, sizes[-1] * 1.2)
        case["labels"] = labels
    low = min(min(c["law"]["w1"]) for c in cases)
    high = max(max(c["cloud"]["w1"] + [b for b in c["bound"] if b]) for c in cases)
    for axes, case in zip(panels[0], cases, strict=True):
        drawing.log_axes(axes, case["sizes"], [v for v in (1e-4, 1e-3, 1e-2, 0.1, 1.0)
                                               if 0.5 * low <= v <= 2 * high])  # fmt: skip
        axes.set_ylim(0.6 * low, 1.6 * high)
    panels[0, 0].set_ylabel("distance")
    for axes, case in zip(panels[0], cases, strict=True):
        labels = case.pop("labels")
        drawing.end_labels(axes, case["sizes"][-1], [h for *_, h, _ in labels],
                           [t for t, *_ in labels], [c for _, c, *_ in labels],
                           fontsize=9.5, weight="bold")  # fmt: skip
    return Drawing(
        "particles.png",
        figure,
        "Three distances against the number of particles on logarithmic axes, a panel for each "
        "target and β, with the bound where it applies.",
        "Law: one particle's law from the mean-field law. Twin: root mean square distance of a "
        "particle from the mean-field particle with the same noise, the quantity in the proof. "
        "Cloud: W1 of one run's particles from the target, averaged over runs. "
        + " ".join(f"{about_case(c)} has no bound: {c['why']}." for c in cases if c["why"]),
    )


def _draw_decay(found: Mapping[str, Any]) -> Drawing:
    curves = found["decay"]
    bounded = [c for c in curves if c["over"] is not None]
    figure, (left, right) = drawing.titled(
        5.0,
        "Decay in time, and the rate that the bound promises",
        "left: W1 from the target, dashed: c3 exp(−2λ1τ), dotted: c3 exp(−λ1τ);\n"
        "right: measured rates ± 2 standard errors, and the bound's",
        columns=2,
        width_ratios=(1.3, 1.0),
    )
    tints = dict(zip([c["beta"] for c in curves], drawing.ramp(len(curves)), strict=True))
    labels = []
    for c in bounded:
        tau, y, floor = (np.asarray(c[key]) for key in ("tau", "w1", "floor"))
        shown = np.minimum.accumulate(y > ABOVE_FLOOR * floor)  # until chance begins to matter
        left.plot(tau[shown], y[shown], color=tints[c["beta"]])
        # bounds only as far as the distance can be measured
        for key, stroke in (("printed", "--"), ("sound", ":")):
            left.plot(tau[shown], np.asarray(c[key])[shown], stroke, color=tints[c["beta"]], lw=1.4)
        labels.append((f"β = {c['beta']:g}", tints[c["beta"]], tau[shown][-1], y[shown][-1]))
    left.set_yscale("log")
    left.set_ylim(bottom=2e-3)
    left.set_xlim(left=0)
    left.set_xlabel("time τ")
    left.set_ylabel("W1 from the target")
    left.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
    left.minorticks_off()
    for text, tint, x, y in labels:
        left.annotate(
            text,
            (x, y),
            xytext=(0, -5),
            textcoords="offset points",
            color=tint,
            fontsize=9.5,
            weight="bold",
            ha="center",
            va="top",
            annotation_clip=False,
        )
    betas = np.asarray([c["beta"] for c in curves])
    rates = [estimate(c["rate"]) for c in curves]
    fine = np.geomspace(betas.min(), betas.max(), 200)
    half = CURVATURE / fine - CURVATURE - 2 * math.sqrt(2 / math.e / ETA2)
    right.plot(fine, fine * 0 + CURVATURE * (1 / fine + 1), color=drawing.NOTE, linewidth=1.2)
    right.plot(fine[half > 0], 2 * half[half > 0], "--", color=TRUTH, linewidth=1.6)
    right.plot(fine[half > 0], half[half > 0], ":", color=TRUTH, linewidth=1.6)
    for c, rate in zip(curves, rates, strict=True):
        right.errorbar(c["beta"], rate.mean, 2 * rate.se, fmt="o", color=tints[c["beta"]],
                       markersize=6, capsize=3)  # fmt: skip
    right.set_ylim(1, 130)
    drawing.log_axes(right, [0.1, 1, 10], (1, 3, 10, 30, 100))
    right.set_xlabel("β")
    right.set_ylabel("rate")
    right.text(1.5, CURVATURE * (1 / 1.5 + 1) * 1.25, "wide kernel,\nm (1/β + 1)", fontsize=9,
               color=drawing.NOTE, va="bottom")  # fmt: skip
    right.text(0.115, 85, "2λ1", fontsize=10, weight="bold")
    right.text(0.42, 1.6, "λ1", fontsize=10, weight="bold", ha="right")
    return Drawing(
        "decay.png",
        figure,
        "Left, distance from the target over time with two exponential bounds for three values of "
        "β. Right, measured rates of decay against β beside the bound's rates.",
        "The printed rate 2λ1 is faster than the particles for small β; λ1, which the proof gives, "
        "is not. For larger β the bound is silent (λ1 ≤ 0), and the particles arrive all the same.",
    )


def _draw_steps(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Drawing:
    curves = found["steps"]
    figure, axes = drawing.titled(
        5.2,
        "A fixed step settles; a falling one may never arrive",
        f"W1 from the target after T steps, {settings['steps_particles']} particles, "
        f"β = {settings['steps_beta']:g}; bands of ± 2 standard errors",
    )
    tints = {(0.0, 0): COLOURS["spos"], (0.0, 1): COLOURS["svgd"], (1.0, 0): OTHER,
             (1.0, 1): COLOURS["sgld"]}  # fmt: skip
    small = min(c["h0"] for c in curves)
    labels = []
    for c in curves:
        tint = tints[c["power"], int(c["h0"] > small)]
        text = f"h = {c['h0']:.2g}" if c["power"] == 0 else f"{c['h0']:.2g}/(k+1)"
        _line(axes, c["steps"], c["w1"], c["se"], tint)
        labels.append((text, tint, c["w1"][-1]))
    fixed = next(c for c in curves if c["power"] == 0 and c["h0"] == small)
    if fixed["settled"]:
        first = fixed["steps"].index(fixed["settled"][0])
        steps = np.asarray(fixed["steps"][first:], float)
        axes.plot(steps, fixed["w1"][first] * np.sqrt(steps / steps[0]), ":", color=drawing.NOTE)
        axes.annotate("growth as √T, as in the bound", (steps[-1], fixed["w1"][first]
                      * math.sqrt(steps[-1] / steps[0])), xytext=(0, 4), ha="right", va="bottom",
                      textcoords="offset points", fontsize=9.5, color=drawing.NOTE)  # fmt: skip
    axes.set_ylim(0.5 * min(min(c["w1"]) for c in curves), 2.0)
    drawing.log_axes(axes, [1, 10, 100, 1000])
    axes.set_xlim(1, curves[0]["steps"][-1])
    axes.set_xlabel("number of steps T")
    axes.set_ylabel("W1 from the target")
    drawing.end_labels(axes, curves[0]["steps"][-1], [y for *_, y in labels],
                       [t for t, *_ in labels], [c for _, c, _ in labels],
                       weight="bold")  # fmt: skip
    return Drawing(
        "steps.png",
        figure,
        "Distance from the target against the number of steps on logarithmic axes, for two fixed "
        "steps and two falling ones.",
        f"{small:.2g} is the largest step for which the bounds hold. Their numbers, with the "
        "unnamed constant c4 = 1, are far above this figure "
        f"({_last_number(curves)}). From 32 steps on, each point pools a doubling of T.",
    )


def _last_number(curves: list[dict[str, Any]]) -> str:
    shown = [(c, c["bound"][-1]) for c in curves if c["bound"][-1] is not None]
    return "; ".join(
        f"{'fixed' if c['power'] == 0 else 'falling'} step: {b:.2g} at T = {c['steps'][-1]}"
        for c, b in shown
    ) or "no condition met"  # fmt: skip


def _draw_plan(found: Mapping[str, Any]) -> Drawing:
    plan = found["plan"]
    figure, panels = drawing.titled(
        4.8,
        "A plan made on one target, used on another",
        f"error of one cloud against M, at the same cost M T = {plan['budget']}; "
        "a line for each step h",
        columns=len(plan["targets"]), sharey=True, squeeze=False,
    )  # fmt: skip
    for axes, (name, each) in zip(panels[0], plan["targets"].items(), strict=True):
        steps = sorted({t["step_size"] for t in each["grid"]})
        labels = []
        for h, tint in zip(steps, drawing.ramp(len(steps)), strict=True):
            rows = [t for t in each["grid"] if t["step_size"] == h and t["error"] is not None]
            x, y, se = ([t[key] for t in rows] for key in ("particles", "error", "se"))
            _line(axes, x, y, se, tint, mark="")
            labels.append((f"{h:g}", tint, y[-1]))
        if "followed" in each:
            got = each["followed"]
            axes.errorbar(got["particles"], got["error"], 2 * got["se"], fmt="*", markersize=15,
                          color=COLOURS["spos"], mec="white", zorder=5)  # fmt: skip
            axes.annotate(f"the plan: h = {got['step_size']:.2g}", (got["particles"], got["error"]),
                          xytext=(0, -12), textcoords="offset points", fontsize=9.5, ha="center",
                          va="top", color=COLOURS["spos"], weight="bold")  # fmt: skip
        axes.set_title(name, fontsize=11)
        axes.set_xlabel("M")
        sizes = sorted({t["particles"] for t in each["grid"]})
        drawing.log_axes(axes, sizes, (0.03, 0.1, 0.3, 1))
        axes.set_ylim(0.015, 1.5)
        widest = max(sizes[-1], each.get("followed", {"particles": 0})["particles"])
        axes.set_xlim(sizes[0] / 1.1, widest * 1.1)
        labels[-1] = (f"h = {labels[-1][0]}", *labels[-1][1:])
        drawing.end_labels(axes, sizes[-1], [y for *_, y in labels], [t for t, *_ in labels],
                           [c for _, c, _ in labels], fontsize=9, weight="bold")  # fmt: skip
    panels[0, 0].set_ylabel("W1 of a cloud")
    model = plan["model"]
    fitted = "No plan was made: " + plan["why"] + "." if plan["why"] else (
        f"Fitted to short runs on a Gaussian: error = {model['a']:.2g}/√M + {model['b']:.2g} "
        f"exp(−{model['c']:.2g} T h) + {model['e']:.2g} h, off by {model['misfit']:.0%}."
    )  # fmt: skip
    return Drawing(
        "plan.png",
        figure,
        "Error against the number of particles for several steps at one cost, a panel for each "
        "target, with the planned setting as a star.",
        fitted,
    )
