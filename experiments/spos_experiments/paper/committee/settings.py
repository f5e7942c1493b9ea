"""Everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    # in units of the pole's own mass; newtons for each metre per second; steps
    poles: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    frictions: tuple[float, ...] = (0.0, 0.5, 1.0)
    delays: tuple[int, ...] = (0, 1)
    num_episodes: int = 20  # in each world
    film_pole: float = 4.0
    quick_runs: bool = False  # those of the quick form of `learning`

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self, poles=(1.0, 2.0), frictions=(0.0,), delays=(0, 1), num_episodes=2, quick_runs=True
        )

    @property
    def worlds(self) -> list[tuple[float, float, int]]:
        """All of them; the first with no change is the one of the training."""
        return [(p, f, d) for d in self.delays for p in self.poles for f in self.frictions]
