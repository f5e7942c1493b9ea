"""SGLD: stochastic gradient Langevin dynamics, one independent chain per particle.

    θ_i += (h/β) s_i + sqrt(2h/β) ξ_i

Only h/β matters, and β = 1 is the usual form; β is kept so that SGLD is what SPOS becomes when its
kernel is taken away. With a minibatch all chains of a step share the batch. The step leaves a bias
of order h: on a standard normal the variance is 1 / (1 - h/2β) instead of 1.

Reference: Welling and Teh, ICML 2011.
"""

from typing import Any

import jax
import jax.numpy as jnp

from spos import checks
from spos.algorithms.automatic import automatic
from spos.dynamics.ensemble import Ensemble
from spos.dynamics.schedules import as_schedule
from spos.dynamics.step import Preconditioner, build_sampler, langevin, scaled
from spos.targets.target import as_target
from spos.types import Particles, Sampler, State


def sgld(
    target: Any,
    step_size: Any = None,
    beta: Any = 1.0,
    *,
    preconditioner: Preconditioner | Ensemble | None = None,
) -> Sampler:
    """Parallel Langevin chains that do not interact; arguments as in `spos.spos`."""
    weight = 1.0 / checks.positive("beta", beta)
    settings = {
        "algorithm": "sgld",
        "step_size": step_size,
        "beta": beta,
        "preconditioner": preconditioner,
    }
    if step_size is None:
        return automatic(as_target(target), settings)

    def drift(key: jax.Array, state: State, scores: Particles):
        return scaled(weight, scores), jnp.nan

    return build_sampler(
        as_target(target),
        drift,
        langevin(weight, preconditioner),
        as_schedule("step_size", step_size),
        settings,
    )
