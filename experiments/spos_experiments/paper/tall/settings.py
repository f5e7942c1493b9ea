"""Everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass

from spos_experiments.frame.options import option

PROBLEMS = ("covertype", "counts")


@dataclass(frozen=True)
class Settings:
    problems: tuple[str, ...] = option(PROBLEMS, "which posteriors", choices=PROBLEMS)
    covertype_rows: int = 500_000
    counts_rows: int = 200_000
    groups: int = 50
    batch_size: int = 500
    particles: int = 100
    repeats: int = 2  # seeds of the fit
    chains: int = 8
    chain_steps: int = 500
    tau: float = 0.7
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            problems=("counts",),
            counts_rows=2000,
            groups=3,
            batch_size=200,
            particles=20,
            repeats=1,
            chains=8,
            chain_steps=100,
            hasty=True,
        )
