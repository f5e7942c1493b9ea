"""The figures of `spos paper accuracy`."""

from typing import Any

import numpy as np

from spos.io.figures import COLOURS
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.accuracy.findings import LABELS, MEAN_BAND, SD_BAND
from spos_experiments.paper.accuracy.models import TRAPS

TINTS = {
    "spos": COLOURS["spos"],
    "sgld": COLOURS["sgld"],
    "svgd": COLOURS["svgd"],
    "blackjax": "#E8A33D",
    "nuts": "#666666",
    "nutpie": "#111111",
    "laps": "#8C6BB1",
    "meads": "#4EB3A5",
    "chees": "#B5651D",
    "mclmc": "#D46A9F",
}
MARKS = dict(zip(TINTS, "os^vx+d<>p", strict=True))
LINES = ("nuts", "nutpie")  # marks without an inside
LOW, HIGH = 0.003, 3.0  # errors beyond are drawn at the edge


def draw(record: Record) -> list[Drawing]:
    made = [_accuracy(record)] if record.numbers["rows"] else []
    return made + ([_calibration(record)] if record.numbers["calibrations"] else [])


def _accuracy(record: Record) -> Drawing:
    rows = record.numbers["rows"]
    models = list(dict.fromkeys(each["model"] for each in rows))
    methods = [name for name in LABELS if any(each["method"] == name for each in rows)]
    figure, panels = drawing.titled(
        2.2 + 0.23 * len(models),
        "Errors on every model",
        "the worst parameter and seed; the band is what counts as right\n"
        "faint: the method says it has not converged",
        columns=2,
        sharey=True,
    )
    at = {model: -place for place, model in enumerate(models)}
    bands = {"worst_mean": MEAN_BAND, "worst_sd": float(np.log1p(SD_BAND))}
    words = {"worst_mean": "|Δmean| / sd", "worst_sd": "|log sd ratio|"}
    for axes, (name, band) in zip(panels, bands.items(), strict=True):
        axes.axvspan(LOW, band, color="#EAF3EA", lw=0, zorder=0)
        for each in rows:
            value = HIGH if each[name] is None else float(np.clip(each[name], LOW, HIGH))
            method = each["method"]
            shift = 0.09 * (methods.index(method) - (len(methods) - 1) / 2)
            axes.plot(
                *(value, at[each["model"]] - shift, MARKS[method]),
                color=TINTS[method],
                ms=4.5,
                alpha=0.3 if False in each["converged"] else 0.95,
                mew=1.2 if method in LINES else 0.0,
            )
        axes.set_xscale("log")
        axes.set_xlim(LOW / 1.2, HIGH * 1.2)
        axes.set_ylim(0.6 - len(models), 0.6)
        axes.set_xticks([0.01, 0.1, 1.0], ["0.01", "0.1", "1"])
        axes.minorticks_off()
        axes.set_xlabel(words[name])
        axes.grid(axis="y", color=drawing.GRID, linewidth=0.6)
        axes.set_axisbelow(True)
    panels[0].set_yticks(
        [at[model] for model in models],
        [model.replace("_", " ") + (" *" if model in TRAPS else "") for model in models],
        fontsize=9,
    )
    handles: list[Any] = [
        panels[0].plot([], [], MARKS[m], color=TINTS[m], ms=5, mew=1.2, label=LABELS[m])[0]
        for m in methods
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    starred = any(model in TRAPS for model in models)
    inside = {LABELS[m]: sum(all(e["right"]) for e in rows if e["method"] == m) for m in methods}
    return Drawing(
        "accuracy.png",
        figure,
        "Dots for the worst errors of means and standard deviations of each model and method. "
        f"Models inside both bands, of {len(models)}: "
        + "; ".join(f"{label}: {count}" for label, count in inside.items())
        + ".",
        f"Errors above {HIGH:g} or below {LOW:g} are drawn at the edge."
        + (" * is a trap, where a wrong answer looks right." if starred else ""),
    )


def _calibration(record: Record) -> Drawing:
    found = record.numbers["calibrations"]
    figure, panels = drawing.titled(
        3.2,
        "Ranks of the truth among the draws",
        "uniform if posteriors are right; the band holds 95 % of the bars by chance",
        columns=len(found),
        squeeze=False,
        sharey=True,
    )
    for axes, each in zip(panels[0], found, strict=True):
        counts = np.asarray(each["counts"], float)
        expected = counts.mean()
        half = 1.96 * np.sqrt(expected * (1 - 1 / len(counts)))
        axes.axhspan(expected - half, expected + half, color="#E4E4E4", lw=0)
        places = (np.arange(len(counts)) + 0.5) / len(counts)
        axes.bar(places, counts, width=0.86 / len(counts), color=COLOURS["spos"])
        axes.axhline(expected, color=drawing.NOTE, lw=1.0)
        axes.set_title(f"{each['model']}, p = {each['chance']:.2g}", fontsize=11)
        axes.set_xlabel("rank / number of draws")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.1 * max(counts.max(), expected + half))
    panels[0, 0].set_ylabel("simulations")
    return Drawing(
        "calibration.png",
        figure,
        "Histograms of ranks: "
        + "; ".join(f"{e['model']} from {min(e['counts'])} to {max(e['counts'])}" for e in found)
        + " simulations in a bin.",
        f"{record.settings['simulations']} simulations of each model; p by χ².",
    )
