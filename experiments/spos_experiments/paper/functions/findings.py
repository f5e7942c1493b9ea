"""What the errors of `spos paper functions` say."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spos.io.figures import COLOURS
from spos.io.html import Table
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import CLEAR, Drawing, Estimate, Findings
from spos_experiments.frame.record import Claim, Record, numbers, verdict
from spos_experiments.paper.functions.measure import Outcome

ALONE = "alone"


def findings(found: Mapping[tuple[str, str], Outcome]) -> Findings:
    rows = []
    for (name, kind), one in found.items():
        gain = one.ll - found[name, ALONE].ll if (name, ALONE) in found else np.full(2, np.nan)
        rows.append(
            {
                "dataset": name,
                "kind": kind,
                "validation": float(one.validation.max(axis=0).mean()),
                "error": Estimate.of(one.error),
                "ll": Estimate.of(one.ll),
                "gain": Estimate.of(gain),  # in ll, over networks alone, on the same splits
                "doubt": one.doubt.mean(axis=0),
                "chosen": one.chosen,
            }
        )
    return Findings(numbers=numbers({"rows": rows}), claims=claims(rows), table=table(rows))


def table(rows: list[dict[str, Any]]) -> Table:
    return Table(
        ("data", "networks", "error", "LL", "LL − alone", "entropy: test", "turned", "inverted"),
        [
            (
                row["dataset"],
                row["kind"],
                f"{row['error'].mean:.4f}",
                f"{row['ll'].mean:.4f}",
                "" if row["kind"] == ALONE else str(row["gain"]),
                *(f"{entropy:.3f}" if entropy else "" for entropy in row["doubt"]),
            )
            for row in rows
        ],
        "Means over splits, on test rows. The error is RMSE, or the share of wrong digits.",
    )


def claims(rows: list[dict[str, Any]]) -> list[Claim]:
    made = []
    for kind in dict.fromkeys(row["kind"] for row in rows if row["kind"] != ALONE):
        own = {row["dataset"]: row["gain"] for row in rows if row["kind"] == kind}
        if not all(np.isfinite(gain.mean) for gain in own.values()):
            continue
        wins = {name: gain.mean > CLEAR * gain.se for name, gain in own.items()}
        loses = [name for name, gain in own.items() if gain.mean < -CLEAR * gain.se]
        words = {"weights": "by weights"}.get(kind, f"by outputs ({kind})")
        made.append(
            Claim(
                f"Networks that interact {words} have a larger log-likelihood than networks alone.",
                "; ".join(f"{name}: {gain}" for name, gain in own.items())
                + f". Clearly smaller on {', '.join(loses) or 'none'}.",
                verdict(wins, "on "),
                "The mean of the differences over splits exceeds two of its standard errors.",
            )
        )
    return made


def draw(record: Record) -> list[Drawing]:
    rows = [row for row in record.numbers["rows"] if row["kind"] != ALONE]
    names = list(dict.fromkeys(row["dataset"] for row in record.numbers["rows"]))
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    figure, axes = drawing.titled(
        1.8 + 0.4 * len(names),
        "Interaction by outputs",
        "log-likelihood of a test row, less that of networks alone; bars: two standard errors",
    )
    axes.axvline(0.0, color=drawing.GRID)
    for n, (kind, colour) in enumerate(zip(kinds, COLOURS.values(), strict=False)):
        here = [row for row in rows if row["kind"] == kind and row["gain"][0] is not None]
        mean, se = np.array([row["gain"] for row in here], np.float64).reshape(-1, 2).T
        place = [names.index(row["dataset"]) + 0.2 * (n - 1) for row in here]
        axes.errorbar(mean, place, xerr=2 * se, fmt="o", ms=4, color=colour, label=kind)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.legend(frameon=False, loc="lower left")
    return [
        Drawing(
            "functions.png",
            figure,
            f"Gains of {len(kinds)} kinds of interaction on {len(names)} data sets.",
            "Right of the line an interaction makes predictions better.",
        )
    ]
