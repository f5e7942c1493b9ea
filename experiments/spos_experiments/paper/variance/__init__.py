"""`spos paper variance`: minibatch scores with less noise, on logistic regression.

Four estimates of the score share their batches of B rows: the plain one, and those of
`spos.control_variate`, `spos.svrg` and `spos.saga`. Two things are measured.

    noise(k)       E ‖ŝ(θ_k) - s(θ_k)‖² over fresh batches, along a full-data Langevin run that
                   begins in the prior; each estimate remembers that run's earlier steps
    var. ratio     mean over parameters of Var(sampler) / Var(reference), 1 when right, from the
                   second half of a run that begins near the mode
    mean error     root mean square over parameters of (mean - reference) / standard deviation

Runs of the second kind all take the same number of gradients of single examples: an estimate that
needs more of them in a step gets fewer steps. The step size is a share of 1/λ, λ the largest
eigenvalue of the Hessian at the mode; every share is shown and none is chosen by its result. The
search for the mode is charged to none, since all runs begin there.

    spos paper variance
    spos paper variance --quick
"""

import functools
from typing import Any

import numpy as np

from spos.io.html import Table
from spos_experiments.frame.experiment import Estimate, Findings, Tick, in_parallel, once
from spos_experiments.frame.record import numbers
from spos_experiments.paper.variance import covertype
from spos_experiments.paper.variance.figures import draw
from spos_experiments.paper.variance.findings import claims
from spos_experiments.paper.variance.measure import moments, noises
from spos_experiments.paper.variance.settings import Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Scores with less noise"
ABOUT = (
    "Bayesian logistic regression with small minibatches. Control variates, SVRG and SAGA estimate "
    "the score from the same batches with less noise, at a price in gradients or memory; the "
    "moments of SGLD and SPOS are compared at equal numbers of gradients."
)


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    given = covertype.problem(settings.rows, seed)
    cases = [(method, name) for name in settings.scores for method in settings.methods]
    jobs: list[Any] = [functools.partial(moments, settings, seed, given, *case) for case in cases]
    jobs.append(functools.partial(noises, settings, seed, given))
    jobs.append(
        lambda: covertype.reference(
            given, settings.chains, settings.chain_steps, seed + 1, settings.hasty
        )
    )
    *runs, noise, truth = in_parallel(jobs, tick)
    ratio, off, steps = {}, {}, {}
    for (method, name), (count, found) in zip(cases, runs, strict=True):
        mean, square = found[:, :, 0], found[:, :, 1]
        ratio[method, name] = ((square - mean**2) / truth.variance).mean(axis=-1)
        gap = (mean + np.asarray(given.mode, np.float64) - truth.mean) ** 2 / truth.variance
        off[method, name] = np.sqrt(gap.mean(axis=-1))
        steps[name] = count
    curves = [
        {"method": method, "score": name, "steps": steps[name],
         "ratio": [Estimate.of(row) for row in ratio[method, name]],
         "mean error": [Estimate.of(row) for row in off[method, name]]}
        for method, name in cases
    ]  # fmt: skip
    laplace = np.diag(np.linalg.inv(given.hessian)) / truth.variance
    return Findings(
        numbers={
            "data": given.source,
            "noise": numbers(noise),
            "curves": numbers(curves),
            "reference": numbers(truth._asdict()),
            "Laplace variance over reference": numbers(laplace),
            "eigenvalues of the Hessian": numbers(np.linalg.eigvalsh(given.hessian)),
        },
        claims=claims(noise, ratio, truth, settings),
        table=Table(
            ("variance over reference", *(f"h = {share:g}/λ" for share in settings.shares)),
            [
                (f"{method}, {name}", *(str(Estimate.of(row)) for row in ratio[method, name]))
                for method, name in cases
            ],
            f"1 is right. {settings.repeats} repeats ± s.e.; {settings.particles} particles, "
            f"batches of {settings.batch_size} of {settings.rows}. Equal gradients make "
            + ", ".join(f"{count} steps of {name}" for name, count in steps.items())
            + ".",
        ),
    )
