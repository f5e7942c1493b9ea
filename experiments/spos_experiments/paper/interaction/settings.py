"""Everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass

HILL, MODES = "hill", "two modes"


@dataclass(frozen=True)
class Settings:
    targets: tuple[str, ...] = (HILL, MODES)
    dimensions: tuple[int, ...] = (2, 10, 50)
    particles: tuple[int, ...] = (10, 50)
    budgets: tuple[int, ...] = (10, 30, 100)  # scores of each particle
    step_sizes: tuple[float, ...] = (0.01, 0.03, 0.1, 0.2, 0.4, 0.8)
    betas: tuple[float, ...] = (1.0, 10.0)
    pilots: int = 8
    repeats: int = 24
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            targets=(HILL,),
            dimensions=(2,),
            particles=(10,),
            budgets=(5, 10),
            step_sizes=(0.1, 0.4),
            betas=(1.0,),
            pilots=3,
            repeats=4,
            hasty=True,
        )
