"""`spos paper posterior`: a Gaussian mean from a thousand data, with minibatches.

    θ ~ N(0, 1),   x_i ~ N(θ, 1),  i = 1 … N         posterior N(Σx/(N + 1), 1/(N + 1)), exactly

    error(k) = average over repeats of | (1/M) Σ_i θ_i(k)² - E[θ² | x] |

Every repeat draws its own θ, data, start from N(0, 1) and minibatches. The posterior is 1001 times
sharper than the prior, so that an Euler step is stable only up to h = 2/((N + 1)(1/β + 1)), about
0.002/(1/β + 1); the step here is a fixed share of that. The paper asks for the setting of its
Gaussian experiment, whose h = 0.03 is tried as well.

    spos paper posterior
    spos paper posterior --quick
"""

import dataclasses
import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import spos
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
from spos_experiments.paper.gaussian import BANDWIDTHS, Errors, curves, label

TITLE = "A Gaussian posterior with minibatches"
ABOUT = (
    "The mean of a Gaussian is inferred from a thousand observations, a tenth of which are looked "
    "at in each step. The posterior is known exactly; the error is that of the particles' mean "
    "of θ²."
)


@dataclass(frozen=True)
class Settings:
    particles: tuple[int, ...] = (1, 10, 50, 100, 300)
    betas: tuple[float, ...] = (math.inf, 100.0, 1.0)
    num_data: int = 1000
    batch_size: int = 100
    num_steps: int = 2000
    stable_share: float = 0.1  # of the largest stable step
    paper_step: float = 0.03
    repeats: int = 100
    bandwidths: tuple[str, ...] = tuple(BANDWIDTHS)
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            particles=(4, 10),
            betas=(math.inf, 1.0),
            num_steps=60,
            repeats=4,
            bandwidths=tuple(BANDWIDTHS)[1:],
            hasty=True,
        )


def log_likelihood(theta: jax.Array, batch: jax.Array) -> jax.Array:
    return -0.5 * (batch - theta) ** 2


def log_prior(theta: jax.Array) -> jax.Array:
    return -0.5 * theta**2


def errors_of(
    settings: Settings, seed: int, count: int, width: str, step_size: float | None = None
) -> np.ndarray:
    """|E θ² - exact| with axes (repeat, β, step); without a `step_size`, the stable share."""
    total = settings.num_data
    target = spos.posterior(
        log_likelihood, log_prior, np.zeros(total, np.float32), settings.batch_size
    )

    def one(key: jax.Array, beta: jax.Array) -> jax.Array:
        theta_key, data_key, start_key, run_key = jax.random.split(key, 4)
        theta = jax.random.normal(theta_key)
        data = theta + jax.random.normal(data_key, (total,))
        exact = (jnp.sum(data) / (total + 1)) ** 2 + 1 / (total + 1)
        start = jax.random.normal(start_key, (count,))
        largest = 2.0 / ((total + 1) * (1.0 / beta + 1.0))
        h = settings.stable_share * largest if step_size is None else step_size
        sampler = line.sampler(target.with_data(data), h, beta, BANDWIDTHS[width], count)

        def error(state: spos.State, info: spos.Info) -> jax.Array:
            return jnp.abs(jnp.mean(state.particles**2) - exact)

        steps = settings.num_steps if step_size is None else 100
        return spos.run(sampler, run_key, start, steps, observe=error)[1]

    def all_repeats(keys: jax.Array, betas: jax.Array) -> jax.Array:
        return jax.lax.map(lambda key: jax.vmap(one, (None, 0))(key, betas), keys)

    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), count), settings.repeats)
    betas = jnp.asarray(settings.betas)
    return np.asarray(compiled(all_repeats, settings.hasty)(keys, betas), np.float64)


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    widths = settings.bandwidths
    cases = [(width, m) for m in sorted(settings.particles, reverse=True) for width in widths]
    jobs = [functools.partial(errors_of, settings, seed, m, width) for width, m in cases]
    coarse = sorted(settings.particles)[1]
    # the paper's own step, for one size; it is the last job
    jobs.append(
        functools.partial(errors_of, settings, seed, coarse, widths[-1], settings.paper_step)
    )
    *results, too_large = in_parallel(jobs, tick)
    found = dict(zip(cases, results, strict=True))
    errors: Errors = {
        (label(beta), width): {m: found[width, m][:, n] for m in settings.particles}
        for width in widths
        for n, beta in enumerate(settings.betas)
    }
    diverged = {
        label(beta): float(np.mean(~(too_large[:, n, -1] < too_large[:, n, 0])))
        for n, beta in enumerate(settings.betas)
    }
    return Findings(
        numbers={
            **curves(errors, settings.num_steps),
            "share that grew with the paper's step": numbers(diverged),
        },
        claims=claims(errors, diverged, settings),
        table=Table(
            ("error ± s.e., ×1000", *(f"M = {m}" for m in settings.particles)),
            [
                (f"{a}, {b}", *(str(Estimate.of(1e3 * late(s[m]))) for m in settings.particles))
                for (a, b), s in errors.items()
            ],
            f"1000 × |E θ² − exact|, averaged over the last tenth of {settings.num_steps} "
            f"iterations and over {settings.repeats} repeats.",
        ),
    )


def late(error: np.ndarray) -> np.ndarray:
    """Each repeat's average over the last tenth of the run."""
    return error[:, -(-error.shape[1] * 9 // 10) :].mean(axis=1)


def middle(error: np.ndarray) -> np.ndarray:
    """Each repeat's average over a tenth of the run that begins halfway."""
    steps = error.shape[1]
    return error[:, steps // 2 : steps // 2 + steps // 10].mean(axis=1)


def claims(errors: Errors, diverged: dict[str, float], settings: Settings) -> list[Claim]:
    sizes = [m for m in settings.particles if m > 1]
    few, many = sizes[0], sizes[-1]
    slower, halves, grows = {}, {}, {}
    for (method, width), series in errors.items():
        name = f"{method}, {width}"
        half = {}
        for m in (few, many):
            mean = series[m].mean(axis=0)
            half[m] = int(np.argmax(mean < 0.5 * mean[0])) if (mean < 0.5 * mean[0]).any() else -1
        halves[name] = half
        at = half[few]
        slower[name] = at >= 0 and Estimate.of(series[many][:, at]).above(
            Estimate.of(series[few][:, at])
        )
        zero = Estimate(0.0, 0.0)
        grows[name] = [
            m
            for m in settings.particles
            if Estimate.of(late(series[m]) - middle(series[m])).above(zero)
        ]
    steps, most = settings.num_steps, len(settings.particles) / 2
    return [
        Claim(
            claim="In the beginning the error falls faster with fewer particles.",
            measured=f"Iterations until the mean error has halved, with M = {few} and M = {many}: "
            + "; ".join(f"{n}: {_step(h[few])} and {_step(h[many])}" for n, h in halves.items())
            + ".",
            verdict=verdict(slower, "run as "),
            rule=f"Seen for a method when, at the iteration where the error of M = {few} has "
            f"halved, that of M = {many} is larger by more than two standard errors.",
        ),
        Claim(
            claim="After very many iterations the error grows again.",
            measured=f"Sizes M (of {len(settings.particles)}) whose error was larger in the last "
            f"tenth of {steps} iterations than in the tenth after the middle: "
            + "; ".join(f"{n}: {', '.join(map(str, m)) or 'none'}" for n, m in grows.items())
            + ".",
            verdict=verdict({n: len(m) > most for n, m in grows.items()}, "run as "),
            rule="Seen for a method when the error grew, by more than two standard errors of the "
            "paired difference, for more than half of the sizes M.",
        ),
        Claim(
            claim=f"The setting of the Gaussian experiment, h = {settings.paper_step:g}, serves "
            "here as well.",
            measured=f"With h = {settings.paper_step:g} the error after 100 steps is larger than "
            "after the first, or no longer a number, in "
            + "; ".join(f"{share:.0%} of repeats of {n}" for n, share in diverged.items())
            + f". Steps above {2 / (settings.num_data + 1):.4f}/(1/β + 1) cannot be stable.",
            verdict=verdict({n: share < 0.5 for n, share in diverged.items()}, "run as "),
            rule="Seen for a method when the error falls in more than half of the repeats.",
        ),
    ]


def _step(found: int) -> str:
    return str(found + 1) if found >= 0 else "never"


def draw(record: Record) -> list[Drawing]:
    title = "Error on a Gaussian posterior against iterations"
    note = (
        f"mean |E θ² − exact| over {record.settings['repeats']} repeats, minibatches of "
        f"{record.settings['batch_size']} of {record.settings['num_data']};\n"
        "one line for each number of particles M, bands of ± 2 standard errors"
    )
    figure = drawing.error_grid(record.numbers, title, note, (0.003, 0.01, 0.03, 0.1, 0.3, 1))
    return [
        Drawing(
            "posterior.png",
            figure,
            "Error against iteration on logarithmic axes, a panel for each method and bandwidth "
            "and a line for each number of particles.",
            "All panels share their axes. All particles of a step see the same minibatch.",
        )
    ]
