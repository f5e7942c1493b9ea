"""`spos paper mnist`: how sure are many networks of a digit, and how often are they wrong?

The share of wrong answers, the negative log-likelihood and the calibration error (`spos.diagnostics
.calibration`) of the average of all networks and of one alone, and the entropy of what they say of
images that are no digits as they know them: turned by a right angle, or with black and white
exchanged, or filled to large shapes. `protocol` has the methods.

A run saves itself every two minutes; the same command goes on where it stopped. What has ended is a
file in `runs/`.

    spos paper mnist --data DIR
    spos paper mnist --data DIR --networks dense --hidden 800 800 --methods spos --epochs 5
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
from spos_experiments.paper.mnist.findings import findings
from spos_experiments.paper.mnist.outcomes import Outcome, error, judge
from spos_experiments.paper.mnist.settings import Settings

Job = tuple[protocol.Plan, int]  # and its seed
Part = tuple[str, tuple[int, ...], str, int]  # network, its widths, method and seed, as JSON has it

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "make", "parts", "results"]

TITLE = "Digits: networks that know when they do not know"
ABOUT = (
    "Networks as particles, with two hidden layers or convolutional, by SPOS, SVGD and SGLD, "
    "beside independent ones and single ones, with the same number of epochs."
)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings whenever a run has ended."""
    outcomes: dict[protocol.Plan, list[Outcome]] = {plan: [] for plan, _ in settings.plans()}
    for (plan, _), outcome in runs(settings, seed, tick, folder):
        outcomes[plan].append(outcome)
        yield findings(settings, {plan: ones for plan, ones in outcomes.items() if ones})


def runs(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[tuple[Job, Outcome]]:
    """Each method with networks of each size, and then again with the next seed."""
    store = resume.store(folder)
    (dataset,) = settings.datasets
    sets = protocol.sets(load(dataset, settings.data), settings.held)
    places = {
        (plan, one): store
        / f"{name(dataset, plan)}-{resume.mark(plan, settings.held)}-seed{one}.npz"
        for plan, one in jobs(settings, seed)
    }
    return resume.in_turn(places, Outcome, functools.partial(trained, sets), work, tick)


def jobs(settings: Settings, seed: int) -> list[Job]:
    """Plans with their seeds."""
    plans = list(settings.plans())
    return [
        (plan, seed + n) for n in range(settings.seeds) for plan, repeats in plans if n < repeats
    ]


def parts(settings: Settings, seed: int) -> list[Part]:
    """A method with networks of one size and one seed is a job."""
    return [(plan.network, plan.hidden, plan.method, one) for plan, one in jobs(settings, seed)]


def make(settings: Settings, seed: int, part: Part, folder: Path) -> None:
    network, hidden, method, one = part
    only = dataclasses.replace(settings, networks=(network,), methods=(method,), seeds=1)
    if network == "dense":
        only = dataclasses.replace(only, hidden=(hidden,))
    collections.deque(runs(only, one, quiet, folder), maxlen=0)


def work(job: Job) -> int:
    """Of a run, in units that make plans comparable."""
    plan, _ = job
    return plan.epochs * plan.particles * max(plan.hidden)


def name(dataset: str, plan: protocol.Plan) -> str:
    widths = "x".join(map(str, plan.hidden))
    much = f"{plan.particles}particles-{plan.epochs}epochs"
    return f"{dataset}-{plan.network}-{widths}-{plan.method}-{much}"


def trained(sets: protocol.Sets, job: Job, state: Path, tick: Tick) -> Outcome:
    """Train, watching the error on the validation images, and judge."""
    plan, seed = job
    errors = np.full(plan.epochs, np.nan)

    def watch(epoch: int, particles: Particles) -> None:
        chances = protocol.chances(plan, particles, sets.validation.x).mean(axis=0)
        errors[epoch - 1] = error(chances, sets.validation.y)
        tick(epoch * work(job) // plan.epochs, epoch=epoch, error=float(errors[epoch - 1]))

    done = protocol.run(plan, sets.train, seed, state, watch)
    return judge(plan, done.particles, sets, done.seconds)._replace(validation=errors)
