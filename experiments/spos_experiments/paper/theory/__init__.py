"""`spos paper theory`: the terms of the paper's bounds beside what particles do.

The theory bounds W1(μ_T, p) by three terms: one falls as M^(-1/2), one decays in τ = Σ h_k, one is
for the steps. It speaks of the *law of one particle*, over all runs that could have been, not of
one cloud. That law is estimated by pooling the particles of many repeats; in one dimension W1 is
then exact by sorting: the mean distance of sorted samples, or of their averages over 200 bins.

1. **Particles.** Stationary particles, three distances against M: of the law from the mean-field
   law (2048 particles with the same step stand in for it); of each particle from its mean-field
   twin, with the same start and noise, which is what the proof bounds (the Stein drift vanishes at
   the target, so the twin is plain Langevin); and of one cloud from the target.
2. **Decay.** W1 from the target over time, for several β, from the target shifted by 1.
3. **Steps.** The same over T up to thousands, with h fixed and with h0/(k+1); and what the step
   alone changes in the stationary law, against M: the distance from a law with an eighth of it.
4. **Plan.** `spos.theory.plan` is fitted to short runs on one target and used on two others, beside
   a grid of settings that cost as much.

Targets have standard deviation 1/2: N(0, 1/4), whose constants L_F = m_F = 4 are exact; a logistic
density, which is convex but not strongly so; a mixture of two Gaussians. Kernel: η² = 4.

    spos paper theory            # two to four minutes on two cores
    spos paper theory --quick    # seconds, too small to conclude from
"""

import functools
from collections.abc import Callable
from typing import Any

from spos import theory
from spos_experiments.frame.experiment import Findings, Tick, in_parallel, once
from spos_experiments.frame.record import numbers
from spos_experiments.paper.theory.claims import claims, table
from spos_experiments.paper.theory.figures import draw
from spos_experiments.paper.theory.findings import (
    as_columns,
    as_plain,
    decay_findings,
    particle_findings,
    plan_findings,
    steps_findings,
)
from spos_experiments.paper.theory.laws import slope
from spos_experiments.paper.theory.measure import (
    decay_job,
    particle_job,
    step_error_job,
    steps_job,
    try_out,
)
from spos_experiments.paper.theory.settings import Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "The bounds beside the particles"
ABOUT = (
    "The paper bounds the distance between the law of one particle and the target by a term for "
    "the number of particles, one for time and one for the steps. Here each is measured as a "
    "1-Wasserstein distance, beside its bound where the bound's conditions are met."
)


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    particle_cases = [(name, count) for count in (settings.mean_field, *settings.sizes[::-1])
                      for name in dict.fromkeys(n for n, _ in settings.cases)]  # fmt: skip
    grid = [(name, count) for name in settings.checked for count in settings.plan_sizes]
    part = functools.partial
    jobs: list[Callable[[], Any]] = [
        part(decay_job, settings, seed),
        part(steps_job, settings, seed),
    ]
    jobs += [part(particle_job, settings, seed, name, count) for name, count in particle_cases]
    jobs += [part(step_error_job, settings, seed, count) for count in settings.step_sizes]
    jobs.append(part(try_out, settings, seed, "Gaussian", particle_counts=settings.pilot_sizes,
                     step_sizes=settings.pilot_steps,
                     num_repeats=settings.plan_repeats))  # fmt: skip
    jobs += [
        part(try_out, settings, seed + 1, name, particle_counts=(count,),
             step_sizes=settings.plan_steps, step_counts=(settings.budget // count,),
             num_repeats=settings.plan_repeats)
        for name, count in grid
    ]  # fmt: skip
    total = len(jobs) + len(settings.checked)
    decay, steps, *rest = in_parallel(jobs, lambda done, _: tick(done, total))
    by_size = {case: rest.pop(0) for case in particle_cases}
    step_errors = {count: rest.pop(0) for count in settings.step_sizes}
    pilot, *tried = rest
    plan = theory.plan(settings.budget, pilot)
    followed: list[theory.Pilot] = []
    if plan.trusted:
        jobs = [
            part(try_out, settings, seed + 2, name, particle_counts=(plan.num_particles,),
                 step_sizes=(plan.step_size,), step_counts=(plan.num_steps,),
                 num_repeats=settings.plan_repeats)
            for name in settings.checked
        ]  # fmt: skip
        followed = in_parallel(jobs, lambda done, _: tick(total - len(jobs) + done, total))
    found = {
        "particles": particle_findings(settings, by_size),
        "decay": decay_findings(settings, decay),
        "steps": steps_findings(settings, steps),
        "step_errors": {"particles": list(step_errors), **as_columns(step_errors.values()),
                        "slope": slope([*step_errors], [*step_errors.values()])},
        "plan": plan_findings(settings, plan, grid, tried, followed),
    }  # fmt: skip
    plain = numbers(as_plain(found))
    return Findings(plain, claims(plain, settings), table(plain))
