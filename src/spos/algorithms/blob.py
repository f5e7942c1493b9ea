"""Blob: the flow of a density to its target, with diffusion by a smoothed entropy (w-SGLD-B).

    θ_i += h · (s_i - Σ_j ∇_i k_ij / Σ_l k_il - Σ_j ∇_i k_ij / Σ_l k_jl)

Langevin dynamics without its noise: the kernel terms take the place of -∇ log ν, the velocity by
which noise would spread the density ν of the particles. They are the gradient of one energy, so
that the cloud comes to rest where

    Σ_i [ log (1/M) Σ_j k_ij - log p(θ_i) ]

is least. The kernel's width biases that: directions of the target that are narrower than the kernel
lose most of their variance (`tests/test_family.py` has the numbers).

References: Chen et al., UAI 2018; Carrillo, Craig, Patacchini, 2019.
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
class Blob(Flow):
    """The sampler of the module's text; see `blob`."""

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(*diffuse(self.kernel, "blob", state, scores))


def blob(
    target: TargetLike,
    step_size: StepSize | None = None,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    preconditioner: Preconditioner | None = None,
    optimizer: optax.GradientTransformation | None = None,
) -> Blob:
    """The blob method: deterministic particles that a smoothed entropy keeps apart.

    A step of size h is::

        θ_i += h · (s_i - Σ_j ∇_i k_ij / Σ_l k_il - Σ_j ∇_i k_ij / Σ_l k_jl)

    with the scores s and the kernel k (Chen et al., UAI 2018; Carrillo, Craig and Patacchini,
    2019).

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
        >>> sampler = spos.blob(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> spos.sample(sampler, jnp.ones((50, 2)), num_steps=20).num_steps
        20
    """
    check_diffusion(kernel, "blob")
    return Blob.flow(target, step_size, kernel, preconditioner, optimizer)
