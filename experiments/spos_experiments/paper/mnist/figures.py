"""The figure of `spos paper mnist`: errors, calibration, and doubt where there should be doubt."""

import itertools
from typing import Any

import numpy as np

from spos.io.figures import COLOURS, OTHER
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.mnist.findings import KINDS, LABELS, size_name


def label(row: dict[str, Any]) -> str:
    return f"{LABELS[row['method']]} {size_name(row['network'], row['hidden'])}"


def draw(record: Record) -> list[Drawing]:
    rows = record.numbers["rows"]
    figure, (left, middle, right) = drawing.titled(
        *(0.8 + 0.25 * max(12, len(rows)), "Many networks and one"),
        "filled: the average of many networks; open: one of them alone",
        columns=3,
    )
    for at, row in enumerate(rows):
        tint = COLOURS.get(row["method"], OTHER)
        left.plot(100 * row["error"], -at, "o", color=tint)
        left.plot(100 * row["single_error"], -at, "o", color=tint, mfc="white")
    left.set_yticks([-n for n in range(len(rows))], [label(row) for row in rows])
    left.set_xlabel("wrong, %")
    first = [row for row in rows if row["hidden"] == rows[0]["hidden"]]  # more would be a tangle
    middle.plot([0, 1], [0, 1], color=drawing.GRID)
    for row in first:
        confidence, accuracy, count = np.asarray(row["reliability"], float)
        seen = count >= 20
        if row["method"] in COLOURS:
            middle.plot(confidence[seen], accuracy[seen], ".-", color=COLOURS[row["method"]])
    middle.set_xlabel("confidence")
    middle.set_ylabel("share right")
    styles = itertools.cycle(("-", "--", "-."))  # of single networks, which have one colour
    for row in first:
        tint, values = COLOURS.get(row["method"], OTHER), [row["entropy"][kind] for kind in KINDS]
        if row["particles"] > 1:
            right.plot(KINDS, values, "o-", ms=4, color=tint, lw=2)
            alone = [row["single_entropy"][kind] for kind in KINDS]
            right.plot(KINDS, alone, "o:", ms=4, mfc="white", color=tint, lw=1)
        else:
            named, style = LABELS[row["method"]], next(styles)
            right.plot(KINDS, values, style, marker="o", ms=3, color=tint, lw=1, label=named)
    if any(row["particles"] == 1 for row in first):
        right.set_ylim(top=1.4 * right.get_ylim()[1])  # for the legend
        right.legend(fontsize=6.5, loc="upper left", frameon=False)
    right.set_ylabel("entropy, nats")
    right.tick_params(axis="x", labelsize=8, labelrotation=35)
    size = size_name(rows[0]["network"], rows[0]["hidden"])
    titles = ("Wrong answers", f"Confidence, {size}", f"Doubt, {size}")
    for axes, title in zip((left, middle, right), titles, strict=True):
        axes.set_title(title, fontsize=9.5)
        axes.grid(color=drawing.GRID, linewidth=0.6)
        axes.set_axisbelow(True)
    told = "; ".join(f"{label(r)} {100 * r['error']:.2f} %" for r in rows)
    return [
        Drawing(
            "mnist.png",
            figure,
            f"Test errors: {told}.",
            "Errors, reliability and entropies on the test images and on odd ones.",
        )
    ]
