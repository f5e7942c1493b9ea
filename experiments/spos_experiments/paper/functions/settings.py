"""Everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass

from spos_experiments.data.catalogue import TABLES
from spos_experiments.frame.options import option
from spos_experiments.paper.regression.protocol import TIGHT, Shape, Trial

KINDS = ("alone", "weights", "Stein", "density")
DIGITS = "digits"


@dataclass(frozen=True)
class Settings:
    datasets: tuple[str, ...] = option(
        ("boston", "concrete", "energy", "wine_red", "yacht", DIGITS),
        "which tables",
        choices=(*TABLES, DIGITS),
    )
    kinds: tuple[str, ...] = option(KINDS, "which interactions", choices=KINDS)
    splits: int = option(4, "at most so many splits", at_least=2)
    data: str | None = option(None, "the folder of the data (default: SPOS_DATA, then the cache)")
    trials: tuple[Trial, ...] = tuple(Trial(3e-2, beta, *TIGHT) for beta in (10.0, 30.0, 100.0))
    rows: tuple[tuple[str, int], ...] = (("Stein", 10), ("density", 50))  # drawn in each step
    particles: int = 20
    hidden: int = 50
    batch: int = 100
    steps: int = 3000
    trial_share: float = 0.5

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            datasets=("diabetes",),
            kinds=("alone", "density"),
            splits=2,
            trials=self.trials[:1],
            rows=(("Stein", 3), ("density", 3)),
            particles=3,
            steps=40,
        )

    def shape(self, name: str, share: float = 1.0) -> Shape:
        steps = round(self.steps * share)
        return Shape("spos", self.hidden, self.particles, self.batch, steps, hasty=False)
