"""Numbers, claims, the table and the figure of `spos paper bde`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spos.io.html import Table
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing, Findings
from spos_experiments.frame.record import Claim, Record, numbers, verdict
from spos_experiments.paper.bde.measure import BY_README, OURS, Job, Outcome, settings_of

MEASURES = {"rmse": "RMSE", "nll": "NLL"}
LABELS = {**MEASURES, "gaussian_nll": "NLL of one Gaussian"}
# arXiv:2605.14146, means of five runs on one split with the settings `measure.PAPER`
PRINTED = {
    "airfoil": {"rmse": 0.1215, "gaussian_nll": -0.9126},
    "bike": {"rmse": 0.2261, "gaussian_nll": -0.7315},
}
TINTS = {
    OURS: "#c2410c",
    "BdeRegressor()": "#9aa3ad",
    BY_README: "#1d4ed8",
    "bde, paper": "#0f766e",
    "SPOSRegressor, deep": "#7c2d12",
}


def findings(found: Mapping[Job, Outcome], ours: Mapping[str, Any]) -> Findings:
    rows = [row(found, *key) for key in dict.fromkeys((job.table, job.method) for job in found)]
    tables = list(dict.fromkeys(each["table"] for each in rows))
    return Findings(
        numbers=numbers(
            {
                "rows": rows,
                "printed": {name: PRINTED[name] for name in tables if name in PRINTED},
                "settings": {
                    each["method"]: settings_of(each["method"], dict(ours)) for each in rows
                },
                "versions": {job.method: one.versions for job, one in found.items()},
            }
        ),
        claims=claims(rows),
        table=Table(
            ("table", "method", *LABELS.values(), "processor s", "wall s"),
            [line for name in tables for line in _lines(name, rows)],
            "Split by split, of the standardised target; seconds are means over splits, of a first "
            "fit with its predictions in a new process. Printed numbers are of split 0.",
        ),
    )


def row(found: Mapping[Job, Outcome], table: str, method: str) -> dict[str, Any]:
    """A method on a table, split by split."""
    of = [one for job, one in found.items() if (job.table, job.method) == (table, method)]
    listed = (*LABELS, "seconds", "wall")
    return {
        "table": table,
        "method": method,
        "rows": of[0].rows,
        "judged": of[0].judged,
        **{name: [getattr(one, name) for one in of] for name in listed},
    }


def _lines(name: str, rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    lines = [
        (
            name,
            each["method"],
            *(", ".join(f"{value:.4f}" for value in each[measure]) for measure in LABELS),
            f"{np.mean(each['seconds']):.0f}",
            f"{np.mean(each['wall']):.0f}",
        )
        for each in rows
        if each["table"] == name
    ]
    if name in PRINTED:
        said = PRINTED[name]
        cells = (f"{said[measure]:.4f}" if measure in said else "" for measure in LABELS)
        lines.append((name, "bde, as printed", *cells, "", ""))
    return lines


def claims(rows: list[dict[str, Any]]) -> list[Claim]:
    """Those that the methods and tables that were asked for can tell of."""
    by = {(each["table"], each["method"]): each for each in rows}
    pairs = {
        table: (each, by[table, BY_README])
        for (table, method), each in by.items()
        if method == OURS and (table, BY_README) in by
    }
    made = [_better(pairs), _faster(pairs)] if pairs else []
    printed = {table: by[table, OURS] for table in PRINTED if (table, OURS) in by}
    return [*made, _as_printed(printed)] if printed else made


def _better(pairs: Mapping[str, tuple[dict[str, Any], dict[str, Any]]]) -> Claim:
    means = {
        f"{table} by {label}": tuple(float(np.mean(one[measure])) for one in pair)
        for table, pair in pairs.items()
        for measure, label in MEASURES.items()
    }
    return Claim(
        "SPOSRegressor() at its defaults predicts better than bde with the settings of its README.",
        "Ours and bde's: "
        + "; ".join(f"{n}: {a:.4f}, {b:.4f}" for n, (a, b) in means.items())
        + ".",
        verdict({name: a < b for name, (a, b) in means.items()}, "on "),
        "The mean over splits is smaller.",
    )


def _faster(pairs: Mapping[str, tuple[dict[str, Any], dict[str, Any]]]) -> Claim:
    means = {
        table: tuple(float(np.mean(one["seconds"])) for one in pair)
        for table, pair in pairs.items()
    }
    return Claim(
        "It takes less processor time than bde with the settings of its README.",
        "Seconds: " + "; ".join(f"{n}: {a:.0f}, {b:.0f}" for n, (a, b) in means.items()) + ".",
        verdict({name: a < b for name, (a, b) in means.items()}, "on "),
        "The mean over splits is smaller, of a first fit with all that it compiles.",
    )


def _as_printed(ours: Mapping[str, dict[str, Any]]) -> Claim:
    seen = {
        f"{table} by {LABELS[measure]}": (each[measure][0], value)
        for table, each in ours.items()
        for measure, value in PRINTED[table].items()
    }
    return Claim(
        "SPOSRegressor() at its defaults comes up to what the authors of bde print.",
        "Ours and theirs: "
        + "; ".join(f"{n}: {a:.4f}, {b:.4f}" for n, (a, b) in seen.items())
        + ".",
        verdict({name: a <= b for name, (a, b) in seen.items()}, "on "),
        "The measure of split 0, which is their split, is no larger.",
    )


def draw(record: Record) -> list[Drawing]:
    rows, printed = record.numbers["rows"], record.numbers["printed"]
    tables = list(dict.fromkeys(each["table"] for each in rows))
    methods = list(dict.fromkeys(each["method"] for each in rows))
    figure, panels = drawing.titled(
        2.2 + 0.45 * len(tables),
        "Beside Bayesian deep ensembles",
        "test rows, split by split; smaller is better; grey bars: what bde's authors print",
        columns=2,
        squeeze=False,
        sharey=True,
    )
    for axes, (measure, label) in zip(
        panels[0], {"rmse": "RMSE", "gaussian_nll": "NLL of one Gaussian"}.items(), strict=True
    ):
        for each in rows:
            height = tables.index(each["table"]) + 0.2 * (methods.index(each["method"]) - 1)
            tint, values = TINTS[each["method"]], each[measure]
            own = each["method"] if each["table"] == tables[0] else None
            axes.plot(values, [height] * len(values), "o", ms=4, color=tint, label=own)
        for name, said in printed.items():
            place = tables.index(name)
            axes.vlines(said[measure], place - 0.4, place + 0.4, color="#8a8a8a", lw=2)
        axes.set_xlabel(label)
        axes.grid(axis="x", color=drawing.GRID, lw=0.6)
    panels[0, 0].set_yticks(range(len(tables)), tables)
    panels[0, 0].set_ylim(len(tables) + 0.3, -0.6)  # with a place for the legend
    panels[0, 0].legend(fontsize=7, frameon=False, loc="lower right")
    told = "; ".join(
        f"{each['table']}, {each['method']}: {np.mean(each['rmse']):.4f}" for each in rows
    )
    return [
        Drawing("bde.png", figure, f"RMSE. {told}.", "Each dot is a split of a table."),
    ]
