"""What the runs of `spos paper tables` say, finished or not."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spos.io.html import Table
from spos_experiments.data.packaged import Frame
from spos_experiments.frame.experiment import Findings
from spos_experiments.frame.record import Claim, numbers, verdict
from spos_experiments.paper.tables.measure import LEVEL, Job, Outcome
from spos_experiments.paper.tables.rivals import LINEAR, OURS

MEASURES = {
    False: {"rmse": "RMSE", "nll": "NLL", "crps": "CRPS", "coverage": "90 % coverage error"},
    True: {"log_loss": "log-loss", "ece": "calibration error", "error": "error"},
}
MOST_WORSE = 1.05  # than a linear model
SLOWEST = 3.0  # times the seconds of CatBoost
BEHIND = 1.0  # ranks in error that a classifier may be behind the best

Outcomes = Mapping[Job, Outcome]
Means = dict[str, dict[str, dict[str, float]]]  # by table, method and measure


def findings(
    frames: Mapping[str, Frame], outcomes: Outcomes, missing: Mapping[str, str]
) -> Findings:
    kinds = {job.table: frames[job.table].classes for job in outcomes}
    means = {name: average(outcomes, name) for name in kinds}
    ranked = {
        kind: ranks({n: m for n, m in means.items() if kinds[n] == kind}, tuple(MEASURES[kind]))
        for kind in (False, True)
    }
    rows = [
        {
            "table": name,
            "classes": kinds[name],
            "rows": len(frames[name].y),
            "columns": frames[name].X.shape[1],
            "splits": sum((job.table, job.method) == (name, method) for job in outcomes),
            "method": method,
            **found,
        }
        for name, by in means.items()
        for method, found in by.items()
    ]
    return Findings(
        numbers=numbers(
            {
                "rows": rows,
                "ranks": {"numbers": ranked[False], "classes": ranked[True]},
                "missing": dict(missing),
            }
        ),
        claims=claims(
            ranked, {k: {n: means[n] for n in means if kinds[n] == k} for k in kinds.values()}
        ),
        table=Table(
            ("kind", "measure", "average ranks, the best first"),
            [
                (
                    "classes" if kind else "numbers",
                    label,
                    ", ".join(f"{m} {r:.2f}" for m, r in best_first(ranked[kind][measure])),
                )
                for kind, labels in MEASURES.items()
                for measure, label in labels.items()
                if measure in ranked[kind]
            ],
            f"{len(means)} tables, {len({job[:2] for job in outcomes})} splits in all; all methods "
            "at their defaults.",
        ),
    )


def average(outcomes: Outcomes, name: str) -> dict[str, dict[str, float]]:
    """The means over the splits of a table, seconds too; coverage as its distance from 90 %."""
    splits: dict[str, list[dict[str, float]]] = {}
    for job, outcome in outcomes.items():
        if job.table == name:
            seen = {**outcome.measures, "seconds": outcome.seconds}
            splits.setdefault(job.method, []).append(seen)
    means = {}
    for method, each in splits.items():
        found = {measure: float(np.mean([seen[measure] for seen in each])) for measure in each[0]}
        if "coverage" in found:
            found["held"] = found["coverage"]
            found["coverage"] = abs(found["coverage"] - LEVEL)
        means[method] = found
    return means


def ranks(means: Means, measures: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """The average rank of each method in each measure, over the tables where it has one."""
    found: dict[str, dict[str, float]] = {}
    for measure in measures:
        places: dict[str, list[float]] = {}
        for by in means.values():
            values = {m: each[measure] for m, each in by.items() if measure in each}
            for method, value in values.items():
                below = sum(other < value for other in values.values())
                equal = sum(other == value for other in values.values())
                places.setdefault(method, []).append(below + (equal + 1) / 2)
        if places:
            found[measure] = {method: float(np.mean(each)) for method, each in places.items()}
    return found


def best_first(by: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(by.items(), key=lambda each: each[1])


def claims(ranked: Mapping[bool, Any], means: Mapping[bool, Means]) -> list[Claim]:
    """Those that the methods which were asked for can tell of."""
    made = []
    for kind, estimator, firsts in (
        (False, "SPOSRegressor()", ("nll", "crps", "coverage")),
        (True, "SPOSClassifier()", ("log_loss", "ece")),
    ):
        for measure in firsts:
            if OURS in ranked[kind].get(measure, {}):
                made.append(_first(estimator, MEASURES[kind][measure], ranked[kind][measure]))
        tables = means.get(kind, {})
        if tables and all({OURS, LINEAR[kind]} <= by.keys() for by in tables.values()):
            made.append(_never_worse(kind, estimator, tables))
        if tables and all({OURS, "CatBoost"} <= by.keys() for by in tables.values()):
            made.append(_never_slow(estimator, tables))
    if {OURS, "CatBoost"} <= ranked[False].get("rmse", {}).keys():
        made.append(_beside_catboost(ranked[False]["rmse"]))
    if OURS in ranked[True].get("error", {}):
        made.append(_near_the_best(ranked[True]["error"]))
    return made


def _first(estimator: str, label: str, by: Mapping[str, float]) -> Claim:
    return Claim(
        claim=f"{estimator} has the best average rank in {label}.",
        measured=_told(by),
        verdict=verdict({"so": by[OURS] <= min(by.values())}),
        rule="No other method has a smaller average rank.",
    )


def _beside_catboost(by: Mapping[str, float]) -> Claim:
    return Claim(
        claim="SPOSRegressor() has an average rank in RMSE no worse than CatBoost's.",
        measured=_told(by),
        verdict=verdict({"so": by[OURS] <= by["CatBoost"]}),
        rule="The average ranks are compared as they are.",
    )


def _near_the_best(by: Mapping[str, float]) -> Claim:
    return Claim(
        claim="SPOSClassifier() is at most 1.0 behind the best average rank in error.",
        measured=_told(by),
        verdict=verdict({"so": by[OURS] <= min(by.values()) + BEHIND}),
        rule="The average ranks are compared as they are.",
    )


def _never_worse(kind: bool, estimator: str, means: Means) -> Claim:
    measure, linear = ("log_loss" if kind else "rmse"), LINEAR[kind]
    ratios = {name: by[OURS][measure] / by[linear][measure] for name, by in means.items()}
    return Claim(
        claim=f"{estimator} is never worse than {linear} regression by more than 5 % in "
        f"{MEASURES[kind][measure]}.",
        measured="Ratios: " + ", ".join(f"{n} {r:.3f}" for n, r in ratios.items()) + ".",
        verdict=verdict({name: ratio <= MOST_WORSE for name, ratio in ratios.items()}, "on "),
        rule="The ratio of the means over splits is at most 1.05.",
    )


def _never_slow(estimator: str, means: Means) -> Claim:
    ratios = {name: by[OURS]["seconds"] / by["CatBoost"]["seconds"] for name, by in means.items()}
    return Claim(
        claim=f"{estimator} never takes more than three times the processor time of CatBoost.",
        measured="Ratios: " + ", ".join(f"{n} {r:.1f}" for n, r in ratios.items()) + ".",
        verdict=verdict({name: ratio <= SLOWEST for name, ratio in ratios.items()}, "on "),
        rule="The ratio of the means over splits, compilation included, is at most 3.",
    )


def _told(by: Mapping[str, float]) -> str:
    return "Average ranks: " + ", ".join(f"{m} {r:.2f}" for m, r in best_first(by)) + "."
