"""`spos paper mnist`: how sure are twenty networks of a digit, and how often are they wrong?

The share of wrong answers, the negative log-likelihood and the calibration error (`spos.diagnostics
.calibration`) of the average of all networks and of one alone, and the entropy of what they say of
images that are no digits as they know them: turned by a right angle, or with black and white
exchanged. `protocol` has the methods.

A run saves itself every two minutes; the same command goes on where it stopped. What has ended is a
file in `runs/`.

    spos paper mnist --data DIR
    spos paper mnist --data DIR --hidden 800 800 --methods spos --epochs 5
    spos paper mnist --datasets digits
"""

import collections
import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from spos.types import Particles
from spos_experiments.data import load
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick, quiet
from spos_experiments.paper.mnist import protocol
from spos_experiments.paper.mnist.figures import draw
from spos_experiments.paper.mnist.findings import Outcome, error, findings, judge
from spos_experiments.paper.mnist.settings import Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "make", "parts", "results"]

TITLE = "Digits: networks that know when they do not know"
ABOUT = (
    "Networks with two hidden layers as particles, by SPOS, SVGD and SGLD, and single networks by "
    "RMSprop, gradient descent and dropout, with the same number of epochs."
)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings whenever a method has ended."""
    outcomes: dict[protocol.Plan, Outcome] = {}
    for plan, outcome in runs(settings, seed, tick, folder):
        outcomes[plan] = outcome
        yield findings(settings, outcomes)


def runs(
    settings: Settings, seed: int, tick: Tick, folder: Path
) -> Iterator[tuple[protocol.Plan, Outcome]]:
    """Each method with networks of each size."""
    store = resume.store(folder)
    (dataset,) = settings.datasets
    sets = protocol.sets(load(dataset, settings.data), settings.held)
    plans = [settings.plan(method, size) for size in settings.hidden for method in settings.methods]
    places = {
        plan: store / f"{name(dataset, plan)}-{resume.mark(plan, settings.held)}-seed{seed}.npz"
        for plan in plans
    }
    run = functools.partial(trained, sets, seed)
    return resume.in_turn(places, Outcome, run, work, tick)


def parts(settings: Settings, seed: int) -> list[tuple[tuple[int, ...], str]]:
    """A method with networks of one size is a job."""
    return [(size, method) for size in settings.hidden for method in settings.methods]


def make(settings: Settings, seed: int, part: tuple[tuple[int, ...], str], folder: Path) -> None:
    size, method = part
    only = dataclasses.replace(settings, hidden=(size,), methods=(method,))
    collections.deque(runs(only, seed, quiet, folder), maxlen=0)


def work(plan: protocol.Plan) -> int:
    """Of a run, in units that make plans comparable."""
    return plan.epochs * plan.particles * max(plan.hidden)


def name(dataset: str, plan: protocol.Plan) -> str:
    widths = "x".join(map(str, plan.hidden))
    return f"{dataset}-{widths}-{plan.method}-{plan.particles}particles-{plan.epochs}epochs"


def trained(
    sets: protocol.Sets, seed: int, plan: protocol.Plan, state: Path, tick: Tick
) -> Outcome:
    """Train, watching the error on the validation images, and judge."""
    errors = np.full(plan.epochs, np.nan)

    def watch(epoch: int, particles: Particles) -> None:
        chances = protocol.chances(plan, particles, sets.validation.x).mean(axis=0)
        errors[epoch - 1] = error(chances, sets.validation.y)
        tick(epoch * work(plan) // plan.epochs, epoch=epoch, error=float(errors[epoch - 1]))

    done = protocol.run(plan, sets.train, seed, state, watch)
    return judge(plan, done.particles, sets, done.seconds)._replace(validation=errors)
