"""`spos paper accuracy`: are the answers right, on models of everyday statistics, untuned?

For every model of `models/` the posterior mean m and standard deviation σ of each
constrained parameter are known from exact draws or a long NUTS run (`reference`). A method's draws
have m' and σ', and its errors are

    |m' - m| / σ    and    |log(σ'/σ)|,        worst and mean over the parameters.

Beside them are counted: evaluations of the gradient, wall time with and without compilation (a
second run with another seed needs none), and what the method says of itself. SGLD here is the
automatic recipe without its kernel, so that the two tell what the kernel adds (`methods`).

The errors of a method that says it has converged are small on average over data sets as well if
ranks of the truth among its draws are uniform: `calibration`.

What has ended is a file in `runs/`; the same command goes on where it stopped. Runs follow one
another, for the sake of their times, and the record is written anew after each model.
"""

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jax

from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.frame.options import option
from spos_experiments.paper.accuracy import calibration, methods, reference
from spos_experiments.paper.accuracy.figures import draw
from spos_experiments.paper.accuracy.findings import Found, findings
from spos_experiments.paper.accuracy.models import MODELS
from spos_experiments.paper.accuracy.reference import Reference

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Right answers without tuning: models of everyday statistics"
ABOUT = (
    "Means and standard deviations of all parameters against long reference runs, for automatic "
    "SPOS, the same without its kernel, SVGD and NUTS; and simulation-based calibration."
)


@dataclass(frozen=True)
class Settings:
    models: tuple[str, ...] = option(tuple(MODELS), "which models", choices=tuple(MODELS))
    methods: tuple[str, ...] = tuple(methods.METHODS)
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
            methods=("spos",),
            repeats=1,
            exact_draws=20_000,
            calibrations=("normal",),
            simulations=4,
        )

    def mark(self) -> str:
        """Runs with the same mark are alike, whichever of them are asked for."""
        return resume.mark(dataclasses.replace(self, models=(), methods=(), calibrations=()))


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings after each model. What is not timed comes first."""
    store = resume.store(folder, settings.mark())
    found = Found({}, {}, {})
    total = len(settings.models) * (1 + len(settings.methods)) + len(settings.calibrations)
    done = 0

    def next_one() -> None:
        nonlocal done
        done += 1
        tick(done, total)

    tick(0, total)
    for name in settings.models:
        place = store / f"{name}-reference.npz"
        made = functools.partial(reference.make, name, settings)
        found.references[name] = resume.outcome(place, Reference, made)
        jax.clear_caches()
        next_one()
    for name in settings.calibrations:
        place = store / f"calibration-{name}-seed{seed}.npz"
        simulate = functools.partial(calibration.simulate, name, settings, seed)
        found.ranks[name] = resume.outcome(place, calibration.Ranks, simulate).ranks
        next_one()
    for name in settings.models:
        for method in settings.methods:
            found.outcomes[name, method] = methods.kept(store, name, method, settings, seed)
            next_one()
        jax.clear_caches()
        yield findings(settings, found)
