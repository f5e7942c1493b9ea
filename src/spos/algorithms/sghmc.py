"""SGHMC: stochastic gradient Hamiltonian Monte Carlo, one independent chain per particle.

    v_i += sqrt(2h) s_i                              kick
    θ_i += sqrt(h/2) v_i                             half the way
    v_i ← (1 - f) v_i + sqrt(f(2 - f)) ξ_i           friction takes, noise gives back
    θ_i += sqrt(h/2) v_i                             the other half

Particles have momentum: they keep their direction for about 1/f steps and cross the distribution in
fewer steps than Langevin dynamics does. One step is a step of length sqrt(2h) in time, with unit
masses. The step size means what it does for `spos.sgld`: with f = 1 nothing is remembered but half
of the last noise, and

    θ_i += h s_i + sqrt(2h) (ξ_i + ξ'_i) / 2,        ξ' the noise of the step before.

The law is exact on a Gaussian. With precision λ, every h < 2/λ and every f, after a step

    Var θ = 1/λ,      Var v = 1,      Cov(θ, v) = sqrt(h/2),

where SGLD is off by order h; on other densities the error is of order h². Noise of variance V in
the score comes in with the kick and is not corrected for: it makes the variance

    Var θ = (1/λ) · (1 + h V (2 - f) / (f (2 - hλ))),

so that more friction stands more noise; `spos.control_variate`, `spos.svrg` and `spos.saga` make it
small at its source.

References: Chen, Fox and Guestrin, ICML 2014; the order of the four parts is that of Leimkuhler and
Matthews, 2013, begun at its kick so that a step needs one score.
"""

from typing import Any

import jax
import jax.numpy as jnp

from spos import checks
from spos.dynamics.schedules import as_schedule
from spos.dynamics.step import build_sampler, underdamped
from spos.targets.target import as_target
from spos.types import Particles, Sampler, State


def sghmc(target: Any, step_size: Any, friction: Any = 0.1) -> Sampler:
    """Chains with momentum that do not interact.

    `target` and `step_size` are as in `spos.sgld`; `friction` is the share of its velocity that a
    particle loses in a step, above 0 and at most 1.
    """
    checks.positive("friction", friction)
    if not checks.is_traced(friction) and friction > 1:
        raise ValueError(f"friction must be at most 1, all of the velocity, got {friction!r}")

    def drift(key: jax.Array, state: State, scores: Particles):
        return scores, jnp.nan

    return build_sampler(
        as_target(target),
        drift,
        underdamped(friction),
        as_schedule("step_size", step_size),
        {"algorithm": "sghmc", "step_size": step_size, "friction": friction},
    )
