"""GFSD: the gradient flow with a smoothed density.

    θ_i += h · (s_i - Σ_j ∇_i k_ij / Σ_l k_il)

Langevin dynamics without its noise: the kernel term is -∇ log ν at θ_i for the density ν of the
particles smoothed by the kernel. Where the target is Gaussian and particles are many, the smoothed
density and not the particles takes its shape, so that the cloud is too narrow by about the kernel's
variance, η²/2 in each direction.

Reference: Liu, Zhuo, Cheng, Zhang, Zhu, Carin, ICML 2019.
"""

import jax
import optax

from spos.dynamics.moves import Drift
from spos.dynamics.preconditioners import Preconditioner
from spos.dynamics.sampler import Flow
from spos.dynamics.schedules import StepSize
from spos.interaction.diffusion import check_diffusion, diffuse
from spos.interaction.kernels import Kernel, rbf
from spos.targets.target import TargetLike
from spos.types import Particles, State
from spos.values import value


@value
class GFSD(Flow):
    """The sampler of the module's text; see `gfsd`."""

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(*diffuse(self.kernel, "gfsd", state, scores))


def gfsd(
    target: TargetLike,
    step_size: StepSize | None = None,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    preconditioner: Preconditioner | None = None,
    optimizer: optax.GradientTransformation | None = None,
) -> GFSD:
    """Gradient flow with a smoothed density (GFSD): deterministic particles.

    A step of size h is::

        θ_i += h · (s_i - Σ_j ∇_i k_ij / Σ_l k_il)

    with the scores s and the kernel k, by which the density of the particles is smoothed (Liu et
    al., ICML 2019).

    Args:
        target: a log-density of one particle, or a target such as `spos.posterior` gives.
        step_size: a number above 0, or a schedule (`spos.schedules`, optax).
        kernel: `spos.rbf(...)`, `spos.imq(...)` or another `spos.Kernel`.
        preconditioner: `spos.rmsprop(...)`, `spos.adagrad(...)`, `spos.adam(...)`,
            `spos.ensemble()` or None.
        optimizer: an optax optimizer that takes the direction as its gradient, instead of
            `step_size` and `preconditioner`.

    Returns:
        The sampler.

    Example:
        >>> sampler = spos.gfsd(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> spos.sample(sampler, jnp.ones((50, 2)), num_steps=20).num_steps
        20
    """
    check_diffusion(kernel, "gfsd")
    return GFSD.flow(target, step_size, kernel, preconditioner, optimizer)
