"""What the runs in a folder say before there is a whole record of them."""

from pathlib import Path

from spos.io.html import Table
from spos_experiments.frame import resume
from spos_experiments.paper.accuracy.findings import row
from spos_experiments.paper.accuracy.methods import DEFAULT, Outcome
from spos_experiments.paper.accuracy.models import MODELS
from spos_experiments.paper.accuracy.reference import Reference

SAYS = {True: "converged", False: "not converged"}


def so_far(store: Path, seed: int = 0) -> str:
    """The default recipe on every model that has ended and has a reference, as Markdown."""
    lines = []
    for name in MODELS:
        place, known = store / f"{name}-{DEFAULT}-seed{seed}.npz", store / f"{name}-reference.npz"
        if not (place.exists() and known.exists()):
            continue
        reference = resume.read(known, Reference)
        outcome = resume.read(place, Outcome, trees=("particles",))
        found = row(name, DEFAULT, reference, outcome)
        lines.append(
            (
                name.replace("_", " "),
                f"{sum(found['right'])} of {len(found['right'])}",
                ", ".join(dict.fromkeys(SAYS[said] for said in found["converged"])),
                " and ".join(f"{count:,}" for count in outcome.evaluations),
                *(f"{found[name]:.3f}" for name in ("worst_mean", "worst_sd")),
            )
        )
    headings = (
        *("model", "seeds right", "says", "gradients"),
        *("worst error of a mean, sd", "worst of a log sd"),
    )
    return Table(headings, lines).markdown()
