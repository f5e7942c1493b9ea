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

import jax
import jax.numpy as jnp

from spos import checks
from spos.dynamics.moves import Drift, Langevin, Move, scaled
from spos.dynamics.preconditioners import Preconditioner
from spos.dynamics.sampler import Sampler, check_preconditioner, required
from spos.dynamics.schedules import StepSize
from spos.interaction.kernels import Kernel, check_kernel, rbf
from spos.interaction.stein_direction import stein
from spos.targets.target import TargetLike
from spos.types import Number, Particles, State
from spos.values import static, value


@value
class SPOS(Sampler):
    """The sampler of the module's text; see `spos`."""

    beta: Number | None  # None is infinity: neither Langevin drift nor noise
    kernel: Kernel | None
    preconditioner: Preconditioner | None
    group_size: int | None = static(default=None)

    @property
    def noise(self) -> Number | None:
        return None if self.beta is None else 1.0 / self.beta

    @property
    def move(self) -> Move:
        return Langevin(self.noise, self.preconditioner)

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        own = None if self.noise is None else scaled(self.noise, scores)
        if self.kernel is None:
            return Drift(own)
        pushed, bandwidth = stein(self.kernel, key, state, scores, self.group_size)
        return Drift(pushed if own is None else jax.tree.map(jnp.add, own, pushed), bandwidth)


def spos(
    target: TargetLike,
    step_size: StepSize | None = None,
    beta: Number = 1.0,
    *,
    kernel: Kernel | None = rbf(),  # noqa: B008 (immutable)
    group_size: int | None = None,
    preconditioner: Preconditioner | None = None,
) -> SPOS:
    """Stochastic particle-optimization sampling (SPOS): own score, kernel interaction and noise.

    A step of size h is::

        θ_i += (h/β) s_i + h · (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ] + sqrt(2h/β) ξ_i

    with the scores s, the kernel k and standard normal ξ (Zhang, Zhang, Carin and Chen, AISTATS
    2020). The target is the same for every β.

    Args:
        target: a log-density of one particle, or a target such as `spos.posterior` gives.
        step_size: a number above 0, or a schedule (`spos.schedules`, optax).
        beta: 1/β is the weight of Langevin drift and noise; infinity is SVGD.
        kernel: `spos.rbf(...)`, `spos.imq(...)` or another `spos.Kernel`; None drops the
            interaction.
        group_size: with b, each step lets particles interact only within random groups of b: O(M b)
            work instead of O(M²), unbiased.
        preconditioner: `spos.rmsprop(...)`, `spos.adagrad(...)`, `spos.adam(...)`,
            `spos.ensemble()` or None.

    Returns:
        The sampler.

    Raises:
        ValueError: if an argument is out of range, or `step_size` is missing.

    Example:
        >>> sampler = spos.spos(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> spos.sample(sampler, jnp.ones((50, 2)), num_steps=100).num_steps
        100
    """
    checks.positive("beta", beta, allow_infinity=True)
    infinite = not checks.is_traced(beta) and math.isinf(beta)
    if kernel is None and infinite:
        raise ValueError("kernel must not be None when beta is infinite: nothing would move")
    if kernel is None and group_size is not None:
        raise ValueError(f"group_size must be None without a kernel, got {group_size!r}")
    if kernel is not None:
        check_kernel(kernel)
    if group_size is not None:
        checks.whole("group_size", group_size, at_least=2)
    check_preconditioner(preconditioner, kernel)
    return SPOS.of(
        target,
        required(step_size),
        beta=None if infinite else beta,
        kernel=kernel,
        preconditioner=preconditioner,
        group_size=group_size,
    )
