"""The figure of `spos paper interaction`."""

import numpy as np

from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.interaction.findings import costs, line, pays


def draw(record: Record) -> list[Drawing]:
    cells = record.numbers["cells"]
    panels_of = list(dict.fromkeys((c["target"], c["particles"]) for c in cells))
    rows = list(dict.fromkeys((c["noise"], c["dimension"]) for c in cells))
    budgets = list(dict.fromkeys(c["budget"] for c in cells))
    figure, panels = drawing.titled(
        2.0 + 0.28 * len(rows) * (1 + (len(panels_of) > 2)),
        "Where the interaction pays",
        "error of SPOS / error of independent chains, equally many scores; dots are clear",
        rows=1 + (len(panels_of) > 2),
        columns=min(2, len(panels_of)),
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for axes, (target, count) in zip(panels.ravel(), panels_of, strict=True):
        image = np.full((len(rows), len(budgets)), np.nan)
        for cell in cells:
            if (cell["target"], cell["particles"]) != (target, count):
                continue
            place = rows.index((cell["noise"], cell["dimension"])), budgets.index(cell["budget"])
            image[place] = cell["log_ratio"]
            if pays(cell) or costs(cell):
                axes.plot(*place[::-1], "k.", ms=3)
        shown = axes.imshow(image / np.log(2.0), cmap="RdBu_r", vmin=-2, vmax=2, aspect="auto")
        axes.set_title(f"{target}, M = {count}", fontsize=11)
        axes.set_xticks(range(len(budgets)), budgets)
    names = [f"{noise}, d = {size}" for noise, size in rows]
    for axes in panels[:, 0]:
        axes.set_yticks(range(len(rows)), names, fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("scores of a particle")
    bar = figure.colorbar(shown, ax=panels, ticks=[-2, -1, 0, 1, 2], shrink=0.8)
    bar.ax.set_yticklabels(["¼", "½", "1", "2", "4"])
    told = line("everywhere", cells)
    return [
        Drawing(
            "interaction.png",
            figure,
            f"A map of {told[1]} cells: the interaction pays in {told[2]} and costs in {told[3]}.",
            "Blue: the interaction makes the error smaller. Settings are chosen on pilot seeds.",
        )
    ]
