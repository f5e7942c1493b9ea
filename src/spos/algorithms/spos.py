"""SPOS: stochastic particle-optimization sampling.

    θ_i += (h/β) s_i + h · stein_i + sqrt(2h/β) ξ_i
    stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]

Langevin dynamics keeps the target in balance and explores; the kernel term transports the cloud and
spreads it. The weight 1/β scales Langevin drift and noise together, so that β never tempers the
target: it sets how much of each a particle gets. β → ∞ is SVGD, and without the kernel this is
SGLD. Only for finitely many particles does the law depend on β, by an amount of order 1/M.

Reference: Zhang, Zhang, Carin, Chen, AISTATS 2020. The printed update has the sign of the repulsion
flipped; the one here leaves the target invariant as M → ∞.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp

from spos import checks
from spos.algorithms.automatic import automatic
from spos.dynamics.ensemble import Ensemble
from spos.dynamics.schedules import as_schedule
from spos.dynamics.step import Preconditioner, build_sampler, langevin, scaled
from spos.interaction import stein
from spos.interaction.kernels import Kernel, rbf
from spos.targets.target import as_target
from spos.types import Particles, Sampler, State


def spos(
    target: Any,
    step_size: Any = None,
    beta: Any = 1.0,
    *,
    kernel: Kernel | None = rbf(),  # noqa: B008 (immutable)
    group_size: int | None = None,
    preconditioner: Preconditioner | Ensemble | None = None,
) -> Sampler:
    """Particles with their own score, a kernel interaction and noise.

    `target` is a log-density of one particle or a target such as `spos.posterior`; `step_size` a
    number or a schedule, or None to leave it to `spos.sample`; `kernel=None` drops the interaction.
    With `group_size=b` each step lets particles interact only within random groups of b: O(M b)
    work instead of O(M²), unbiased.
    """
    checks.positive("beta", beta, allow_infinity=True)
    weight = None if not checks.is_traced(beta) and math.isinf(beta) else 1.0 / beta
    if kernel is None and weight is None:
        raise ValueError("kernel must not be None when beta is infinite: nothing would move")
    if kernel is None and group_size is not None:
        raise ValueError(f"group_size must be None without a kernel, got {group_size!r}")
    settings = {
        "algorithm": "spos",
        "step_size": step_size,
        "beta": beta,
        "kernel": kernel,
        "group_size": group_size,
        "preconditioner": preconditioner,
    }
    if step_size is None:
        return automatic(as_target(target), settings)
    interaction = None if kernel is None else stein(kernel, group_size)

    def drift(key: jax.Array, state: State, scores: Particles):
        own = None if weight is None else scaled(weight, scores)
        if interaction is None:
            return own, jnp.nan
        pushed, bandwidth = interaction(key, state, scores)
        return pushed if own is None else jax.tree.map(jnp.add, own, pushed), bandwidth

    return build_sampler(
        as_target(target),
        drift,
        langevin(weight, preconditioner),
        as_schedule("step_size", step_size),
        settings,
    )
