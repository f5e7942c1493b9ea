"""What was measured of each run, and what follows from all."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spos.diagnostics.compare import EXACT, Row
from spos.io.html import Table
from spos_experiments.frame.experiment import Estimate
from spos_experiments.frame.record import Claim, verdict
from spos_experiments.paper.methods.problems import MODES, Problem, centres
from spos_experiments.paper.methods.settings import BLOCKS, METHODS, NOISY, Settings


def measures(row: Row, name: str, case: Problem, num_steps: int) -> dict[str, Any]:
    """The measures of one run, each as mean and standard error over the seeds."""
    points = row.points
    found = dict(row.final())
    with np.errstate(over="ignore", invalid="ignore"):
        found["variance"] = points.var(axis=1, ddof=1).sum(-1) / np.trace(case.covariance)
    if name == "modes":
        away = np.linalg.norm(points[:, :, None] - centres(), axis=-1)
        share = (away.argmin(-1)[..., None] == np.arange(MODES)).mean(axis=1)
        found["modes"] = (share >= 0.25 / MODES).sum(axis=1).astype(float)
    return {
        "gradients": int(row.evaluations[-1]) if len(row.evaluations) else None,
        "ms a step": None if row.seconds is None else 1e3 * row.seconds / num_steps,
        "diverged": int(row.diverged.min()) if len(row.diverged) else None,
        "measures": {key: list(Estimate.of(values)) for key, values in found.items()},
    }


def measured(found: Mapping[str, Any], name: str, method: str, measure: str) -> Estimate | None:
    """A measure of a run in a record; None where it was not made or diverged."""
    for each in found["runs"]:
        if (each["problem"], each["method"]) == (name, method) and each["diverged"] is None:
            return Estimate(*each["measures"][measure])
    return None


COLUMNS = {  # heading: problem, measure
    "Gaussian: mean": ("Gaussian", "mean"),
    "covariance": ("Gaussian", "covariance"),
    "pooled covariance": ("Gaussian", "pooled covariance"),
    "banana: sliced W1": ("banana", "sliced W1"),
    "pooled covariance ": ("banana", "pooled covariance"),
    "wide: variance kept": ("wide", "variance"),
    "modes: found of 5": ("modes", "modes"),
    "sliced W1": ("modes", "sliced W1"),
}


def table(found: Mapping[str, Any], settings: Settings) -> Table:
    shown = {head: c for head, c in COLUMNS.items() if c[0] in settings.problems}
    rows = []
    for method in (*settings.methods, EXACT):
        cells = []
        for name, measure in shown.values():
            value = measured(found, name, method, measure)
            cells.append("diverged" if value is None else str(value))
        times = [
            each["ms a step"]
            for each in found["runs"]
            if each["method"] == method and each["problem"] == settings.problems[0]
        ]
        cells.append("–" if times[0] is None else f"{times[0]:.2f}")
        rows.append((method, *cells))
    return Table(
        ("method", *(head.strip() for head in shown), "ms a step"),
        rows,
        f"After {settings.num_steps} steps: mean ± standard error over {settings.repeats} seeds. "
        "Errors of mean and covariance are relative; variance kept is 1 when all is there. The "
        f"time is that of {settings.problems[0]}, for one seed of {settings.repeats} side by side.",
    )


def claims(found: Mapping[str, Any], settings: Settings) -> list[Claim]:
    made = []

    def values(name: str, measure: str, methods: tuple[str, ...]) -> dict[str, Estimate]:
        """Those of the methods that were run and did not diverge."""
        pairs = {m: measured(found, name, m, measure) for m in methods if m in settings.methods}
        return {m: value for m, value in pairs.items() if value is not None}

    def said(each: Mapping[str, Estimate]) -> str:
        return ", ".join(f"{method} {value}" for method, value in each.items())

    quiet = tuple(m for m in METHODS if m not in NOISY)
    if "Gaussian" in settings.problems:
        exact = measured(found, "Gaussian", EXACT, "mean")
        assert exact is not None
        still = values("Gaussian", "mean", quiet)
        made.append(
            Claim(
                "Without noise, a cloud has a better mean than as many independent draws.",
                f"Error of the mean, 5-dimensional Gaussian: {said(still)}; {EXACT} {exact}.",
                verdict({m: exact.above(v) for m, v in still.items()}, "the method is "),
                "Seen for a method when its error is lower by more than two standard errors.",
            )
        )
    if "wide" in settings.problems:
        kept = values("wide", "variance", tuple(METHODS))
        made += [
            Claim(
                "Noise keeps the variance in 100 dimensions with 50 particles.",
                f"Share of the variance kept: {said({m: kept[m] for m in NOISY if m in kept})}.",
                verdict(
                    {m: abs(kept[m].mean - 1) < 0.1 for m in NOISY if m in kept}, "the method is "
                ),
                "Seen for a method when the variance is within 10 % of the target's.",
            ),
            Claim(
                "Without noise and with one kernel for all dimensions, the cloud collapses there.",
                "Share of the variance kept: "
                + said({m: kept[m] for m in quiet if m in kept and m != BLOCKS})
                + ".",
                verdict(
                    {m: kept[m].mean < 0.5 for m in quiet if m in kept and m != BLOCKS},
                    "the method is ",
                ),
                "Seen for a method when less than half is kept.",
            ),
        ]
        if BLOCKS in kept:
            made.append(
                Claim(
                    "A kernel for each coordinate keeps SVGD's variance there.",
                    f"Share of the variance kept: {said({BLOCKS: kept[BLOCKS]})}.",
                    verdict({BLOCKS: abs(kept[BLOCKS].mean - 1) < 0.1}),
                    "Seen when the variance is within 10 % of the target's.",
                )
            )
    if "modes" in settings.problems:
        reached = values("modes", "modes", NOISY)
        stuck = values("modes", "modes", quiet)
        made += [
            Claim(
                "With noise, particles that start in one of five modes find all.",
                f"Modes found: {said(reached)}.",
                verdict({m: v.mean > MODES - 0.5 for m, v in reached.items()}, "the method is "),
                "Seen for a method when on average more than 4.5 of 5 are found.",
            ),
            Claim(
                "Without noise they stay where they are.",
                f"Modes found: {said(stuck)}.",
                verdict({m: v.mean < 1.5 for m, v in stuck.items()}, "the method is "),
                "Seen for a method when on average fewer than 1.5 of 5 are found.",
            ),
        ]
    return made
