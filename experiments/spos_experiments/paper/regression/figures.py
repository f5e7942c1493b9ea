"""The figure of `spos paper regression`: every method on every data set, next to the paper."""

import numpy as np

from spos.io.figures import COLOURS
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.regression import published

PAPER = "#8a8a8a"


def draw(record: Record) -> list[Drawing]:
    rows = [row for row in record.numbers["rows"] if "method" in row]
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    columns = min(5, len(names))
    lines = -(-len(names) // columns)
    figure, panels = drawing.titled(
        *(1.9 * 2 * lines + 1.4, "Bayesian networks on tables"),
        "points: mean over splits; bars: two standard errors\ngrey dashes: what the paper printed",
        rows=2 * lines,
        columns=columns,
        squeeze=False,
    )
    for axes in panels.ravel():
        axes.set_visible(False)
    for number, name in enumerate(names):
        line, column = divmod(number, columns)
        for part, (measure, table) in enumerate((("rmse", published.RMSE), ("ll", published.LL))):
            axes = panels[2 * line + part, column]
            axes.set_visible(True)
            for at, method in enumerate(methods):
                found = [r for r in rows if (r["dataset"], r["method"]) == (name, method)]
                if not found:
                    continue
                error = 2 * (found[0][f"{measure}_se"] or 0.0)
                axes.errorbar(
                    at, found[0][measure], np.nan_to_num(error), fmt="o", ms=4,
                    color=COLOURS[method], lw=1.5,
                )  # fmt: skip
                if (name, method) in table:
                    axes.hlines(table[name, method], at - 0.3, at + 0.3, color=PAPER, ls="--", lw=1)
            axes.set_xticks(range(len(methods)), [m.upper() for m in methods], fontsize=5.5)
            axes.set_xlim(-0.6, len(methods) - 0.4)
            axes.tick_params(axis="y", labelsize=7)
            axes.grid(color=drawing.GRID, linewidth=0.6, axis="y")
            axes.set_axisbelow(True)
            if part == 0:
                axes.set_title(name, fontsize=9)
            if column == 0:
                axes.set_ylabel(("error", "log-likelihood")[part], fontsize=8)
    told = "; ".join(
        f"{r['method'].upper()} on {r['dataset']}: {r['rmse']:.4g}, {r['ll']:.3g}" for r in rows
    )
    return [
        Drawing(
            "regression.png",
            figure,
            f"Root mean square error and log-likelihood. {told}.",
            "Errors (smaller is better) and log-likelihoods (larger is better) on test rows.",
        )
    ]
