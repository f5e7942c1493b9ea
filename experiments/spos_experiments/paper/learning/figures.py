"""The figures of `spos paper learning`."""

import numpy as np

from spos.io.figures import COLOURS, OTHER, TRUTH
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.learning.findings import GOALS, LABELS
from spos_experiments.paper.learning.settings import lesson_of

TINTS = {"spos": COLOURS["spos"], "svpg": COLOURS["svgd"], "independent": OTHER}
STEP_SIZES = (0.001, 0.003, 0.01)  # at the ticks
TASKS = {
    "swing_up": "Swing-up, angle as it is",
    "swing_up_sines": "Swing-up",
    "double_pendulum": "Double pendulum",
    "cartpole": "Cart-pole",
}


def draw(record: Record) -> list[Drawing]:
    found = [_curves(record)] if record.numbers["curves"] else []
    return found + ([_pilots(record)] if record.numbers["pilots"] else [])


def _curves(record: Record) -> Drawing:
    curves, settings = record.numbers["curves"], record.settings
    tasks = list(dict.fromkeys(one["task"] for one in curves))
    figure, panels = drawing.titled(
        3.8,
        "Policies while they learn",
        "mean return over particles against the steps of each; line: median over seeds,\n"
        "shaded: the middle half of them, dotted: the goal",
        columns=len(tasks),
        squeeze=False,
    )
    for axes, task in zip(panels[0], tasks, strict=True):
        axes.axhline(GOALS[task], color=TRUTH, linewidth=0.8, linestyle=":")
        here = [one for one in curves if one["task"] == task]
        lesson = settings[lesson_of(task, settings["gradient"])]
        steps = lesson["num_episodes"] * 500 / 1e6  # of a particle in an iteration, in millions
        for one in here:
            x, tint = steps * np.asarray(one["iteration"]), TINTS[one["method"]]
            axes.fill_between(x, one["low"], one["high"], color=tint, alpha=0.15, lw=0)
            axes.plot(x, one["median"], color=tint, linewidth=1.8)
        axes.set_title(TASKS[task], fontsize=10)
        axes.set_xlabel("million steps")
        axes.grid(color=drawing.GRID, linewidth=0.6)
        axes.set_axisbelow(True)
    for number, method in enumerate(dict.fromkeys(one["method"] for one in curves)):
        panels[0, 0].text(
            0.04, 0.70 - 0.09 * number, LABELS[method], transform=panels[0, 0].transAxes,
            color=TINTS[method], weight="bold", fontsize=10,
        )  # fmt: skip
    ends = "; ".join(f"{LABELS[c['method']]} on {c['task']}: {c['median'][-1]:.0f}" for c in curves)
    missing = len(record.numbers["missing"])
    return Drawing(
        "curves.png",
        figure,
        f"Mean return over particles against steps. At the end, median over seeds: {ends}.",
        f"Up to {settings['seeds']} seeds of each method, with the settings its pilot chose."
        + (f" {missing} parts are not done yet." if missing else ""),
    )


def _pilots(record: Record) -> Drawing:
    pilots = record.numbers["pilots"]
    tasks = list(dict.fromkeys(one["task"] for one in pilots))
    figure, panels = drawing.titled(
        2.4 * len(tasks) + 1.2,
        "What the tries of the pilot earned",
        "mean return over particles at the end of a try; large: the one that was chosen",
        rows=len(tasks),
        columns=2,
        squeeze=False,
        sharey="row",
    )
    for row, task in enumerate(tasks):
        for axes, name in zip(panels[row], ("step_size", "beta"), strict=True):
            for one in (p for p in pilots if p["task"] == task):
                if name == "beta" and one["method"] != "spos":
                    continue
                some = [(t[name], r) for t, r in zip(one["tries"], one["returns"], strict=True)]
                x, y = zip(*some, strict=True)
                axes.plot(x, y, "o", color=TINTS[one["method"]], ms=4, alpha=0.8)
                best = int(np.argmax(one["returns"]))
                axes.plot(x[best], y[best], "o", color=TINTS[one["method"]], ms=9)
            axes.set_xscale("log")
            axes.minorticks_off()
            if name == "step_size":
                axes.set_xticks(STEP_SIZES, [f"{size:g}" for size in STEP_SIZES])
            axes.grid(color=drawing.GRID, linewidth=0.6)
            axes.set_axisbelow(True)
            axes.set_xlabel({"step_size": "step size", "beta": "β (SPOS-PG)"}[name])
        panels[row, 0].set_title(TASKS[task], fontsize=10, loc="left")
    for number, method in enumerate(dict.fromkeys(one["method"] for one in pilots)):
        panels[0, 1].text(
            0.98 - 0.3 * number, 1.05, LABELS[method], transform=panels[0, 1].transAxes,
            ha="right", color=TINTS[method], weight="bold", fontsize=9,
        )  # fmt: skip
    return Drawing(
        "pilots.png",
        figure,
        "Returns of the pilot's tries against step size and β. Best: "
        + "; ".join(
            f"{LABELS[p['method']]} on {p['task']}: {max(p['returns']):.0f}" for p in pilots
        ),
        f"{len(pilots[0]['tries'])} of {record.settings['tries']} tries of each method, one seed, "
        "which is not judged.",
    )
