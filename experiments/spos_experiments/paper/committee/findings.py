"""What the policies' work says."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spos.io.html import Table
from spos_experiments.frame.bootstrap import Interval, interval
from spos_experiments.frame.experiment import Findings
from spos_experiments.frame.record import Claim, numbers, verdict
from spos_experiments.paper.committee.measure import Outcome
from spos_experiments.paper.committee.settings import Settings
from spos_experiments.paper.learning.findings import LABELS

ACTORS = {"best": "best", "particle": "a particle", "mean": "committee: mean", "vote": "vote"}
FEWEST = 5  # seeds that a claim takes

Outcomes = Mapping[tuple[str, int], Outcome]


def findings(settings: Settings, outcomes: Outcomes, film: dict[str, Any]) -> Findings:
    worlds = settings.worlds
    usual = worlds.index((1.0, 0.0, 0))
    methods = list(dict.fromkeys(method for method, _ in outcomes))
    rows = []
    for method in methods:
        runs = [one for (each, _), one in outcomes.items() if each == method]
        earned = {name: np.stack([actor(one, name) for one in runs]) for name in ACTORS}
        rows.append(
            {
                "method": method,
                "seeds": [seed for each, seed in outcomes if each == method],
                "usual": {name: value[:, usual] for name, value in earned.items()},
                "worst": {name: value.min(axis=1) for name, value in earned.items()},
                "average": {name: value.mean(axis=1) for name, value in earned.items()},
                "worlds": {name: value.mean(axis=0) for name, value in earned.items()},
                "doubts": np.stack([one.doubt for one in runs]).mean(axis=0),
                "kendall": [kendall(one.doubt, one.mean[usual] - one.mean) for one in runs],
            }
        )
    return Findings(
        numbers=numbers({"worlds": worlds, "rows": rows, "film": film}),
        claims=claims(rows),
        table=table(settings, rows),
    )


def actor(one: Outcome, name: str) -> np.ndarray:
    """What a way to act earned in each world."""
    if name == "best":
        return one.alone[:, one.best]
    return one.alone.mean(axis=1) if name == "particle" else getattr(one, name)


def kendall(x: np.ndarray, y: np.ndarray) -> float:
    """τ: pairs in the same order less pairs in the other, over all pairs."""
    above = np.triu_indices(len(x), 1)
    signs = (np.sign(v[:, None] - v[None, :])[above] for v in (x, y))
    return float(np.mean(np.prod(list(signs), axis=0)))


def table(settings: Settings, rows: list[dict[str, Any]]) -> Table:
    return Table(
        ("method", "seeds", "worlds", *ACTORS.values(), "doubt against loss, τ"),
        [
            (
                LABELS[row["method"]],
                str(len(row["seeds"])),
                words,
                *(str(interval(row[which][name])) for name in ACTORS),
                _decimals(interval(row["kendall"])) if which == "usual" else "",
            )
            for row in rows
            for which, words in (("usual", "as trained"), ("average", "all"), ("worst", "worst"))
        ],
        f"Mean returns of {settings.num_episodes} episodes without noise of actions, in "
        f"{len(settings.worlds)} worlds. In brackets: 95 % intervals by bootstrap over seeds.",
    )


def _decimals(one: Interval) -> str:
    return f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]"


def claims(rows: list[dict[str, Any]]) -> list[Claim]:
    """Their rules were fixed before a policy was put to work."""
    by = {row["method"]: row for row in rows if len(row["seeds"]) >= FEWEST}
    if not by:
        return []

    def gains(which: str) -> dict[str, Interval]:
        return {
            LABELS[method]: interval(row[which]["mean"] - row[which]["best"])
            for method, row in by.items()
        }

    made = [
        Claim(
            f"A committee earns more than its best member {words}.",
            "Mean difference: " + "; ".join(f"{m}: {v}" for m, v in gains(which).items()) + ".",
            verdict({m: v.low > 0 for m, v in gains(which).items()}, "the method is "),
            "Seen for a method when the 95 % interval of the mean difference lies above 0.",
        )
        for which, words in (("usual", "in the world of its training"), ("worst", "in its worst"))
    ]
    taus = {LABELS[method]: interval(row["kendall"]) for method, row in by.items()}
    made.append(
        Claim(
            "Policies disagree more where they earn less.",
            "Kendall's τ: " + "; ".join(f"{m}: {_decimals(v)}" for m, v in taus.items()) + ".",
            verdict({m: v.low > 0 for m, v in taus.items()}, "the method is "),
            "Seen for a method when the 95 % interval of the mean τ lies above 0.",
        )
    )
    if {"spos", "independent"} <= set(by):
        ours, theirs = by["spos"], by["independent"]
        count = min(len(ours["seeds"]), len(theirs["seeds"]))
        gain = {
            words: interval(ours[which]["mean"][:count] - theirs[which]["mean"][:count])
            for which, words in (("usual", "as trained"), ("worst", "in the worst world"))
        }
        made.append(
            Claim(
                "A committee of SPOS-PG earns more than one of policies that learned alone.",
                "Mean difference: " + "; ".join(f"{w}: {v}" for w, v in gain.items()) + ".",
                verdict({w: v.low > 0 for w, v in gain.items()}),
                "Seen when the 95 % interval of the mean difference, seed by seed, lies above 0.",
            )
        )
    return made
