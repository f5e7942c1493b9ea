"""`spos paper interaction`: where does it pay that particles interact?

SPOS is Langevin chains with a kernel term between them. On targets whose moments are known, both
get the same number of scores, and the error of a cloud of M particles in d dimensions is

    e² = mean over coordinates of ((m' - m) / σ)² + (log σ'/σ)²

with its mean m' and standard deviation σ' after the last step. Only scores count: the kernel's sum
over pairs is free here, as it is where a score is expensive.

    hill         a normal law with sds from 1 to 3; the start is 4 to the side of it in every axis
    two modes    two such hills at ±4 on the first axis, with .7 and .3 of the mass

The scores are exact, or have noise: `own` noise is drawn for every particle, as by rollouts of a
policy, and `shared` noise is the same for all, as by a minibatch. For each case and each budget a
method's settings (step size; for SPOS also β) are those with the smallest error on pilot seeds, by
one rule for both methods, and the errors shown are of other seeds.

    spos paper interaction
    spos paper interaction --quick
"""

import functools
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from spos.io.html import Table
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.frame.record import numbers
from spos_experiments.paper.interaction.figures import draw
from spos_experiments.paper.interaction.findings import CLASSES, claims, compared, inside, line
from spos_experiments.paper.interaction.measure import Errors, both
from spos_experiments.paper.interaction.settings import Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Where the interaction pays"
ABOUT = (
    "SPOS beside independent Langevin chains with equally many scores, over budget, dimension, "
    "noise, particles and modes; settings of both are chosen on pilot seeds."
)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """All findings at once; what has been run of them is in the folder."""
    store = resume.store(folder, resume.mark(settings))
    cases = list(product(settings.targets, settings.dimensions, settings.particles))
    cells: list[dict[str, Any]] = []
    for done, case in enumerate(cases):
        tick(done, len(cases))
        place = store / f"{'-'.join(map(str, case)).replace(' ', '_')}-seed{seed}.npz"
        make = functools.partial(both, settings, seed, *case)
        cells += compared(settings, case, resume.outcome(place, Errors, make)._asdict())
    tick(len(cases), len(cases))
    yield Findings(
        numbers=numbers({"cells": cells}),
        claims=claims(cells),
        table=Table(
            ("where", "cells", "pays", "costs", "median of error ratios"),
            [line(word, inside(cells, keep)) for word, keep in CLASSES.items()],
            "A cell is a target, d, M, kind of noise and budget. It pays in a cell if the error of "
            "SPOS is smaller than that of independent chains by more than two standard errors.",
        ),
    )
