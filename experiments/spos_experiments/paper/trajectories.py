"""`spos paper trajectories`: would an automatic run do better with longer or shorter trajectories?

`spos.fit` takes as many leapfrogs as make a trajectory of 1.5 in whitened units. Here a run ends as
usual, and its particles then move on with ½ to 8 times as many leapfrogs, in the same coordinates
and with the same step. With n moves of M particles and c gradients a move,

    τ = n var(path means) / var,        c max τ        over all parameters and their squares

is the number of gradients for an independent draw of the parameter that mixes worst. (Squares are
those of standardised parameters, cut off at four standard deviations.)

    spos paper trajectories
    spos paper trajectories --quick
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import spos
from spos.auto import starts, threads
from spos.auto.budget import Budget
from spos.auto.controller import SHIFT, AutomaticRun
from spos.auto.engine import MOVES, Problem
from spos.auto.together import Programs
from spos.io.html import Table
from spos.names import parameters
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing, Findings, Tick, once
from spos_experiments.frame.options import option
from spos_experiments.frame.record import Claim, Record, numbers, verdict
from spos_experiments.paper.accuracy import models

TITLE = "How long should a trajectory be?"
ABOUT = (
    "Gradients for an independent draw in automatic runs that have ended, when they go on with "
    "more or fewer leapfrogs."
)
EASY = ("linear", "logistic", "scales", "binomial_groups", "radon", "heavy_tails")
HARD = (
    *("short_series", "dose_response", "hidden_markov", "local_level", "crossed_centred"),
    *("lasso", "stochastic_volatility"),
)
LARGEST = 4.0  # standard deviations of what is squared
NEAR = 1.5  # times the cheapest


@dataclass(frozen=True)
class Settings:
    models: tuple[str, ...] = option((*EASY, *HARD), "which models", choices=tuple(models.MODELS))
    multiples: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    particles: int = 100
    chunks: int = 96  # of moves, for the shortest trajectories; longer ones have fewer

    def quick(self) -> "Settings":
        return dataclasses.replace(self, models=("scales",), multiples=(1.0, 2.0), chunks=4)


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    rows = []
    for done, name in enumerate(settings.models):
        tick(done, len(settings.models))
        rows += costs(name, settings, seed)
        jax.clear_caches()
    tick(len(settings.models), len(settings.models))
    ratios = {name: _over_best([r for r in rows if r["model"] == name]) for name in settings.models}
    return Findings(
        numbers=numbers({"rows": rows, "over_best": ratios}),
        claims=[
            Claim(
                claim="A trajectory of 1.5 whitened units is about as cheap as the best length.",
                measured="Times the cheapest of those tried: "
                + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
                + f"; median {np.median(list(ratios.values())):.2f}.",
                verdict=verdict({name: ratio <= NEAR for name, ratio in ratios.items()}, "run on "),
                rule=f"At most {NEAR} times, for the parameter that mixes worst.",
            )
        ],
        table=Table(
            ("model", "leapfrogs", *(f"× {m:g}" for m in settings.multiples)),
            [
                (
                    name,
                    str(next(r["leaps"] for r in rows if r["model"] == name and r["of"] == 1.0)),
                    *(_told(rows, name, multiple) for multiple in settings.multiples),
                )
                for name in settings.models
            ],
            "Gradients for an independent draw of what mixes worst, by the number of leapfrogs as "
            "a multiple of the usual one. A number is right to a sixth or so.",
        ),
    )


def costs(name: str, settings: Settings, seed: int) -> list[dict[str, Any]]:
    """A row for every length of the trajectory."""
    model = spos.from_numpyro(models.build(name))
    start = model.start(jax.random.key(seed), settings.particles)
    programs = Programs(Problem.of(model.target, start, None))
    names, theta = parameters(start)
    rows: list[dict[str, Any]] = []
    run = AutomaticRun(programs, names, starts.two_halves(theta), seed)
    with threads.for_size(run.size):
        run.go(show=False)
        run.budget, usual = Budget(max_evaluations=10**12), run.leaps
        step = float(np.median(run.log_step)) + SHIFT
        for multiple in settings.multiples:
            leaps = max(1, round(usual * multiple))
            if any(row["leaps"] == leaps for row in rows):
                continue
            how: dict[str, Any] = {"leaps": leaps, "local": run.local, "jumps": run.jumps}
            run._end_advance()
            run.advance("warming up", 2 * MOVES, step, **how)
            before = run.evaluations
            moves = MOVES * max(settings.chunks // max(round(multiple), 1), 4)
            seen = run.advance("measuring", moves, step, **how)
            gradients = (run.evaluations - before) / moves / settings.particles
            away = (seen.y - seen.y.mean((0, 1))) / seen.y.std((0, 1))
            square = np.clip(away, -LARGEST, LARGEST) ** 2
            both = np.concatenate([away, square], axis=-1)
            tau = moves * both.mean(0).var(0, ddof=1) / both.var((0, 1))
            rows.append(
                {
                    "model": name,
                    "of": multiple,
                    "leaps": leaps,
                    "acceptance": float(seen.acceptance.mean()),
                    "gradients": float(gradients * tau.max()),
                }
            )
    return rows


def _over_best(rows: list[dict[str, Any]]) -> float:
    usual = next(row["gradients"] for row in rows if row["of"] == 1.0)
    return usual / min(row["gradients"] for row in rows)


def _told(rows: list[dict[str, Any]], name: str, multiple: float) -> str:
    own = [r["gradients"] for r in rows if r["model"] == name and r["of"] == multiple]
    return f"{own[0]:.0f}" if own else "–"


def draw(record: Record) -> list[Drawing]:
    rows, told = record.numbers["rows"], list(record.numbers["over_best"])
    figure, axes = drawing.titled(
        4.2,
        "Longer trajectories?",
        "gradients for an independent draw, over those of the usual length",
    )
    for name in told:
        own = [row for row in rows if row["model"] == name]
        usual = next(row["gradients"] for row in own if row["of"] == 1.0)
        ratios = [row["gradients"] / usual for row in own]
        axes.plot([row["of"] for row in own], ratios, "o-", ms=3, lw=1, alpha=0.7)
    axes.axhline(1.0, color=drawing.NOTE, lw=1)
    drawing.log_axes(axes, np.asarray(record.settings["multiples"]))
    axes.set_xlabel("leapfrogs, times the usual number")
    alt = "A line a model: " + "; ".join(
        f"{name} " + ", ".join(f"{r['gradients']:.0f}" for r in rows if r["model"] == name)
        for name in told
    )
    return [Drawing("trajectories.png", figure, alt, "A line is a model; below 1 is cheaper.")]
