"""The theory of SPOS as functions: constants of a problem in, bounds or plain refusals out.

    from spos import theory

    about = theory.constants(log_prob, bandwidth=4.0, region=(low, high))
    bound = theory.particle_error(about, beta=0.1, num_particles=100, gamma0=1.0)
    bound.value, bound.terms        # or, where a condition fails, None and bound.why

    constants     what the bounds need to know of the target and the kernel, by autodiff
    drift         the pull towards the mode, and the moments it keeps
    collapse      how far apart particles can stay (EPD), for SVGD and SPOS
    step_error    what Euler steps and minibatches cost
    convergence   Wasserstein distance to the target: its three terms and their sum
    nonconvex     the same question without convexity, for one test function
    cost          what a step takes over many devices, by a model
    pilot, plan   particles, step and steps for a budget, fitted to a few short runs

Every file puts its mathematics on top, with the places where the paper's proofs need care. The
bounds are worst cases: they show what depends on what, and their numbers are large.

Reference: the SPOS paper (AISTATS 2020), sections 3 and 4 and the appendix.
"""

from spos.theory.arguments import Run
from spos.theory.bound import Bound
from spos.theory.collapse import attraction_rate, spos_spread, svgd_spread
from spos.theory.constants import Constants, constants, kernel_concavity
from spos.theory.convergence import (
    ParticleConstants,
    decreasing_step_total,
    fixed_step_total,
    particle_constants,
    particle_error,
    relaxation,
    relaxation_rate,
    start_distance,
)
from spos.theory.cost import Cost, cost
from spos.theory.drift import dissipation, second_moment, squared_growth, typical_score
from spos.theory.nonconvex import nonconvex_bias
from spos.theory.pilot import Pilot, Trial, pilot
from spos.theory.plan import ErrorModel, Plan, plan
from spos.theory.step_error import (
    DecreasingStepConstants,
    FixedStepConstants,
    decreasing_step_constants,
    decreasing_step_error,
    fixed_step_constants,
    fixed_step_error,
)

__all__ = [
    "Bound",
    "Constants",
    "Cost",
    "DecreasingStepConstants",
    "ErrorModel",
    "FixedStepConstants",
    "ParticleConstants",
    "Pilot",
    "Plan",
    "Run",
    "Trial",
    "attraction_rate",
    "constants",
    "cost",
    "decreasing_step_constants",
    "decreasing_step_error",
    "decreasing_step_total",
    "dissipation",
    "fixed_step_constants",
    "fixed_step_error",
    "fixed_step_total",
    "kernel_concavity",
    "nonconvex_bias",
    "particle_constants",
    "particle_error",
    "pilot",
    "plan",
    "relaxation",
    "relaxation_rate",
    "second_moment",
    "spos_spread",
    "squared_growth",
    "start_distance",
    "svgd_spread",
    "typical_score",
]
