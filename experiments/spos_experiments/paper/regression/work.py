"""One method on one data set: trials, a choice, and the final run."""

import contextlib
import functools
import itertools
import time
from collections.abc import Callable, Iterator

import jax
import numpy as np

from spos_experiments.data import Table
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import in_parallel
from spos_experiments.paper.regression import protocol
from spos_experiments.paper.regression.findings import Outcome
from spos_experiments.paper.regression.settings import Settings

Both = tuple[protocol.Errors, protocol.Errors]
Job = Callable[[], Both]


class Work:
    """Its name is that of no other work, and its length says how long it takes."""

    def __init__(self, settings: Settings, method: str, table: Table, seed: int) -> None:
        self.settings, self.method, self.table, self.seed = settings, method, table, seed
        self.trials = dict(settings.trials)[method]
        self.splits = min(settings.splits, len(table.splits))
        shape = settings.shape(method, table)
        self.final = shape.steps * shape.batch  # rows that a final run sees, a measure of its time
        self.trial = round(settings.trial_share * self.final)
        self.length = self.splits * (len(self.trials) * self.trial + self.final)
        made_of = resume.mark(shape, settings.trial_share, self.trials)
        self.name = f"{table.name}-{method}-{self.splits}splits-{made_of}"

    def outcome(self, tick: Callable[[int], None]) -> Outcome:
        with _haste(self.settings.hasty):
            return self._outcome(tick)

    def _outcome(self, tick: Callable[[int], None]) -> Outcome:
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

    def _fit(
        self, shape: protocol.Shape, trials: list[protocol.Trial], validate: bool
    ) -> list[Job]:
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


@contextlib.contextmanager
def _haste(wanted: bool) -> Iterator[None]:
    """Compile with less care, for runs so short that compiling takes longest."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", wanted or before)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)
