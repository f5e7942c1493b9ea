"""`spos paper bde`: `SPOSRegressor()` beside bde, Bayesian deep ensembles for scikit-learn.

bde trains networks one by one and then draws from the posterior of each by microcanonical Langevin
dynamics on all rows. It pins a blackjax, so it lives in an environment of its own, and each fit of
either library is a new process (`alone.py`). It is run as constructed, `BdeRegressor()`, and with
the settings of its README; those of its authors' paper, which take far longer, are run where
`--methods` names them, and so are deeper networks of ours, whose settings were chosen for airfoil.

airfoil and bike come with bde. They are split by the call of its authors' script, so that split 0
is the one whose numbers they print. Other tables have their published splits. Inputs and targets
are standardised by the training rows. Claims and their rules were written before the run.

    python -m venv DIR && DIR/bin/pip install sklearn-contrib-bde
    spos paper bde --environment DIR
    SPOS_BDE=DIR spos paper bde --tables airfoil concrete
"""

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spos_experiments.data.catalogue import TABLES
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.frame.options import option
from spos_experiments.paper.bde.findings import draw, findings
from spos_experiments.paper.bde.measure import (
    BY_README,
    OURS,
    OWN,
    RIVALS,
    SHIPPED,
    VARIABLE,
    Job,
    Outcome,
    outcome,
    settings_of,
    standardised,
)

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Beside Bayesian deep ensembles"
ABOUT = "SPOSRegressor() at its defaults beside bde, on tables of bde's authors and others."


@dataclass(frozen=True)
class Settings:
    tables: tuple[str, ...] = option(
        (*SHIPPED, "concrete", "energy", "yacht"), "which tables", choices=(*SHIPPED, *TABLES)
    )
    methods: tuple[str, ...] = option(
        (OURS, "BdeRegressor()", BY_README), "which methods", choices=(*OWN, *RIVALS)
    )
    splits: int = option(2, "splits of a table", at_least=1)
    environment: str | None = option(None, f"that has bde (default: {VARIABLE})")
    data: str | None = option(None, "the folder of the data (default: SPOS_DATA, then the cache)")
    ours: tuple[tuple[str, Any], ...] = ()  # settings of our estimator; none are the defaults

    def quick(self) -> "Settings":
        few = (("num_steps", 100), ("n_particles", 3))
        return dataclasses.replace(self, tables=("diabetes",), methods=(OURS,), splits=1, ours=few)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings whenever all methods have ended on a split; first splits come first."""
    store = resume.store(folder)
    ours = dict(settings.ours)

    def place(job: Job) -> Path:
        default = job.method == OURS
        made_of = resume.mark(settings.ours if default else settings_of(job.method, ours))
        method = "_".join(re.findall(r"\w+", job.method))
        return store / f"{job.table}-split{job.split}-{method}-{made_of}-seed{seed}.npz"

    def make(job: Job, state: Path, tick: Tick) -> Outcome:
        rows = standardised(job.table, job.split, settings.data, settings.environment)
        return outcome(rows, job.method, seed, settings.environment, ours)

    jobs = [
        Job(table, split, method)
        for split in range(settings.splits)
        for table in settings.tables
        for method in settings.methods
    ]
    places = {job: place(job) for job in jobs}
    found: dict[Job, Outcome] = {}
    for job, one in resume.in_turn(places, Outcome, make, lambda job: 1, tick):
        found[job] = one
        if job.method == settings.methods[-1]:
            yield findings(found, ours)
