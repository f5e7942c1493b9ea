"""`spos paper digits`: what helps networks with digits? One thing changed at a time.

Short runs of `spos paper mnist`, judged by a sixth of the training images that took no part in the
training; test images are not looked at. The first line of each method, and of each number of
networks or epochs, is what the others change something of. A share p of n images is uncertain by
sqrt(p (1 - p) / n), but all lines are judged by the same images: a difference of two is less
uncertain than either. What is tried with one network has the temperature that it has with many.
SVGD, which has none, is also set beside SPOS with the same change.

A setting of SPOS or SVGD takes the place of the one that was chosen if it errs less, with five
networks, by more than one standard error of the difference. Of what is tried for the other methods,
each with one network, the setting that errs least is taken.

    spos paper digits --data DIR
    spos paper digits --datasets digits --networks lenet
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spos.io.figures import COLOURS, OTHER
from spos.io.html import Table
from spos.types import Particles
from spos_experiments.data import load
from spos_experiments.frame import draw as drawing
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Drawing, Estimate, Findings, Tick
from spos_experiments.frame.options import option
from spos_experiments.frame.record import Record, numbers
from spos_experiments.paper.mnist import protocol
from spos_experiments.paper.mnist import settings as mnist
from spos_experiments.paper.mnist.findings import LABELS, size_name
from spos_experiments.paper.mnist.outcomes import error

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Digits: what helps"
ABOUT = "Short runs on images of digits, each with one thing changed, judged by validation images."

CYCLES = {"cycles": 3, "averaged": 3}
QUIET = {"beta": 10_000.0}
NOISY = {"input_noise": 0.9}
FIVE = {"particles": 5}
LONG = {"epochs": 90}
# by network and method
CHANGES: dict[str, dict[str, dict[str, dict[str, Any]]]] = {
    "dense": {
        "spos": {
            "as chosen": {},
            "no input noise": {"input_noise": 0.0},
            "minibatches drawn anew": {"passes": False},
            "σ = 0.3": {"prior_scale": 0.3},
            "half the step": {"step_size": 1e-3},
            "β ten times as large": QUIET,
            "3 cycles": CYCLES,
            "5 cycles": {"cycles": 5, "averaged": 5},
            "3 cycles, σ = 0.3": {**CYCLES, "prior_scale": 0.3},
            "3 cycles, half the step": {**CYCLES, "step_size": 1e-3},
            "σ = 0.3, half the step": {"prior_scale": 0.3, "step_size": 1e-3},
            "5 networks": FIVE,
            "5 networks, β ten times as large": {**FIVE, **QUIET},
            "5 networks, σ = 0.3": {**FIVE, "prior_scale": 0.3},
            "5 networks, 3 cycles": {**FIVE, **CYCLES},
            "90 epochs": LONG,
            "90 epochs, 3 cycles": {**LONG, **CYCLES},
            "5 networks, 90 epochs": {**FIVE, **LONG},
            "5 networks, 90 epochs, 3 cycles": {**FIVE, **LONG, **CYCLES},
        },
        "svgd": {
            "as chosen": {},
            "σ = 0.3": {"prior_scale": 0.3},
            "half the step": {"step_size": 1e-3},
            "3 cycles": CYCLES,
            "5 cycles": {"cycles": 5, "averaged": 5},
            "3 cycles, σ = 0.3": {**CYCLES, "prior_scale": 0.3},
            "3 cycles, half the step": {**CYCLES, "step_size": 1e-3},
            "σ = 0.3, half the step": {"prior_scale": 0.3, "step_size": 1e-3},
            "5 networks": FIVE,
            "5 networks, σ = 0.3": {**FIVE, "prior_scale": 0.3},
            "5 networks, 3 cycles": {**FIVE, **CYCLES},
        },
        "sgld": {
            "as chosen": {},
            "noise 0.9": NOISY,
            "noise 0.9, a quarter of the step": {**NOISY, "step_size": 2.5e-4},
            "noise 0.9, half the step": {**NOISY, "step_size": 5e-4},
            "noise 0.9, twice the step": {**NOISY, "step_size": 2e-3},
            "noise 0.9, four times the step": {**NOISY, "step_size": 4e-3},
            "noise 0.9, σ = 0.3": {**NOISY, "prior_scale": 0.3},
        },
        "rmsprop": {
            "as chosen": {},
            "half the step": {"step_size": 1e-3},
            "a quarter of the step": {"step_size": 5e-4},
        },
        "sgd": {
            "as chosen": {},
            "half the step": {"step_size": 0.05},
            "a quarter of the step": {"step_size": 0.025},
            "twice the step": {"step_size": 0.2},
        },
        "dropout": {
            "as chosen": {},
            "a quarter of the step": {"step_size": 0.02},
            "noise 0.9": NOISY,
            "noise 0.9, an eighth of the step": {**NOISY, "step_size": 0.01},
            "noise 0.9, a quarter of the step": {**NOISY, "step_size": 0.02},
            "noise 0.9, half the step": {**NOISY, "step_size": 0.04},
            "noise 0.9, twice the step": {**NOISY, "step_size": 0.16},
        },
    },
    "lenet": {
        "spos": {
            "as chosen": {},
            "half the step": {"step_size": 1e-3},
            "half the input noise": {"input_noise": 0.25},
        },
    },
}


@dataclass(frozen=True)
class Settings:
    datasets: tuple[str, ...] = option(
        ("mnist",), "which images", choices=("mnist", "digits"), one=True
    )
    networks: tuple[str, ...] = option(("dense",), "which networks", choices=("dense", "lenet"))
    methods: tuple[str, ...] = option(
        (), "changes of which methods (default: all)", choices=tuple(CHANGES["dense"])
    )
    data: str | None = option(None, "the folder of the data (default: SPOS_DATA, then the cache)")
    held: float = 1 / 6
    hidden: tuple[int, ...] = (400, 400)
    averaged: int = 5  # epochs at the end, at most
    epochs: tuple[tuple[str, int], ...] = (("dense", 30), ("lenet", 4))
    particles: tuple[tuple[str, int], ...] = (("dense", 1), ("lenet", 2))

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            datasets=("digits",),
            networks=("dense",),
            methods=("svgd", "dropout"),
            hidden=(16, 16),
            epochs=(("dense", 2), ("lenet", 2)),
            particles=(("dense", 2), ("lenet", 2)),
        )

    def plans(self) -> Iterator[tuple[str, protocol.Plan]]:
        """What is changed, and the run that follows."""
        usual = mnist.Settings()
        for network in self.networks:
            hidden = usual.channels if network == "lenet" else self.hidden
            epochs, few = dict(self.epochs)[network], dict(self.particles)[network]
            for method, changes in CHANGES[network].items():
                if self.methods and method not in self.methods:
                    continue
                full = usual.plan(method, network, hidden)
                averaged = min(epochs, full.averaged)
                base = full._replace(epochs=epochs, averaged=averaged, particles=few)
                for label, change in changes.items():
                    plan = base._replace(**change)
                    share = plan.particles / full.particles
                    yield label, plan._replace(beta=share * plan.beta)  # the same temperature


class Outcome(NamedTuple):
    """On the validation images: of the average of the last epochs, and of one network alone."""

    error: float
    single_error: float
    nll: float
    seconds: float
    wrong: np.ndarray  # which images


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    store = resume.store(folder)
    (dataset,) = settings.datasets
    sets = protocol.sets(load(dataset, settings.data), settings.held)
    places = {
        (label, plan): store / f"{dataset}-{resume.mark(plan, settings.held)}-seed{seed}.npz"
        for label, plan in settings.plans()
    }

    def make(job: tuple[str, protocol.Plan], state: Path, tick: Tick) -> Outcome:
        plan = job[1]

        def watch(epoch: int, _: Particles) -> None:
            tick(epoch * plan.particles)

        done = protocol.run(plan, sets.train, seed, state, watch)
        said = protocol.chances(plan, done.particles, sets.validation.x)
        labels, whole = sets.validation.y, said.mean(axis=0)
        return Outcome(
            error=error(whole, labels),
            single_error=float(np.mean([error(one, labels) for one in said])),
            nll=float(-np.log(whole[np.arange(len(labels)), labels]).mean()),
            seconds=done.seconds,
            wrong=whole.argmax(axis=-1) != labels,
        )

    rows: list[dict[str, Any]] = []
    firsts: dict[tuple[str, str, int, int], np.ndarray] = {}
    of_spos: dict[tuple[str, str], np.ndarray] = {}  # by network and change
    for (label, plan), one in resume.in_turn(places, Outcome, make, work, tick):
        like = plan.network, plan.method, plan.particles, plan.epochs
        first = firsts.setdefault(like, one.wrong)
        told = {name: value for name, value in one._asdict().items() if name != "wrong"}
        row = {"change": label, **plan._asdict(), **told, "more": beyond(one.wrong, first)}
        if plan.method == "spos":
            of_spos[plan.network, label] = one.wrong
        elif plan.method == "svgd" and (plan.network, label) in of_spos:
            row["more_than_spos"] = beyond(one.wrong, of_spos[plan.network, label])
        rows.append(row)
        yield findings(rows, len(sets.validation.y))


def beyond(wrong: np.ndarray, other: np.ndarray) -> dict[str, float]:
    """How much larger an error is than another, on the same images."""
    return Estimate.of(wrong.astype(float) - other)._asdict()


def work(job: tuple[str, protocol.Plan]) -> int:
    return job[1].epochs * job[1].particles


def findings(rows: list[dict[str, Any]], images: int) -> Findings:
    return Findings(
        numbers=numbers({"rows": rows}),
        claims=[],
        table=Table(
            (
                *("network", "method", "changed", "networks", "epochs", "error %"),
                *("more than the first %", "more than SPOS %", "one alone %", "−log p"),
            ),
            [
                (
                    network_of(row),
                    LABELS[row["method"]],
                    row["change"],
                    str(row["particles"]),
                    str(row["epochs"]),
                    f"{100 * row['error']:.2f}",
                    more(**row["more"]),
                    more(**row["more_than_spos"]) if "more_than_spos" in row else "",
                    f"{100 * row['single_error']:.2f}",
                    f"{row['nll']:.4f}",
                )
                for row in rows
            ],
            f"One run each, judged by {images} images of the training set that were set apart. A "
            "difference from the first line of a method, or of SVGD from SPOS with the same "
            "setting, has its standard error beside it.",
        ),
    )


def network_of(row: dict[str, Any]) -> str:
    return size_name(row["network"], row["hidden"])


def more(mean: float, se: float) -> str:
    return f"{100 * mean:+.2f} ± {100 * se:.2f}" if se else "–"


def draw(record: Record) -> list[Drawing]:
    rows = record.numbers["rows"]
    figure, axes = drawing.titled(
        *(0.8 + 0.25 * max(6, len(rows)), "What helps with digits"),
        "errors on validation images; filled: all networks together, open: one of them",
    )
    for at, row in enumerate(rows):
        tint = COLOURS.get(row["method"], OTHER)
        axes.plot(100 * row["error"], -at, "o", color=tint)
        axes.plot(100 * row["single_error"], -at, "o", color=tint, mfc="white")
    names = [f"{network_of(row)} {LABELS[row['method']]}: {row['change']}" for row in rows]
    if len({network_of(row) for row in rows}) == 1:
        names = [name.removeprefix(network_of(rows[0])).strip() for name in names]
    axes.set_yticks([-n for n in range(len(rows))], names)
    axes.set_ylim(0.5 - len(rows), 0.5)
    axes.set_xlabel("wrong, %")
    axes.grid(color=drawing.GRID, linewidth=0.6)
    errors = (f"{100 * row['error']:.2f} %" for row in rows)
    told = "; ".join(map(" ".join, zip(names, errors, strict=True)))
    return [Drawing("digits.png", figure, f"Validation errors: {told}.", "What changes the error.")]
