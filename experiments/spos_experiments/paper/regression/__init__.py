"""`spos paper regression`: Bayesian neural networks on the UCI data sets of the paper.

Root mean square error of the mean prediction and mean log-likelihood of the mixture of networks,
both in the units of the target, over random splits that are the same for all methods. `protocol`
says how a setting is chosen (never by test rows) and what is trained.

± is the standard error over splits, and "sd" their spread. Methods are compared by the differences
on the same splits. What has ended is a file in `runs/`; the same command goes on where it stopped.

    spos paper regression --data DIR
    spos paper regression --datasets boston yacht --methods spos --splits 5
    spos paper regression --datasets diabetes
"""

import collections
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from spos_experiments.data import DataError, Table, load
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick, quiet
from spos_experiments.paper.regression import cost
from spos_experiments.paper.regression.figures import draw
from spos_experiments.paper.regression.findings import Outcome, findings
from spos_experiments.paper.regression.settings import Settings
from spos_experiments.paper.regression.work import Work

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "make", "parts", "results"]

TITLE = "Bayesian neural networks on tables"
ABOUT = (
    "Networks with one hidden layer as particles, by SGLD, SVGD and SPOS, each with as many tries "
    "to find its setting on validation rows; next to what the paper printed."
)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings whenever a method has ended on a data set."""
    tables, missing = find(settings)
    costs = cost.measure(settings.particles) if settings.timed else {}
    outcomes: dict[tuple[str, str], Outcome] = {}
    for work, outcome in runs(settings, seed, tables, folder, tick):
        outcomes[work.table.name, work.method] = outcome
        yield findings(settings, outcomes, missing, costs)


def runs(
    settings: Settings, seed: int, tables: dict[str, Table], folder: Path, tick: Tick
) -> Iterator[tuple[Work, Outcome]]:
    """Each method on each of these data sets."""
    store = resume.store(folder)
    works = [
        Work(settings, method, table, seed)
        for table in tables.values()
        for method in settings.methods
    ]
    places = {work: store / f"{work.name}-seed{seed}.npz" for work in works}
    return resume.in_turn(places, Outcome, _outcome, lambda work: work.length, tick)


def parts(settings: Settings, seed: int) -> list[tuple[str, str]]:
    """A method on a data set is a job."""
    return [(name, method) for name in find(settings)[0] for method in settings.methods]


def make(settings: Settings, seed: int, part: tuple[str, str], folder: Path) -> None:
    name, method = part
    only = dataclasses.replace(settings, datasets=(name,), methods=(method,))
    collections.deque(runs(only, seed, find(only)[0], folder, quiet), maxlen=0)


def find(settings: Settings) -> tuple[dict[str, Table], dict[str, str]]:
    """The data sets that are here, and why others are not."""
    tables, missing = {}, {}
    for name in settings.datasets:
        try:
            tables[name] = load(name, settings.data)
        except DataError as error:
            missing[name] = str(error)
    if not tables:
        raise DataError(next(iter(missing.values())))
    return tables, missing


def _outcome(work: Work, state: Path, tick: Tick) -> Outcome:
    return work.outcome(tick)
