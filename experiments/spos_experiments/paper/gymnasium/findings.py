"""Numbers, claims and the table."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spos.io.html import Table
from spos_experiments.frame.bootstrap import interval
from spos_experiments.frame.experiment import Findings
from spos_experiments.frame.record import Claim, numbers, verdict
from spos_experiments.paper.gymnasium.learn import Outcome
from spos_experiments.paper.gymnasium.settings import (
    METHODS,
    SMALL,
    SOLVED,
    SPARSE,
    Job,
    Settings,
)
from spos_experiments.paper.learning.findings import LABELS

FEWEST = 5  # seeds that a comparison takes
NAMES = {**LABELS, "stable-baselines3": "PPO of Stable-Baselines3"}


def findings(settings: Settings, seed: int, found: Mapping[Job, Outcome]) -> Findings:
    rows = [
        {
            **job._asdict(),
            "solved": SOLVED[job.task],
            "together": float(one.together.mean()),
            "alone": one.alone.mean(axis=1),
            "steps": one.steps,
            "seconds": one.seconds,
            "curve": one.returns.mean(axis=1),
            "settings": one.settings,
        }
        for job, one in found.items()
    ]
    own = [
        row
        for row in rows
        if row["method"] == "spos" and row["task"] in SMALL and row["seed"] < seed + settings.seeds
    ]
    return Findings(
        numbers=numbers({"rows": rows}),
        claims=[*([solved_claim(own)] if own else []), *exploration_claims(rows)],
        table=Table(
            ("task", "method", "seed", "solved", "together", "each alone", "steps of a policy"),
            [
                (
                    row["task"],
                    NAMES[row["method"]],
                    str(row["seed"]),
                    f"{row['solved']:.0f}",
                    f"{row['together']:.1f}",
                    ", ".join(f"{one:.1f}" for one in row["alone"]),
                    f"at most {row['steps'] / 1e3:.0f} thousand",
                )
                for row in rows
            ],
            f"Mean returns of {settings.judged_episodes} new episodes without noise of actions.",
        ),
    )


def solved_claim(rows: list[dict[str, Any]]) -> Claim:
    tasks = dict.fromkeys(row["task"] for row in rows)
    worst = {t: min(row["together"] for row in rows if row["task"] == t) for t in tasks}
    return Claim(
        "SPOS-PG with PPO's gradient solves the small tasks of Gymnasium.",
        "All policies together, worst seed: "
        + "; ".join(f"{name}: {value:.1f}" for name, value in worst.items())
        + ".",
        verdict({name: value >= SOLVED[name] for name, value in worst.items()}, "on "),
        "Seen on a task when the mean return of every seed reaches the task's number.",
    )


def left_valley(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    """The share of each run's policies that solve the task with a sparse reward."""
    return {
        method: [
            float(np.mean(np.asarray(row["alone"]) >= SOLVED[SPARSE]))
            for row in rows
            if (row["task"], row["method"]) == (SPARSE, method)
        ]
        for method in METHODS
    }


def exploration_claims(rows: list[dict[str, Any]]) -> list[Claim]:
    shares = left_valley(rows)
    if min(map(len, shares.values())) < FEWEST or len(set(map(len, shares.values()))) > 1:
        return []
    ours = np.asarray(shares["spos"])
    gains = {
        LABELS[other]: interval(100 * (ours - np.asarray(shares[other])))
        for other in ("svpg", "independent")
    }
    return [
        Claim(
            "With a sparse reward, more policies of SPOS-PG than of others find it.",
            "Policies that leave the valley of MountainCar: "
            + "; ".join(f"{LABELS[m]} {np.mean(s):.0%}" for m, s in shares.items())
            + ". Mean difference, seed by seed, in per cent: "
            + "; ".join(f"to {name}: {gain}" for name, gain in gains.items())
            + ".",
            verdict({name: gain.low > 0 for name, gain in gains.items()}, "against "),
            "Seen when the 95 % interval of the mean difference lies above 0.",
        )
    ]
