"""`spos paper gaussian`: the error on N(2, 1) against iterations, for several numbers of particles.

    error(k) = average over repeats of | (1/M) Σ_i θ_i(k)² - 5 |,       E θ² = 2² + 1 = 5

Particles start as draws from N(0, 1) and take T = 1000 steps of h = 0.03, by SVGD and by SPOS with
β = 1, 10, 100; with a fixed bandwidth η² = 1 and with the median rule. All repeats of a size are
one compiled program. The paper does not state its bandwidth or its β, so each is tried.

    spos paper gaussian            # about four minutes on two cores
    spos paper gaussian --quick    # seconds, too small to conclude from
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.interaction.kernels import Bandwidth
from spos.io.html import Table
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import (
    Drawing,
    Estimate,
    Findings,
    Tick,
    compiled,
    in_parallel,
    once,
)
from spos_experiments.frame.record import Claim, Record, numbers, verdict
from spos_experiments.paper import line

TITLE = "Error on a Gaussian against iterations"
ABOUT = (
    "Particles sample a normal distribution of mean 2 and variance 1. The error is the absolute "
    "difference between the particles' mean of θ² and its true value 5, averaged over independent "
    "repeats."
)
MEAN, TRUTH = 2.0, 5.0
BANDWIDTHS: dict[str, Bandwidth] = {"η² = 1": 1.0, "median η²": "median"}

Errors = dict[tuple[str, str], dict[int, np.ndarray]]  # (method, width) -> M -> (repeat, step)


@dataclass(frozen=True)
class Settings:
    particles: tuple[int, ...] = (1, 10, 50, 100, 300, 1000)
    betas: tuple[float, ...] = (math.inf, 100.0, 10.0, 1.0)  # infinity is SVGD
    num_steps: int = 1000
    step_size: float = 0.03
    repeats: int = 200
    growth: tuple[int, int] = (50, 150)  # "near 100 iterations"
    early: int = 100
    best: int = 300  # the number of particles that the paper finds best there
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self, particles=(10, 60), num_steps=160, repeats=4, betas=(math.inf, 1.0), hasty=True
        )


def label(beta: float) -> str:
    return "SVGD" if math.isinf(beta) else f"SPOS β = {beta:g}"


def log_density(theta: jax.Array) -> jax.Array:
    return -0.5 * jnp.sum((theta - MEAN) ** 2)


def paths(
    settings: Any,  # those of this experiment, or of another with the same fields
    seed: int,
    observe: Callable[[spos.State, spos.Info], Any],
    width: str,
    count: int,
) -> Any:
    """What `observe` sees in each step; leading axes (repeat, β, step).

    The methods of a repeat share their start and their noise. Repeats follow each other inside the
    program, so that memory does not grow with their number.
    """

    def one(key: jax.Array, beta: jax.Array) -> Any:
        start_key, run_key = jax.random.split(key)
        start = jax.random.normal(start_key, (count,))
        sampler = line.sampler(log_density, settings.step_size, beta, BANDWIDTHS[width], count)
        return spos.run(sampler, run_key, start, settings.num_steps, observe=observe)[1]

    def all_repeats(keys: jax.Array, betas: jax.Array) -> Any:
        return jax.lax.map(lambda key: jax.vmap(one, (None, 0))(key, betas), keys)

    # each number of particles has its own random numbers: their errors are independent
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), count), settings.repeats)
    found = compiled(all_repeats, settings.hasty)(keys, jnp.asarray(settings.betas))
    return jax.tree.map(np.asarray, found)


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    def second_moment(state: spos.State, info: spos.Info) -> jax.Array:
        return jnp.mean(state.particles**2)

    cases = [(width, count) for width in BANDWIDTHS for count in settings.particles]
    cases.sort(key=lambda case: -case[1])  # the long jobs first, so that no core waits at the end
    jobs = [functools.partial(paths, settings, seed, second_moment, *case) for case in cases]
    errors: Errors = {}
    for (width, count), seen in zip(cases, in_parallel(jobs, tick), strict=True):
        for n, beta in enumerate(settings.betas):
            series = errors.setdefault((label(beta), width), {})
            series[count] = np.abs(seen[:, n].astype(np.float64) - TRUTH)
    errors = {
        (label(beta), width): {m: errors[label(beta), width][m] for m in settings.particles}
        for width in BANDWIDTHS
        for beta in settings.betas
    }
    return Findings(
        numbers=curves(errors, settings.num_steps),
        claims=claims(errors, settings),
        table=last_errors(errors, settings),
    )


def curves(errors: Errors, num_steps: int) -> dict[str, Any]:
    """For the record: the mean error and its standard error at some iterations."""
    kept = recorded_steps(num_steps)
    found = [
        {
            "method": method,
            "bandwidth": width,
            "particles": count,
            "error": each[:, kept - 1].mean(0),
            "se": each[:, kept - 1].std(0, ddof=1) / math.sqrt(len(each)),
        }
        for (method, width), series in errors.items()
        for count, each in series.items()
    ]
    return {"iterations": numbers(kept), "curves": numbers(found)}


def recorded_steps(num_steps: int, points: int = 70) -> np.ndarray:
    """Iterations for the record: evenly spaced on a logarithmic axis."""
    return np.unique(np.geomspace(1, num_steps, points).round().astype(int))


def claims(errors: Errors, settings: Settings) -> list[Claim]:
    """The paper's four statements about these curves, each by its rule."""
    first, second = settings.growth
    early, last = settings.early, settings.num_steps
    sizes = settings.particles
    interacting = [m for m in sizes if m > 1]

    def change(found: np.ndarray, start: int, stop: int) -> Estimate:
        return Estimate.of(found[:, stop - 1] - found[:, start - 1])  # of the same repeats

    zero = Estimate(0.0, 0.0)
    grows, falls, best, rises = {}, {}, {}, {}
    for (method, width), series in errors.items():
        name = f"{method}, {width}"
        grows[name] = [m for m in sizes if change(series[m], first, second).above(zero)]
        falls[name] = [m for m in sizes if zero.above(change(series[m], early, last))]
        at_early = {m: Estimate.of(found[:, early - 1]) for m, found in series.items()}
        best[name] = min(at_early, key=lambda m: at_early[m].mean), at_early
        at_end = {m: Estimate.of(series[m][:, last - 1]) for m in interacting}
        rises[name] = at_end[interacting[-1]].above(at_end[interacting[0]]), at_end
    most = len(sizes) / 2
    few, many = interacting[0], interacting[-1]
    is_best = {
        name: choice == settings.best
        and all(each.above(at[choice]) for m, each in at.items() if m != choice)
        for name, (choice, at) in best.items()
    }
    return [
        Claim(
            claim="Near 100 iterations the error grows with the number of iterations.",
            measured=f"Sizes M (of {len(sizes)}) whose error grew from iteration {first} to "
            f"{second}: " + _each(grows) + ".",
            verdict=verdict({n: len(ms) > most for n, ms in grows.items()}, "run as "),
            rule="Seen for a method when the error grew, by more than two standard errors of the "
            "paired difference, for more than half of the sizes M.",
        ),
        Claim(
            claim=f"At about {early} iterations, {settings.best} particles are best.",
            measured=f"Smallest error at iteration {early}: "
            + "; ".join(f"{n}: M = {m} ({at[m]})" for n, (m, at) in best.items())
            + ".",
            verdict=verdict(is_best, "run as "),
            rule=f"Seen for a method when M = {settings.best} has the smallest error, and every "
            "other M a larger one by more than two standard errors.",
        ),
        Claim(
            claim="With many iterations the error falls as iterations go on.",
            measured=f"Sizes M (of {len(sizes)}) whose error fell from iteration {early} to "
            f"{last}: " + _each(falls) + ".",
            verdict=verdict({n: len(ms) > most for n, ms in falls.items()}, "run as "),
            rule="As for the first claim, with the opposite sign.",
        ),
        Claim(
            claim=f"With many iterations ({last}), more particles give a larger error.",
            measured=f"Error at M = {few} and at M = {many}: "
            + "; ".join(f"{n}: {at[few]} and {at[many]}" for n, (_, at) in rises.items())
            + ".",
            verdict=verdict({n: up for n, (up, _) in rises.items()}, "run as "),
            rule=f"Seen for a method when the error at M = {many} exceeds the one at M = {few} by "
            "more than two standard errors.",
        ),
    ]


def _each(sizes: dict[str, list[int]]) -> str:
    """The sizes by method, or once if all methods agree."""
    texts = {name: ", ".join(map(str, found)) or "none" for name, found in sizes.items()}
    if len(set(texts.values())) == 1:
        return f"{next(iter(texts.values()))}, for every method"
    return "; ".join(f"{name}: {text}" for name, text in texts.items())


def last_errors(errors: Errors, settings: Settings) -> Table:
    rows = [
        (f"{method}, {width}", *(str(Estimate.of(series[m][:, -1])) for m in settings.particles))
        for (method, width), series in errors.items()
    ]
    return Table(
        ("error ± s.e.", *(f"M = {m}" for m in settings.particles)),
        rows,
        f"Mean |E θ² − 5| after {settings.num_steps} iterations, over {settings.repeats} repeats.",
    )


def draw(record: Record) -> list[Drawing]:
    note = (
        f"mean |E θ² − 5| over {record.settings['repeats']} repeats, one line for each number of "
        "particles M;\nbands of ± 2 standard errors"
    )
    figure = drawing.error_grid(
        record.numbers, "Error on N(2, 1) against iterations", note, (0.1, 0.3, 1, 3)
    )
    return [
        Drawing(
            "gaussian.png",
            figure,
            "Error against iteration on logarithmic axes, a panel for each method and bandwidth "
            "and a line for each number of particles.",
            "All panels share their axes.",
        )
    ]
