"""What the runs of `spos paper regression` say, finished or not."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from spos.io.html import Table
from spos_experiments.frame.experiment import Estimate, Findings
from spos_experiments.frame.record import Claim, Record, numbers, verdict
from spos_experiments.paper.regression import published
from spos_experiments.paper.regression.settings import Settings

LABELS = {"sgld": "SGLD", "svgd": "SVGD", "spos": "SPOS"}
ABSENT = "data not available here"


class Outcome(NamedTuple):
    """A method on a data set; arrays have an entry for each split."""

    rmse: np.ndarray
    ll: np.ndarray
    last_rmse: np.ndarray  # of the last M networks, whether they were chosen or the average was
    last_ll: np.ndarray
    validation: np.ndarray  # log-likelihood: (trials, splits, last or averaged)
    trial: np.ndarray  # its number
    averaged: np.ndarray
    seconds: float
    steps: int


Outcomes = Mapping[tuple[str, str], Outcome]


def findings(
    settings: Settings, outcomes: Outcomes, missing: Mapping[str, str], cost: Mapping[str, Any]
) -> Findings:
    rows = [row(name, method, one, settings) for (name, method), one in outcomes.items()]
    rows += [{"dataset": name, "missing": ABSENT} for name in missing]
    return Findings(
        numbers=numbers(
            {"rows": rows, "pairs": pairs(outcomes), "ranks": ranks(outcomes), "cost": cost}
        ),
        claims=claims(settings, outcomes),
        table=Table(
            ("data, method", "splits", "RMSE", "paper", "log-likelihood", "paper", "seconds"),
            [
                (
                    f"{name}, {LABELS[method]}",
                    str(len(one.rmse)),
                    shown(one.rmse),
                    printed(published.RMSE, name, method),
                    shown(one.ll),
                    printed(published.LL, name, method),
                    f"{one.seconds:.0f}",
                )
                for (name, method), one in outcomes.items()
            ]
            + [(name, ABSENT, *[""] * 5) for name in missing],
            f"{settings.particles} networks; mean ± s.e. over splits; seconds include all trials.",
        ),
    )


def estimate(values: np.ndarray) -> Estimate:
    return Estimate.of(values) if len(values) > 1 else Estimate(float(values[0]), float("nan"))


def shown(values: np.ndarray) -> str:
    found = estimate(values)
    return f"{found.mean:.4f}" if np.isnan(found.se) else f"{found.mean:.4f} ± {found.se:.4f}"


def printed(table: Mapping[tuple[str, str], float], name: str, method: str) -> str:
    return f"{table[name, method]:.3f}" if (name, method) in table else "–"


def regression_table(record: Record) -> str:
    """A record in one line a data set, as Markdown, for `docs/tables.md`; the best is bold."""
    rows = {
        (each["dataset"], each["method"]): each
        for each in record.numbers["rows"]
        if "method" in each
    }
    methods = dict.fromkeys(method for _, method in rows)
    lines = []
    for name in dict.fromkeys(name for name, _ in rows):
        cells = [name]
        for measure, table, best in (("rmse", published.RMSE, min), ("ll", published.LL, max)):
            own = {method: rows[name, method][measure] for method in methods}
            for method, value in own.items():
                told = f"{value:.4f}" if measure == "rmse" and value < 1 else f"{value:.3f}"
                cells.append(f"**{told}**" if method == best(own, key=own.__getitem__) else told)
            cells.append(printed(table, name, "spos"))
        lines.append(cells)
    labels = [LABELS[method] for method in methods]
    headings = [
        f"{measure} {label}" for measure in ("RMSE", "LL") for label in (*labels, "paper's SPOS")
    ]
    return Table(["data", *headings], lines).markdown()


def row(name: str, method: str, one: Outcome, settings: Settings) -> dict[str, Any]:
    rmse, ll = estimate(one.rmse), estimate(one.ll)
    trials = dict(settings.trials)[method]
    return {
        "dataset": name,
        "method": method,
        "rmse": rmse.mean,
        "rmse_se": rmse.se,
        "rmse_sd": float(np.std(one.rmse)),
        "ll": ll.mean,
        "ll_se": ll.se,
        "ll_sd": float(np.std(one.ll)),
        "splits": len(one.rmse),
        "seconds": one.seconds,
        "last_rmse": float(one.last_rmse.mean()),
        "last_ll": float(one.last_ll.mean()),
        "settings": {
            "steps": one.steps,
            "chosen": [
                {**trials[int(n)]._asdict(), "averaged": bool(mean)}
                for n, mean in zip(one.trial, one.averaged, strict=True)
            ],
        },
        "each_rmse": one.rmse,
        "each_ll": one.ll,
        "validation_ll": one.validation,
    }


def pairs(outcomes: Outcomes) -> list[dict[str, Any]]:
    """SPOS minus each other method on the same splits, in both measures."""
    found = []
    for (name, method), other in outcomes.items():
        ours = outcomes.get((name, "spos"))
        if method == "spos" or ours is None or len(ours.rmse) < 2:
            continue
        rmse, ll = estimate(ours.rmse - other.rmse), estimate(ours.ll - other.ll)
        found.append(
            {
                "dataset": name,
                "against": method,
                "rmse": rmse.mean,
                "rmse_se": rmse.se,
                "ll": ll.mean,
                "ll_se": ll.se,
            }
        )
    return found


def ranks(outcomes: Outcomes) -> dict[str, dict[str, float]]:
    """The average rank of each method over the data sets that all have, 1 for the best."""
    methods = sorted({method for _, method in outcomes})
    names = [
        name
        for name in dict.fromkeys(name for name, _ in outcomes)
        if all((name, method) in outcomes for method in methods)
    ]
    if not names or len(methods) < 2:
        return {}
    found = {}
    for measure, sign in (("rmse", 1.0), ("ll", -1.0)):
        table = np.array(
            [[sign * getattr(outcomes[n, m], measure).mean() for m in methods] for n in names]
        )
        order = table.argsort(axis=1).argsort(axis=1) + 1.0
        found[measure] = dict(zip(methods, order.mean(axis=0).tolist(), strict=True))
    return found


def claims(settings: Settings, outcomes: Outcomes) -> list[Claim]:
    ours = {
        name: one
        for (name, method), one in outcomes.items()
        if method == "spos" and (name, "spos") in published.RMSE
    }
    made = []
    for measure, table, sign, word in (
        ("rmse", published.RMSE, -1.0, "error"),
        ("ll", published.LL, 1.0, "log-likelihood"),
    ):
        if not ours:
            break
        values = {name: float(getattr(one, measure).mean()) for name, one in ours.items()}
        target = {name: table[name, "spos"] for name in ours}
        made.append(
            Claim(
                claim=f"SPOS has a mean {word} at least as good as the paper's, in its decimals.",
                measured="; ".join(
                    f"{name} {value:.4g} ({table[name, 'spos']:g})"
                    for name, value in values.items()
                )
                + ".",
                verdict=verdict(
                    {
                        name: sign * (round(value, 3) - target[name]) >= 0
                        for name, value in values.items()
                    },
                    "on ",
                ),
                rule="The mean over splits, rounded to three decimals like the paper's.",
            )
        )
    return made + [_ranked(outcomes)] * bool(ranks(outcomes)) + _paired(outcomes)


def _ranked(outcomes: Outcomes) -> Claim:
    found = ranks(outcomes)
    best = {
        {"rmse": "error", "ll": "log-likelihood"}[measure]: by["spos"]
        < min(value for method, value in by.items() if method != "spos")
        for measure, by in found.items()
        if "spos" in by
    }
    told = "; ".join(
        f"{measure}: " + ", ".join(f"{LABELS[m]} {value:.2f}" for m, value in by.items())
        for measure, by in found.items()
    )
    return Claim(
        claim="SPOS has the best average rank of the three methods, tuned alike.",
        measured=f"Average ranks, {told}.",
        verdict=verdict(best or {"SPOS was run": False}, "by "),
        rule="Ranks of the means over splits on each data set that all methods have.",
    )


def _paired(outcomes: Outcomes) -> list[Claim]:
    found = pairs(outcomes)
    if not found:
        return []
    better, worse = [], []
    seen = {}
    for one in found:
        name = f"{one['dataset']} against {LABELS[one['against']]}"
        difference = Estimate(one["ll"], one["ll_se"])
        nothing = Estimate(0.0, 0.0)
        seen[name] = difference.above(nothing)
        better += [name] * seen[name]
        worse += [name] * nothing.above(difference)
    return [
        Claim(
            claim="On the same splits SPOS has a larger log-likelihood than SGLD and SVGD.",
            measured=f"Clearly larger for {', '.join(better) or 'none'}; clearly smaller for "
            f"{', '.join(worse) or 'none'}; no clear difference for the other "
            f"{len(found) - len(better) - len(worse)}.",
            verdict=verdict(seen, "on "),
            rule="The mean of the differences over splits exceeds two of its standard errors. "
            "Splits share rows, so these errors are a little too small.",
        )
    ]
