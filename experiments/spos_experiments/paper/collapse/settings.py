"""Everything that shapes the experiment but the seed."""

import dataclasses
import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    particles: int = 20
    repeats: int = 50
    radii: tuple[float, ...] = (0.25, 0.02)  # of the disc at the start
    flow_time: float = 5.0
    flow_step: float = 0.005
    betas: tuple[float, ...] = (1.0, 0.1, 0.03)
    spos_time: float = 3.0
    spos_step: float = 0.001
    dimensions: tuple[int, ...] = (2, 5, 10, 20, 50, 100)
    cloud: int = 50
    cloud_betas: tuple[float, ...] = (1.0, 10.0, math.inf)
    cloud_steps: int = 2500
    cloud_repeats: int = 10
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self, particles=8, repeats=3, flow_step=0.05, spos_step=0.01, betas=(0.1,),
            dimensions=(2, 20), cloud=10, cloud_steps=100, cloud_repeats=2, hasty=True,
        )  # fmt: skip
