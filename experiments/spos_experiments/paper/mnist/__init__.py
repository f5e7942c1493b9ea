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
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spos.io import archive
from spos_experiments.data import load
from spos_experiments.frame.experiment import Findings, Tick, mark
from spos_experiments.paper.mnist import protocol
from spos_experiments.paper.mnist.figures import draw
from spos_experiments.paper.mnist.findings import Outcome, findings, judge

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "grow"]

TITLE = "Digits: networks that know when they do not know"
ABOUT = (
    "Networks with two hidden layers as particles, by SPOS, SVGD and SGLD, and single networks by "
    "RMSprop, gradient descent and dropout, with the same number of epochs."
)


@dataclass(frozen=True)
class Settings:
    datasets: tuple[str, ...] = ("mnist",)
    methods: tuple[str, ...] = tuple(protocol.METHODS)
    hidden: tuple[tuple[int, ...], ...] = ((400, 400), (800, 800))
    epochs: int = 20
    data: str | None = None  # the folder, or None for SPOS_DATA and the cache
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


def grow(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings whenever a method has ended."""
    store = folder / "runs"
    store.mkdir(exist_ok=True)
    outcomes: dict[protocol.Plan, Outcome] = {}
    (dataset,) = settings.datasets
    sets = protocol.sets(load(dataset, settings.data), settings.held)
    plans = [settings.plan(method, size) for size in settings.hidden for method in settings.methods]
    places = {
        plan: store / f"{name(dataset, plan)}-{mark(plan, settings.held)}-seed{seed}.npz"
        for plan in plans
    }
    total, done = sum(plan.epochs * work(plan) for plan in plans if not places[plan].exists()), 0
    tick(0, total)
    for plan, place in places.items():
        if not place.exists():
            _run(plan, sets, seed, place, lambda at, d=done, **v: tick(d + at, total, **v))
            done += plan.epochs * work(plan)
        arrays, meta = archive.read(place)
        fields: dict[str, Any] = {**arrays, **meta}
        outcomes[plan] = Outcome(**fields)
        tick(done, total)
        yield findings(settings, outcomes)


def work(plan: protocol.Plan) -> int:
    """Of an epoch, in units that make plans comparable."""
    return plan.particles * max(plan.hidden)


def name(dataset: str, plan: protocol.Plan) -> str:
    widths = "x".join(map(str, plan.hidden))
    return f"{dataset}-{widths}-{plan.method}-{plan.particles}particles-{plan.epochs}epochs"


def _run(plan: protocol.Plan, sets: protocol.Sets, seed: int, place: Path, tick: Any) -> None:
    """Train, judge and write the outcome."""
    classifier = protocol.Classifier(plan, sets.train)
    state = place.with_suffix("")
    errors: dict[int, float] = {}

    def watch(epoch: int, particles: Any) -> None:
        chances = classifier.chances(particles, sets.validation.x).mean(axis=0)
        errors[epoch] = float((chances.argmax(axis=1) != sets.validation.y).mean())
        tick(epoch * work(plan), epoch=epoch, error=errors[epoch])

    networks, seconds = classifier.run(seed, state, watch)
    outcome = judge(classifier, networks, sets, seconds)
    outcome = outcome._replace(
        validation=np.array([errors.get(n + 1, np.nan) for n in range(plan.epochs)])
    )
    fields = outcome._asdict()
    arrays = {key: fields.pop(key) for key in ("validation", "reliability")}
    archive.write(place, arrays, fields)
    shutil.rmtree(state)
