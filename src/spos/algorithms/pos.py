"""POS: particle optimization, the equation of SPOS solved without noise.

    θ_i += (h/β) (s_i + u_i) + h · stein_i,     stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]

The density of SPOS obeys an equation whose diffusion, of weight 1/β, can be had by noise or by the
velocity -∇ log ν. Here u stands for that velocity, by "blob", "gfsd" or "gfsf"
(`spos.interaction`): what SPOS improves on, since noise needs no smoothing and does not fade in
high dimensions. β → ∞ is SVGD, and without the Stein direction this is `spos.blob`, `spos.gfsd` or
`spos.gfsf`.

Reference: Zhang, Zhang, Carin, Chen, AISTATS 2020.
"""

import jax
import optax

from spos import checks
from spos.dynamics.moves import Drift
from spos.dynamics.preconditioners import Preconditioner
from spos.dynamics.sampler import Flow
from spos.dynamics.schedules import StepSize
from spos.interaction.diffusion import Diffusion, check_diffusion, diffuse
from spos.interaction.kernels import Kernel, rbf
from spos.targets.target import TargetLike
from spos.types import Number, Particles, State
from spos.values import static, value


@value
class POS(Flow):
    """The sampler of the module's text; see `pos`."""

    beta: Number = 1.0
    diffusion: Diffusion = static(default="blob")

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        weight = 1.0 / self.beta
        return Drift(
            *diffuse(self.kernel, self.diffusion, state, scores, weight=weight, stein=True)
        )


def pos(
    target: TargetLike,
    step_size: StepSize | None = None,
    beta: Number = 1.0,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    diffusion: Diffusion = "blob",
    preconditioner: Preconditioner | None = None,
    optimizer: optax.GradientTransformation | None = None,
) -> POS:
    """Particle optimization (POS): the equation of SPOS, solved without noise.

    A step of size h is::

        θ_i += (h/β) (s_i + u_i) + h · (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]

    with the scores s, the kernel k, and u in place of the noise: minus the score of the cloud,
    smoothed as `diffusion` says (Zhang, Zhang, Carin and Chen, AISTATS 2020).

    Args:
        target: a log-density of one particle, or a target such as `spos.posterior` gives.
        step_size: a number above 0, or a schedule (`spos.schedules`, optax).
        beta: 1/β is the weight of score and diffusion beside the Stein direction.
        kernel: `spos.rbf(...)`, `spos.imq(...)` or another `spos.Kernel`.
        diffusion: the way in which the cloud's density is smoothed: "blob", "gfsd" or "gfsf".
        preconditioner: `spos.rmsprop(...)`, `spos.adagrad(...)`, `spos.adam(...)`,
            `spos.ensemble()` or None.
        optimizer: an optax optimizer that takes the direction as its gradient, instead of
            `step_size` and `preconditioner`.

    Returns:
        The sampler.

    Example:
        >>> sampler = spos.pos(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> spos.sample(sampler, jnp.ones((50, 2)), num_steps=20).num_steps
        20
    """
    check_diffusion(kernel, diffusion)
    beta = checks.positive("beta", beta)
    return POS.flow(
        target, step_size, kernel, preconditioner, optimizer, beta=beta, diffusion=diffusion
    )
