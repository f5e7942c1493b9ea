"""What the runs in a folder say before there is a whole record of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spos.io.html import Table
from spos_experiments.frame import resume
from spos_experiments.paper.accuracy.findings import row
from spos_experiments.paper.accuracy.methods import DEFAULT, METHODS
from spos_experiments.paper.accuracy.models import MODELS
from spos_experiments.paper.accuracy.reference import Reference
from spos_experiments.paper.accuracy.sampled import Outcome

SAYS = {True: "converged", False: "not converged"}


def rows_so_far(store: Path, seed: int = 0) -> list[dict[str, Any]]:
    """The rows of a record, of every run that has ended and has a reference."""
    rows = []
    for name in MODELS:
        if not (known := store / f"{name}-reference.npz").exists():
            continue
        reference = resume.read(known, Reference)
        for method in METHODS:
            place = store / f"{name}-{method}-seed{seed}.npz"
            if place.exists():
                outcome = resume.read(place, Outcome, trees=("particles",))
                rows.append(row(name, method, reference, outcome))
    return rows


def so_far(rows: Sequence[Mapping[str, Any]]) -> str:
    """The default recipe on every model, as Markdown."""
    lines = [
        (
            each["model"].replace("_", " "),
            f"{sum(each['right'])} of {len(each['right'])}",
            ", ".join(dict.fromkeys(SAYS[said] for said in each["converged"])),
            f"{each['evaluations']:,.0f}",
            *(f"{each[name]:.3f}" for name in ("worst_mean", "worst_sd")),
        )
        for each in rows
        if each["method"] == DEFAULT
    ]
    headings = (
        *("model", "seeds right", "says", "gradients, mean"),
        *("worst error of a mean, sd", "worst of a log sd"),
    )
    return Table(headings, lines).markdown()


def against(rows: Sequence[Mapping[str, Any]], rival: str = "nuts") -> str:
    """The default recipe's processor time over a rival's on the same model, as Markdown."""
    by = {(each["model"], each["method"]): each for each in rows}
    pairs = [
        (own, other)
        for (model, method), own in by.items()
        if method == DEFAULT and (other := by.get((model, rival))) and other["processor"]
    ]
    right = [pair for pair in pairs if all(all(each["right"]) for each in pair)]
    lines = []
    for told, some in (("all", pairs), ("both are right", right)):
        for word, name in (("with", "processor_first"), ("without", "processor")):
            ratios = {own["model"]: own[name] / other[name] for own, other in some}
            most = max(ratios, key=ratios.__getitem__)
            middle = f"{np.median(list(ratios.values())):.2f}"
            largest = f"{ratios[most]:.2f} ({most.replace('_', ' ')})"
            lines.append((told, word, str(len(some)), middle, largest))
    return Table(("models", "compilation", "number", "median", "largest"), lines).markdown()
