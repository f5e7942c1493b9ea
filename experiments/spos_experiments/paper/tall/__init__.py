"""`spos paper tall`: many rows, minibatches, and no knobs.

Two posteriors, each with vectors of parameters θ:

    covertype    logistic regression of forest covers on 54 columns, scaled to [0, 1], θ ~ N(0, I)
    counts       y ~ Poisson(exp(a_g + xᵀb + offset)), a_g ~ N(μ, τ²) in 50 groups, four columns x,
                 μ, b ~ N(0, 1), τ ~ HalfNormal(1), θ = (μ, log τ, a, b)

`spos.fit(…, batch_size=…)` gets nothing but the size of a minibatch. It is compared with exact
chains that see all rows in every step (`all_rows`), in the coordinates that the fit has found. What
counts is the error of means in standard deviations, that of standard deviations, and the gradients
of single rows, beside those that the chains would take for plain averages as precise as the fit's,
without any search for the mode.

    spos paper tall
    spos paper tall --quick
"""

import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import spos
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.paper import all_rows
from spos_experiments.paper.tall.findings import draw, findings
from spos_experiments.paper.tall.posteriors import Problem, build
from spos_experiments.paper.tall.settings import PROBLEMS, Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Tall data without knobs"
ABOUT = (
    "Logistic regression on Covertype and a Poisson hierarchy by `spos.fit` with minibatches, "
    "against exact chains that see all rows in every step."
)


class Fitted(NamedTuple):
    """What a fit found, in which coordinates, and at what price."""

    mean: np.ndarray
    sd: np.ndarray
    centre: np.ndarray
    root: np.ndarray
    passes: int  # gradients of as many rows as there are
    converged: bool
    report: str
    precision: float  # the largest Monte-Carlo error, in standard deviations


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings after each posterior; what has ended is in the folder."""
    store = resume.store(folder, resume.mark(dataclasses.replace(settings, problems=PROBLEMS)))
    total, done, found = len(settings.problems) * (settings.repeats + 1), 0, {}
    tick(done, total)
    for name in settings.problems:
        problem = functools.cache(functools.partial(build, name, settings))
        fits = []
        for n in range(settings.repeats):
            make = functools.partial(_fitted, problem, settings, seed + n)
            place = store / f"{name}-fit-seed{seed + n}.npz"
            fits.append(resume.outcome(place, Fitted, make))
            tick(done := done + 1, total)
        compare = functools.partial(_truth, problem, settings, fits[0], seed)
        truth = resume.outcome(store / f"{name}-truth-seed{seed}.npz", Truth, compare)
        tick(done := done + 1, total)
        found[name] = [row(name, each, truth, settings) for each in fits]
        yield findings(found, settings)


def _fitted(problem: Callable[[], Problem], settings: Settings, seed: int) -> Fitted:
    given = problem()
    posterior = spos.posterior(given.log_likelihood, given.log_prior, given.data)
    shape = (settings.particles, given.size)
    start = jax.random.uniform(jax.random.key(seed), shape, minval=-2.0, maxval=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", spos.ConvergenceWarning)  # the verdict is kept
        fit = spos.fit(posterior, start=start, batch_size=settings.batch_size, seed=seed)
    draws = np.asarray(fit.draws, np.float64)
    precision = {check.name: check.value for check in fit.verdict.checks}["precision"]
    return Fitted(
        *(draws.mean(0), draws.std(0), np.asarray(fit.adapted.centre)),
        *(np.asarray(fit.adapted.factor), int(fit.evaluations), bool(fit.converged)),
        *(fit.report(), float(precision)),
    )


class Truth(NamedTuple):
    """Moments, how well they are known, and how well plain averages would know the means."""

    mean: np.ndarray
    sd: np.ndarray
    error: float
    plain_error: float
    acceptance: float


def _truth(problem: Callable[[], Problem], settings: Settings, fit: Fitted, seed: int) -> Truth:
    given = problem()
    path = all_rows.walk(
        *(given.log_likelihood, given.log_prior, given.data, fit.centre, fit.root),
        *(settings.chains, settings.chain_steps, settings.tau, seed + 1, settings.hasty),
    )
    known, rough = (of(path, fit.centre, fit.root) for of in (all_rows.sharp, all_rows.plain))
    error = max(known.mean_error, known.variance_error / 2)
    sd = np.sqrt(known.variance)
    return Truth(known.mean, sd, error, rough.mean_error, path.acceptance)


def row(name: str, fit: Fitted, truth: Truth, settings: Settings) -> dict[str, Any]:
    """The errors of a fit, and its price beside that of chains as precise."""
    passes = settings.chains * settings.chain_steps * (truth.plain_error / fit.precision) ** 2
    return {
        "problem": name,
        "rows": settings.covertype_rows if name == "covertype" else settings.counts_rows,
        "worst_mean": float((np.abs(fit.mean - truth.mean) / truth.sd).max()),
        "worst_sd": float(np.abs(fit.sd / truth.sd - 1.0).max()),
        "passes": fit.passes,
        "chain_passes": passes,
        "share": fit.passes / passes,
        "converged": fit.converged,
        "precision": fit.precision,
        "reference_error": truth.error,
        "acceptance": truth.acceptance,
        "report": fit.report,
    }
