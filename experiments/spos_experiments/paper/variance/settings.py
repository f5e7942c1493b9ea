"""Everything that shapes the experiment but the seed."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import spos

PLAIN = "plain"
COLOURS = {PLAIN: "#666666", "control variate": "#0072B2", "SVRG": "#D55E00", "SAGA": "#009E73"}
METHODS: dict[str, Callable[..., spos.Sampler]] = {"SGLD": spos.sgld, "SPOS": spos.spos}


@dataclass(frozen=True)
class Settings:
    rows: int = 50_000
    batch_size: int = 100
    particles: int = 20
    passes: int = 10  # over the data, in gradients for each particle
    shares: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)  # of 1/λ
    repeats: int = 4
    noise_steps: tuple[int, ...] = (5, 20, 60, 250, 750, 2750)
    noise_batches: int = 200
    noise_share: float = 0.1
    chains: int = 64
    chain_steps: int = 400
    methods: tuple[str, ...] = tuple(METHODS)
    scores: tuple[str, ...] = tuple(COLOURS)  # the plain one first
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            rows=1000,
            batch_size=50,
            particles=4,
            passes=5,
            shares=(0.03, 0.3),
            repeats=2,
            noise_steps=(5, 30),
            noise_batches=20,
            chains=8,
            chain_steps=40,
            methods=("SGLD",),
            scores=(PLAIN, "control variate"),
            hasty=True,
        )
