"""`spos paper accuracy`: are the answers right, on models of everyday statistics, untuned?

For every model of `models/` the posterior mean m and standard deviation σ of each
constrained parameter are known from exact draws or a long NUTS run (`reference`). A method's draws
have m' and σ', and its errors are

    |m' - m| / σ    and    |log(σ'/σ)|,        worst and mean over the parameters.

Beside them are counted: evaluations of the gradient, wall time with and without compilation (a
second run with another seed needs none), processor time, and what the method says of itself. SGLD
here is the automatic recipe without its kernel, so that the two tell what the kernel adds
(`methods`). Some methods are not run on every model (`methods.FEWER`).

The errors of a method that says it has converged are small on average over data sets as well if
ranks of the truth among its draws are uniform: `calibration`.

What has ended is a file in `runs/`; the same command goes on where it stopped. Runs follow one
another, for the sake of their times, and the record is written anew after each model.
"""

import functools
from collections.abc import Iterator
from pathlib import Path

import jax

from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.paper.accuracy import calibration, methods, reference
from spos_experiments.paper.accuracy.figures import draw
from spos_experiments.paper.accuracy.findings import Found, findings
from spos_experiments.paper.accuracy.reference import Reference
from spos_experiments.paper.accuracy.settings import Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "make", "parts", "results"]

TITLE = "Right answers without tuning: models of everyday statistics"
ABOUT = (
    "Means and standard deviations of all parameters against long reference runs, for `spos.fit`, "
    "the same with a kernel, SVGD, NUTS of NumPyro, nutpie and four samplers of BlackJAX; and "
    "simulation-based calibration."
)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings after each model. What is not timed comes first."""
    store = resume.store(folder, settings.mark())
    found = Found({}, {}, {})
    pairs = [(name, method) for name in settings.models for method in asked(settings, name)]
    calibrations = settings.calibrations if methods.DEFAULT in settings.methods else ()
    total = len(settings.models) + len(pairs) + len(calibrations)
    done = 0

    def next_one() -> None:
        nonlocal done
        done += 1
        tick(done, total)

    tick(0, total)
    for name in settings.models:
        found.references[name] = _reference(store, name, settings)
        jax.clear_caches()
        next_one()
    for name in calibrations:
        found.ranks[name] = _ranks(store, name, settings, seed).ranks
        next_one()
    for name in settings.models:
        for method in asked(settings, name):
            found.outcomes[name, method] = methods.kept(store, name, method, settings, seed)
            next_one()
        jax.clear_caches()
        yield findings(settings, found)


def asked(settings: Settings, name: str) -> list[str]:
    """The methods that are run on a model."""
    return [each for each in settings.methods if name in methods.FEWER.get(each, (name,))]


def parts(settings: Settings, seed: int) -> list[tuple[str, str]]:
    """A job is a reference, a calibration, or a method on a model."""
    made = [(kind, name) for kind in ("reference", *settings.methods) for name in settings.models]
    runs = [each for each in made if each[0] == "reference" or each[0] in asked(settings, each[1])]
    return runs + [("calibration", name) for name in settings.calibrations]


def make(settings: Settings, seed: int, part: tuple[str, str], folder: Path) -> None:
    store, (kind, name) = resume.store(folder, settings.mark()), part
    if kind == "calibration":
        _ranks(store, name, settings, seed)
    elif kind == "reference":
        _reference(store, name, settings)
    else:
        methods.kept(store, name, kind, settings, seed)


def _reference(store: Path, name: str, settings: Settings) -> Reference:
    made = functools.partial(reference.make, name, settings)
    return resume.outcome(store / f"{name}-reference.npz", Reference, made)


def _ranks(store: Path, name: str, settings: Settings, seed: int) -> calibration.Ranks:
    place = store / f"calibration-{name}-seed{seed}.npz"
    simulate = functools.partial(calibration.simulate, name, settings, seed)
    return resume.outcome(place, calibration.Ranks, simulate)
