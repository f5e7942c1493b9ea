"""Everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass

from spos_experiments.frame import resume
from spos_experiments.frame.options import option
from spos_experiments.paper.accuracy import calibration, methods
from spos_experiments.paper.accuracy.models import MODELS


@dataclass(frozen=True)
class Settings:
    models: tuple[str, ...] = option(tuple(MODELS), "which models", choices=tuple(MODELS))
    methods: tuple[str, ...] = option(
        tuple(methods.METHODS), "which methods", choices=tuple(methods.METHODS)
    )
    most_seconds: float = dataclasses.field(default=240.0, repr=False)  # both runs of a rival
    particles: int = 100
    repeats: int = 2  # runs of a method on a model; the first one compiles
    most_draws: int = 20_000  # that are looked at
    svgd_steps: int = 3000
    svgd_step: float = 0.1
    adam_step: float = 0.05
    nuts_chains: int = 4
    nuts_warmup: int = 1000
    nuts_draws: int = 1000
    reference_draws: int = 1000  # of each chain, to warm up, and then again and again
    reference_parts: int = 5  # at most
    exact_draws: int = 100_000
    calibrations: tuple[str, ...] = tuple(calibration.MODELS)
    simulations: int = 500

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            models=("scales",),  # exact: compiling NUTS would take longer than all the rest
            methods=("sgld",),
            repeats=1,
            exact_draws=20_000,
            calibrations=("normal",),
            simulations=4,
        )

    def mark(self) -> str:
        """Runs with the same mark are alike, whichever of them are asked for."""
        return resume.mark(dataclasses.replace(self, models=(), methods=(), calibrations=()))
