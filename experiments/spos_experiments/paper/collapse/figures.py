"""The figures of `spos paper collapse`."""

import math

import numpy as np

from spos.io.figures import COLOURS, OTHER, TRUTH
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.collapse.findings import exceeds
from spos_experiments.paper.collapse.flows import PLANE


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
