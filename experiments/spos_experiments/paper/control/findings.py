"""What the runs of `spos paper control` say, finished or not."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spos.io.html import Table
from spos.rl import Trained
from spos_experiments.frame.experiment import Estimate, Findings
from spos_experiments.frame.record import Claim, numbers, verdict
from spos_experiments.paper.control.film import PACE, film
from spos_experiments.paper.control.protocol import Job
from spos_experiments.paper.control.settings import Settings

Runs = dict[Job, Trained]
POINTS = 100  # of a curve in the record
EARLY = 20  # iterations in which exploration is measured; after fifty, everyone has been everywhere
# the peaks that the reference implementation of SVPG prints
PEAKS = {"swing_up": 405.0, "double_pendulum": -341.0}
LABELS = {"svpg": "SVPG", "spos": "SPOS-PG", "independent": "independent"}
MEASURES = {
    "final_return": "mean return",
    "best_return": "best particle",
    "peak_return": "peak",
    "auc": "mean over all iterations",
    "spread": "sd over particles",
    "coverage": "early coverage",
}


def findings(settings: Settings, seed: int, todo: Sequence[Job], found: Runs) -> Findings:
    usual = {
        job: run
        for job, run in found.items()
        if job.num_iterations == dict(settings.num_iterations)[job.task]
        and (job.alpha, job.beta) == (settings.alpha, settings.beta)
    }
    cases = list(dict.fromkeys(job[:3] for job in todo if job in usual))
    groups = {
        case: [usual[job] for job in todo if job in usual and job[:3] == case] for case in cases
    }
    rows = [row(case, runs) for case, runs in groups.items()]
    missing = [job.name(settings) for job in todo if job not in found]
    short = [job for job in todo if job in found and job not in usual]
    return Findings(
        numbers=numbers(
            {
                "rows": rows,
                "curves": [curve(case, runs) for case, runs in groups.items()],
                "ablation": [trial(job, found[job]) for job in short],
                "films": films(seed, usual),
                "missing": missing,
            }
        ),
        claims=claims(groups),
        table=Table(
            ("task, gradient, method", "seeds", *MEASURES.values()),
            [
                (
                    f"{task}, {gradient}, {LABELS[method]}",
                    str(len(runs)),
                    *(shown(estimate(runs, name)) for name in MEASURES),
                )
                for (task, gradient, method), runs in groups.items()
            ],
            f"{settings.num_particles} particles, {settings.num_episodes} episodes of each in "
            "every iteration; over the last tenth of the iterations, ± s.e. over seeds. "
            + (f"{len(missing)} of {len(todo)} runs are not done yet." if missing else ""),
        ),
    )


def measures(run: Trained) -> dict[str, float]:
    """The numbers of one run."""
    last = run.returns[-max(1, len(run.returns) // 10) :].mean(axis=0)
    return {
        "final_return": float(last.mean()),
        "best_return": float(last.max()),
        "peak_return": float(run.returns.max()),
        "auc": float(run.returns.mean()),
        "spread": float(last.std(ddof=1)) if len(last) > 1 else 0.0,
        "coverage": float(run.coverage[:EARLY].mean()),
    }


def estimate(runs: Sequence[Trained], name: str) -> Estimate:
    values = [measures(run)[name] for run in runs]
    return Estimate.of(values) if len(values) > 1 else Estimate(values[0], float("nan"))


def shown(value: Estimate) -> str:
    """One seed has no standard error."""
    return f"{value.mean:.4g}" if np.isnan(value.se) else str(value)


def row(case: tuple[str, str, str], runs: Sequence[Trained]) -> dict[str, Any]:
    found: dict[str, Any] = dict(zip(("task", "gradient", "method"), case, strict=True))
    found["seeds"] = len(runs)
    for name in MEASURES:
        value = estimate(runs, name)
        found |= {name: value.mean, f"{name}_se": value.se}
    found["seeds_sd"] = float(np.std([measures(run)["final_return"] for run in runs]))
    found["seconds"] = float(np.sum([run.seconds for run in runs]))
    return found | {"settings": dict(runs[0].settings)}


def curve(case: tuple[str, str, str], runs: Sequence[Trained]) -> dict[str, Any]:
    """Block means over iterations, so that a thousand of them become a hundred points."""
    size = min(POINTS, min(run.num_iterations for run in runs))

    def blocks(values: np.ndarray) -> np.ndarray:
        return np.stack([part.mean(axis=0) for part in np.array_split(values, size)])

    returns = np.stack([blocks(run.returns) for run in runs])  # (seeds, points, particles)
    means = returns.mean(axis=2)
    return {
        **dict(zip(("task", "gradient", "method"), case, strict=True)),
        "iteration": blocks(np.arange(1.0, runs[0].num_iterations + 1)),
        "mean": means.mean(axis=0),
        "spread": returns.std(axis=2).mean(axis=0),
        "se": means.std(axis=0, ddof=1) / len(runs) ** 0.5 if len(runs) > 1 else 0 * means[0],
        "best": returns.max(axis=2).mean(axis=0),
        "coverage": np.stack([run.coverage[:EARLY] for run in runs]).mean(axis=0),
    }


def trial(job: Job, run: Trained) -> dict[str, Any]:
    return {
        **{name: getattr(job, name) for name in ("task", "gradient", "method", "num_iterations")},
        "alpha": job.alpha,
        "beta": job.beta if job.method == "spos" else None,
        **measures(run),
    }


def films(seed: int, usual: Runs) -> list[dict[str, Any]]:
    """The best particle of SPOS-PG with the actor-critic at work, one film a task."""
    runs = {job.task: run for job, run in usual.items() if job[1:4] == ("a2c", "spos", seed)}
    return [film(task, runs[task]) for task in PACE if task in runs]


def claims(groups: Mapping[Any, Sequence[Trained]]) -> list[Claim]:
    """Only panels that have both methods with two seeds or more are judged."""
    panels = [
        case[:2]
        for case, runs in groups.items()
        if case[2] == "spos" and len(runs) > 1 and len(groups.get((*case[:2], "svpg"), ())) > 1
    ]
    made = [_peaks(groups)] if any(task in PEAKS for task, *_ in groups) else []
    if not panels:
        return [each for each in made if each]

    def compare(name: str, claim: str, larger: bool, word: str) -> Claim:
        pairs = {
            panel: (
                estimate(groups[(*panel, "spos")], name),
                estimate(groups[(*panel, "svpg")], name),
            )
            for panel in panels
        }
        seen = {
            f"{task} with {gradient}": ours.above(theirs) if larger else theirs.above(ours)
            for (task, gradient), (ours, theirs) in pairs.items()
        }
        against = [
            f"{task} with {gradient}"
            for (task, gradient), (ours, theirs) in pairs.items()
            if (theirs.above(ours) if larger else ours.above(theirs))
        ]
        return Claim(
            claim=claim,
            measured=f"{word} of SPOS-PG and of SVPG: "
            + "; ".join(f"{' with '.join(p)}: {a} and {b}" for p, (a, b) in pairs.items())
            + f". Clearly the other way round for {', '.join(against) or 'none'}.",
            verdict=verdict(seen, "run on "),
            rule="Seen on a task with a gradient when the difference exceeds two standard errors "
            "over seeds.",
        )

    return [
        compare(
            "final_return", "SPOS-PG ends with a larger average return than SVPG.", True, "Return"
        ),
        compare(
            "spread",
            "The returns of the particles of SPOS-PG vary less than those of SVPG.",
            False,
            "Standard deviation over particles",
        ),
        compare("auc", "SPOS-PG learns faster.", True, "Mean return over all iterations"),
        compare(
            "coverage",
            "SPOS-PG explores faster.",
            True,
            f"Share of positions visited so far, mean over the first {EARLY} iterations,",
        ),
        *made,
    ]


def _peaks(groups: Mapping[Any, Sequence[Trained]]) -> Claim:
    best = {
        f"{LABELS[method]} on {task} with {gradient}": (
            max(measures(run)["peak_return"] for run in runs),
            PEAKS[task],
        )
        for (task, gradient, method), runs in groups.items()
        if task in PEAKS
    }
    return Claim(
        claim="The best policy passes the peak that the reference implementation of SVPG prints "
        "(405 on the swing-up, -341 on the double pendulum).",
        measured="; ".join(f"{name}: {value:.0f}" for name, (value, _) in best.items()) + ".",
        verdict=verdict({name: value > peak for name, (value, peak) in best.items()}, "run as "),
        rule="The highest mean return of a particle's episodes in any iteration of any seed.",
    )
