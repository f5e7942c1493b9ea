"""Everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from spos_experiments.data import Table
from spos_experiments.data.catalogue import TABLES
from spos_experiments.frame.options import option
from spos_experiments.paper.regression import protocol, published


@dataclass(frozen=True)
class Settings:
    datasets: tuple[str, ...] = option(published.SETS, "which tables", choices=TABLES)
    methods: tuple[str, ...] = option(published.METHODS, "which methods", choices=published.METHODS)
    splits: int = option(20, "at most so many splits", at_least=1)
    data: str | None = option(None, "the folder of the data (default: SPOS_DATA, then the cache)")
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
