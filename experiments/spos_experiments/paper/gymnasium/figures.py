"""The figure: learning curves."""

import math

from spos.io.figures import TRUTH
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.gymnasium.settings import SOLVED, SPARSE
from spos_experiments.paper.learning.figures import TINTS
from spos_experiments.paper.learning.findings import LABELS


def draw(record: Record) -> list[Drawing]:
    rows = [row for row in record.numbers["rows"] if row["method"] in LABELS]
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    columns = len(tasks) if len(tasks) < 5 else 3
    count = math.ceil(len(tasks) / columns)
    figure, panels = drawing.titled(
        1.2 + 2.2 * count,
        "Tasks of Gymnasium",
        "mean return over policies against iterations; dotted: solved",
        rows=count,
        columns=columns,
        squeeze=False,
    )
    for axes in panels.flat[len(tasks) :]:
        axes.axis("off")
    for axes, task in zip(panels.flat, tasks, strict=False):
        axes.axhline(SOLVED[task], color=TRUTH, lw=0.8, ls=":")
        for row in (row for row in rows if row["task"] == task):
            curve, tint = row["curve"], TINTS[row["method"]]
            axes.plot(range(1, len(curve) + 1), curve, color=tint, lw=1.2)
        axes.set_title(task.partition("-")[0].replace("Continuous", ""), fontsize=9)
        axes.set_xlabel("iteration", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.grid(color=drawing.GRID, lw=0.6)
        axes.set_axisbelow(True)
    shown = list(dict.fromkeys(row["method"] for row in rows))
    for number, method in enumerate(shown if len(shown) > 1 else []):
        axes = panels.flat[tasks.index(SPARSE)]  # which all methods learn
        axes.text(
            0.95, 0.06 + 0.08 * number, LABELS[method], transform=axes.transAxes,
            ha="right", color=TINTS[method], weight="bold", fontsize=8,
        )  # fmt: skip
    told = "; ".join(f"{r['task']}: {r['together']:.0f}" for r in rows if r["method"] == "spos")
    return [
        Drawing(
            "gymnasium.png",
            figure,
            f"Learning curves. Afterwards, all policies together earn {told}.",
            f"{record.settings['num_particles']} policies by SPOS-PG with PPO's gradient.",
        )
    ]
