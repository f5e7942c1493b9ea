"""The figures of `spos paper control`."""

from typing import Any

import numpy as np

from spos.io.figures import COLOURS, OTHER
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.control import film as control_film
from spos_experiments.paper.control.findings import LABELS

TINTS = {"spos": COLOURS["spos"], "svpg": COLOURS["svgd"], "independent": OTHER}
TASKS = {"cartpole": "Cartpole", "swing_up": "Swing-up", "double_pendulum": "Double pendulum"}
GRADIENTS = {"reinforce": "REINFORCE", "a2c": "actor-critic"}


def draw(record: Record) -> list[Drawing]:
    found = [
        _grid(
            record,
            "returns.png",
            "mean",
            "Average return of 16 policies".replace("16", str(record.settings["num_particles"])),
            "mean over particles and seeds; shaded: one standard deviation over particles\n"
            "dotted: the best particle",
        ),
        _grid(
            record,
            "coverage.png",
            "coverage",
            "How fast the positions are explored",
            "share of a 20 × 20 grid of positions that any particle has been in so far",
        ),
    ]
    found += [_ablation(record)] if record.numbers["ablation"] else []
    films = record.numbers["films"]
    return found + [control_film.draw(one, LABELS[one["method"]]) for one in films]


def _grid(record: Record, file: str, field: str, title: str, note: str) -> Drawing:
    curves = record.numbers["curves"]
    tasks, gradients = (list(dict.fromkeys(c[k] for c in curves)) for k in ("task", "gradient"))
    shape = {"rows": len(gradients), "columns": len(tasks)}
    figure, panels = drawing.titled(
        2.2 * len(gradients) + 1.2, title, note, **shape, squeeze=False, sharex="col", sharey="col"
    )
    for one in curves:
        axes = panels[gradients.index(one["gradient"]), tasks.index(one["task"])]
        y, tint = np.asarray(one[field]), TINTS[one["method"]]
        x = np.asarray(one["iteration"]) if field == "mean" else np.arange(1, len(y) + 1)
        if field == "mean":
            spread = np.asarray(one["spread"])
            axes.fill_between(x, y - spread, y + spread, color=tint, alpha=0.15, lw=0)
            axes.plot(x, one["best"], color=tint, linewidth=1.0, linestyle=":")
        axes.plot(x, y, color=tint, linewidth=1.8)
    for row, gradient in enumerate(gradients):
        for column, task in enumerate(tasks):
            axes = panels[row, column]
            axes.grid(color=drawing.GRID, linewidth=0.6)
            axes.set_axisbelow(True)
            axes.set_title(f"{TASKS[task]},\n{GRADIENTS[gradient]}", fontsize=9.5)
            axes.locator_params(nbins=4)
    for axes in panels[-1]:
        axes.set_xlabel("iteration")
    for number, method in enumerate(dict.fromkeys(c["method"] for c in curves)):
        panels[0, 0].text(
            0.97, 0.06 + 0.13 * number, LABELS[method], transform=panels[0, 0].transAxes,
            ha="right", color=TINTS[method], weight="bold", fontsize=10,
        )  # fmt: skip
    ends = "; ".join(
        f"{LABELS[c['method']]} on {c['task']} with {c['gradient']}: {c[field][-1]:.3g}"
        for c in curves
    )
    missing = len(record.numbers["missing"])
    return Drawing(
        file,
        figure,
        f"Curves over iterations for each task and gradient. At the end: {ends}.",
        f"{title}, over up to {record.settings['seeds']} seeds."
        + (f" {missing} runs are not done yet." if missing else ""),
    )


def _ablation(record: Record) -> Drawing:
    trials = record.numbers["ablation"]
    figure, panels = drawing.titled(
        3.6,
        "What α and β do",
        "mean return on the swing-up in the last tenth of "
        f"{trials[0]['num_iterations']} iterations\n(actor-critic); circles: the best particle",
        columns=2,
        sharey=True,
    )
    usual = record.settings["alpha"], record.settings["beta"]
    for axes, name in zip(panels, ("alpha", "beta"), strict=True):
        for method in ("svpg", "spos"):
            some = [
                t
                for t in trials
                if t["method"] == method
                and (t["beta"] in (None, usual[1]) if name == "alpha" else t["alpha"] == usual[0])
                and t[name] is not None
            ]
            some.sort(key=lambda t: t[name])
            x: Any = [t[name] for t in some]
            axes.plot(x, [t["final_return"] for t in some], "o-", color=TINTS[method], ms=4)
            axes.plot(x, [t["best_return"] for t in some], "o:", color=TINTS[method], ms=4,
                      mfc="white", lw=1.0)  # fmt: skip
            if some and name == "alpha":
                height = {"svpg": 0.05, "spos": 0.15}[method]  # the lines are too close for labels
                axes.text(0.04, height, LABELS[method], transform=axes.transAxes,
                          color=TINTS[method], weight="bold", fontsize=10)  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlabel({"alpha": "α", "beta": "β"}[name])
        axes.grid(color=drawing.GRID, linewidth=0.6)
    return Drawing(
        "ablation.png",
        figure,
        "Mean return against α and β: "
        + "; ".join(
            f"{LABELS[t['method']]}, α {t['alpha']:g}, β {t['beta'] or 0:g}: "
            f"{t['final_return']:.0f}"
            for t in trials
        ),
        f"One seed. α = {usual[0]:g} and β = {usual[1]:g} are those of the other figures.",
    )
