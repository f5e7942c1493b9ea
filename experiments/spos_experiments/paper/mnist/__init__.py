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

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spos_experiments.data import load
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.frame.options import option
from spos_experiments.paper.mnist import protocol
from spos_experiments.paper.mnist.figures import draw
from spos_experiments.paper.mnist.findings import Outcome, findings, judge

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Digits: networks that know when they do not know"
ABOUT = (
    "Networks with two hidden layers as particles, by SPOS, SVGD and SGLD, and single networks by "
    "RMSprop, gradient descent and dropout, with the same number of epochs."
)


@dataclass(frozen=True)
class Settings:
    datasets: tuple[str, ...] = option(
        ("mnist",), "which images", choices=("mnist", "digits"), one=True
    )
    methods: tuple[str, ...] = option(
        tuple(protocol.METHODS), "which methods", choices=tuple(protocol.METHODS)
    )
    hidden: tuple[tuple[int, ...], ...] = option(
        ((400, 400), (800, 800)), "units of each hidden layer", at_least=1
    )
    epochs: int = option(20, "passes over the images", at_least=1)
    data: str | None = option(None, "the folder of the data (default: SPOS_DATA, then the cache)")
    particles: int = 20
    large: int = 800  # units of a layer, from which on there are fewer networks and epochs
    large_particles: int = 5
    large_epochs: int = 10  # at most
    batch: int = 100
    averaged: int = 5  # epochs at the end whose networks all take part, if they are many
    held: float = 1 / 60  # of the training images, to watch the error
    # Chosen by 5,000 of the training images in short runs: step sizes and σ of single networks and,
    # with five networks each, of SPOS, SVGD and SGLD, β of SPOS, and one bandwidth for both.
    tuned: tuple[tuple[str, float, float], ...] = (
        ("spos", 1e-3, 0.3),
        ("svgd", 1e-3, 0.3),
        ("sgld", 1e-3, 0.1),
        ("rmsprop", 1e-3, 0.1),
        ("sgd", 0.1, 1.0),
        ("dropout", 0.02, 1.0),
    )
    beta: float = 200.0
    bandwidth: float = 100.0  # of the kernel of SPOS and SVGD

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            datasets=("digits",),
            methods=("spos", "dropout"),
            hidden=((16, 16),),
            epochs=2,
            particles=4,
        )

    def plan(self, method: str, hidden: tuple[int, ...]) -> protocol.Plan:
        many, epochs = self.particles, self.epochs
        if max(hidden) >= self.large:
            many, epochs = self.large_particles, min(epochs, self.large_epochs)
        ((step_size, prior_scale),) = [
            (h, scale) for name, h, scale in self.tuned if name == method
        ]
        averaged = min(self.averaged, epochs)
        if method in protocol.ALONE:
            many = averaged = 1
        return protocol.Plan(
            *(method, hidden, many, epochs, self.batch),
            *(step_size, prior_scale, self.beta, self.bandwidth, averaged),
        )


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings whenever a method has ended."""
    store = resume.store(folder)
    (dataset,) = settings.datasets
    sets = protocol.sets(load(dataset, settings.data), settings.held)
    plans = [settings.plan(method, size) for size in settings.hidden for method in settings.methods]
    places = {
        plan: store / f"{name(dataset, plan)}-{resume.mark(plan, settings.held)}-seed{seed}.npz"
        for plan in plans
    }
    outcomes: dict[protocol.Plan, Outcome] = {}

    run = functools.partial(trained, sets, seed)
    for plan, outcome in resume.in_turn(places, Outcome, run, work, tick):
        outcomes[plan] = outcome
        yield findings(settings, outcomes)


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
    classifier = protocol.Classifier(plan, sets.train)
    errors: dict[int, float] = {}

    def watch(epoch: int, particles: Any) -> None:
        chances = classifier.chances(particles, sets.validation.x).mean(axis=0)
        errors[epoch] = float((chances.argmax(axis=1) != sets.validation.y).mean())
        tick(epoch * work(plan) // plan.epochs, epoch=epoch, error=errors[epoch])

    networks, seconds = classifier.run(seed, state, watch)
    validation = np.array([errors.get(n + 1, np.nan) for n in range(plan.epochs)])
    return judge(classifier, networks, sets, seconds)._replace(validation=validation)
