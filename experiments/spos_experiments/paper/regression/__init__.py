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

import dataclasses
import functools
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spos.io import archive
from spos_experiments.data import DataError, Table, load
from spos_experiments.frame.experiment import Findings, Tick, in_parallel, mark
from spos_experiments.paper.regression import cost, protocol, published
from spos_experiments.paper.regression.figures import draw
from spos_experiments.paper.regression.findings import Outcome, findings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "grow"]

TITLE = "Bayesian neural networks on tables"
ABOUT = (
    "Networks with one hidden layer as particles, by SGLD, SVGD and SPOS, each with as many tries "
    "to find its setting on validation rows; next to what the paper printed."
)

Both = tuple[protocol.Errors, protocol.Errors]
Job = Callable[[], Both]


@dataclass(frozen=True)
class Settings:
    datasets: tuple[str, ...] = published.SETS
    methods: tuple[str, ...] = published.METHODS
    splits: int = 20  # at most
    data: str | None = None  # the folder, or None for SPOS_DATA and the cache
    particles: int = 20
    hidden: int = 50
    batch: int = 100
    large: int = 20_000  # rows, from which on networks, batches and runs are larger
    large_hidden: int = 100
    large_batch: int = 1000
    large_steps: int = 16_000
    epochs: int = 150
    fewest_steps: int = 5000
    most_steps: int = 12_000
    trial_share: float = 1 / 3  # steps of a trial, of those of the final run
    hasty: bool = False  # compile with less care
    timed: bool = True  # is a step timed against its gradient?
    trials: tuple[tuple[str, tuple[protocol.Trial, ...]], ...] = tuple(protocol.TRIALS.items())

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            datasets=("diabetes",),
            splits=2,
            particles=8,
            fewest_steps=120,
            most_steps=120,
            hasty=True,
            timed=False,
            trials=tuple((name, trials[1:3]) for name, trials in self.trials),
        )

    def shape(self, method: str, table: Table, share: float = 1.0) -> protocol.Shape:
        hidden, batch = self.hidden, self.batch
        wanted = np.clip(
            self.epochs * len(table.splits[0][0]) / batch, self.fewest_steps, self.most_steps
        )
        if len(table.y) >= self.large:
            hidden, batch, wanted = self.large_hidden, self.large_batch, self.large_steps
        rounds = max(1, round(float(wanted) * share / protocol.ROUNDS))
        steps = protocol.ROUNDS * rounds
        return protocol.Shape(method, hidden, self.particles, batch, steps, self.hasty)


def grow(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings whenever a method has ended on a data set."""
    store = folder / "runs"
    store.mkdir(exist_ok=True)
    tables, missing = find(settings)
    outcomes: dict[tuple[str, str], Outcome] = {}
    costs = cost.measure(settings.particles) if settings.timed else {}
    works = [
        _Work(settings, method, table, seed)
        for table in tables.values()
        for method in settings.methods
    ]
    places = {work: store / f"{work.name}-seed{seed}.npz" for work in works}
    total, done = sum(work.length for work in works if not places[work].exists()), 0
    for work, place in places.items():
        if not place.exists():
            write(place, work.outcome(functools.partial(_later, tick, done, total)))
            done += work.length
        outcomes[work.table.name, work.method] = read(place)
        tick(done, total)
        yield findings(settings, outcomes, missing, costs)


def _later(tick: Tick, before: int, total: int, done: int) -> None:
    tick(before + done, total)


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


class _Work:
    """One method on one data set: trials, a choice, and the final run."""

    def __init__(self, settings: Settings, method: str, table: Table, seed: int) -> None:
        self.settings, self.method, self.table, self.seed = settings, method, table, seed
        self.trials = dict(settings.trials)[method]
        self.splits = min(settings.splits, len(table.splits))
        shape = settings.shape(method, table)
        self.final = shape.steps * shape.batch  # rows that a final run sees, a measure of its time
        self.trial = round(settings.trial_share * self.final)
        self.length = self.splits * (len(self.trials) * self.trial + self.final)
        made_of = mark(shape, settings.trial_share, self.trials)
        self.name = f"{table.name}-{method}-{self.splits}splits-{made_of}"

    def outcome(self, tick: Callable[[int], None]) -> Outcome:
        began = time.monotonic()
        short = self.settings.shape(self.method, self.table, self.settings.trial_share)
        tried = [self._fit(short, [trial] * self.splits, True) for trial in self.trials]
        done = self._run(list(itertools.chain(*tried)), lambda n: tick(n * self.trial))
        # (trials, splits, last or averaged)
        validation = np.array([[kind.ll for kind in one] for one in done])
        validation = validation.reshape(len(self.trials), self.splits, 2)
        best = validation.transpose(0, 2, 1).reshape(-1, self.splits).argmax(axis=0)
        number, averaged = best // 2, best % 2
        long = self.settings.shape(self.method, self.table)
        before = len(self.trials) * self.splits * self.trial
        final = self._run(
            self._fit(long, [self.trials[n] for n in number], False),
            lambda n: tick(before + n * self.final),
        )
        chosen = [one[kind] for one, kind in zip(final, averaged, strict=True)]
        return Outcome(
            rmse=np.array([one.rmse for one in chosen]),
            ll=np.array([one.ll for one in chosen]),
            last_rmse=np.array([last.rmse for last, _ in final]),
            last_ll=np.array([last.ll for last, _ in final]),
            validation=validation,
            trial=number,
            averaged=averaged,
            seconds=time.monotonic() - began,
            steps=long.steps,
        )

    def _fit(self, shape: protocol.Shape, trials: list, validate: bool) -> list[Job]:
        """A job for each split, with its trial."""
        return [
            functools.partial(self._one, shape, trial, validate, k)
            for k, trial in enumerate(trials)
        ]

    def _one(self, shape: protocol.Shape, trial: protocol.Trial, validate: bool, k: int) -> Both:
        return protocol.fit(shape, trial, protocol.rows(self.table, k, validate), self.seed, k)

    def _run(self, jobs: list[Job], tick: Callable[[int], None]) -> list[Both]:
        """The first job alone: it compiles what the others use."""
        tick(0)
        return [jobs[0](), *in_parallel(jobs[1:], lambda n, _: tick(1 + n))]


def write(place: Path, outcome: Outcome) -> None:
    fields = outcome._asdict()
    meta = {name: fields.pop(name) for name in ("seconds", "steps")}
    archive.write(place, fields, meta)


def read(place: Path) -> Outcome:
    arrays, meta = archive.read(place)
    fields: dict[str, Any] = {**arrays, **meta}
    return Outcome(**fields)
