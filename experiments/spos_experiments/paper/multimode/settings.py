"""The densities, the methods, and everything that shapes the experiment but the seed."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import jax

from spos.targets import toys

READINGS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "exp(−V)": toys.multimode,
    "exp(−exp V)": toys.multimode_literal,
}
METHODS = ("SPOS", "SVGD", "SGLD")


@dataclass(frozen=True)
class Settings:
    particles: int = 100
    num_steps: int = 5000
    step_size: float = 0.01
    literal_step: float = 0.001  # the walls of exp(-exp(V)) throw particles out at larger ones
    beta: float = 1.0
    start: float = -0.225
    jitter: float = 0.05  # coincident particles would not repel each other
    repeats: int = 40
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(self, particles=30, num_steps=200, repeats=4, hasty=True)

    @property
    def steps(self) -> dict[str, float]:
        return dict(zip(READINGS, (self.step_size, self.literal_step), strict=True))
