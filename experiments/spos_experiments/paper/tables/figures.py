"""The figure of `spos paper tables`: the average ranks of all methods in every measure."""

import textwrap

from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.tables.findings import MEASURES, best_first
from spos_experiments.paper.tables.rivals import OURS

OTHERS, OWN = "#9aa3ad", "#c2410c"


def draw(record: Record) -> list[Drawing]:
    ranks = record.numbers["ranks"]
    shown = [
        (label, best_first(ranks[part][measure]))
        for kind, part in ((False, "numbers"), (True, "classes"))
        for measure, label in MEASURES[kind].items()
        if measure in ranks[part]
    ]
    columns = min(4, len(shown))
    lines = -(-len(shown) // columns)
    figure, panels = drawing.titled(
        *(1.9 * lines + 1.2, "Average ranks on tables that nothing was tuned on"),
        "1 is the best; all methods at their defaults",
        rows=lines,
        columns=columns,
        squeeze=False,
    )
    for axes in panels.ravel()[len(shown) :]:
        axes.set_visible(False)
    for axes, (label, by) in zip(panels.ravel(), shown, strict=False):
        names = [name for name, _ in reversed(by)]
        values = [value for _, value in reversed(by)]
        axes.barh(names, values, color=[OWN if name == OURS else OTHERS for name in names])
        axes.set_title(textwrap.fill(label, 11), fontsize=8)  # none beyond its panel
        axes.tick_params(labelsize=6)
        axes.set_xlim(0, None)
    told = "; ".join(f"{label}: " + ", ".join(f"{n} {r:.2f}" for n, r in by) for label, by in shown)
    return [
        Drawing(
            "tables.png",
            figure,
            f"Average ranks. {told}.",
            "Average ranks over the tables, the best on top.",
        )
    ]
