"""GFSF: the gradient flow with smoothed functions.

    θ += h · (s + u),        (K + εI) u = Σ_j ∇_j k_ij

Langevin dynamics without its noise. The field u stands for -∇ log ν: by parts, its average under
the kernel is that of the kernel's own gradient, which needs no density. Before the inverse, s and u
averaged alike would give M times the Stein direction. The ridge ε, relative to the diagonal of the
kernel matrix (which is 1), keeps the inverse from magnifying what the kernel cannot resolve: a
smaller one follows the cloud more closely and asks for smaller steps. The whole kernel matrix is
factored, so that particles are limited to 4096.

Reference: Liu, Zhuo, Cheng, Zhang, Zhu, Carin, ICML 2019.
"""

import jax
import optax

from spos import checks
from spos.dynamics.moves import Drift
from spos.dynamics.preconditioners import Preconditioner
from spos.dynamics.sampler import Flow
from spos.dynamics.schedules import StepSize
from spos.interaction.diffusion import RIDGE, check_diffusion, diffuse
from spos.interaction.kernels import Kernel, rbf
from spos.targets.target import TargetLike
from spos.types import Number, Particles, State
from spos.values import value


@value
class GFSF(Flow):
    """The sampler of the module's text; see `gfsf`."""

    ridge: Number = RIDGE

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(*diffuse(self.kernel, "gfsf", state, scores, ridge=self.ridge))


def gfsf(
    target: TargetLike,
    step_size: StepSize | None = None,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    ridge: Number = RIDGE,
    preconditioner: Preconditioner | None = None,
    optimizer: optax.GradientTransformation | None = None,
) -> GFSF:
    """Gradient flow with smoothed functions (GFSF): deterministic particles.

    A step of size h is::

        θ += h · (s + u),        (K + εI) u = Σ_j ∇_j k_ij

    with the scores s, the kernel matrix K and the ridge ε (Liu et al., ICML 2019).

    Args:
        target: a log-density of one particle, or a target such as `spos.posterior` gives.
        step_size: a number above 0, or a schedule (`spos.schedules`, optax).
        kernel: `spos.rbf(...)`, `spos.imq(...)` or another `spos.Kernel`.
        ridge: ε, relative to the diagonal of the kernel matrix.
        preconditioner: `spos.rmsprop(...)`, `spos.adagrad(...)`, `spos.adam(...)`,
            `spos.ensemble()` or None.
        optimizer: an optax optimizer that takes the direction as its gradient, instead of
            `step_size` and `preconditioner`.

    Returns:
        The sampler.

    Example:
        >>> sampler = spos.gfsf(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> spos.sample(sampler, jnp.ones((50, 2)), num_steps=20).num_steps
        20
    """
    check_diffusion(kernel, "gfsf")
    ridge = checks.positive("ridge", ridge)
    return GFSF.flow(target, step_size, kernel, preconditioner, optimizer, ridge=ridge)
