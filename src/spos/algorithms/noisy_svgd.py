"""Noisy SVGD: Stein variational gradient descent with the noise that makes it exact.

    θ += h · stein + sqrt(2h/M) K^(1/2) ξ,      stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]

K is the kernel matrix of the particles and acts across them; each coordinate has noise of its own.
The M particles together are then one Langevin diffusion, preconditioned by K/M, whose law is the
product of M targets: for every M, particles are independent draws from the target, up to the step's
bias of order h. SPOS has one of order 1/M beside. The price is speed: particles share little noise
with directions that the kernel does not see, and those relax slowly.

The bandwidth must be a number, for a rule that looks at the particles would add a term to the
diffusion that nobody computes. The whole kernel matrix is factored, so that particles are limited
to 4096, and a step costs O(M³); the factor is of K + δI, with a δ of 1e-6 M in float32.

Reference: Gallego, Insua, 2018 (stochastic gradient MCMC with repulsive forces).
"""

from typing import ClassVar

import jax

from spos.dynamics.moves import Drift, Langevin, Move
from spos.dynamics.sampler import Sampler, required
from spos.dynamics.schedules import StepSize
from spos.interaction.kernels import Kernel, check_kernel
from spos.interaction.stein_direction import stein
from spos.targets.target import TargetLike
from spos.types import Particles, State
from spos.values import value


@value
class NoisySVGD(Sampler):
    """The sampler of the module's text; see `noisy_svgd`."""

    kernel: Kernel

    name: ClassVar[str] = "noisy_svgd"

    @property
    def noise(self) -> float:
        return 1.0

    @property
    def move(self) -> Move:
        return Langevin(self.noise, kernel=self.kernel)

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(*stein(self.kernel, key, state, scores))


def noisy_svgd(
    target: TargetLike, step_size: StepSize | None = None, *, kernel: Kernel
) -> NoisySVGD:
    """SVGD with noise whose covariance is the kernel: exact for any number of particles.

    A step of size h is::

        θ += h · stein + sqrt(2h/M) K^(1/2) ξ,      stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]

    with the scores s, the kernel matrix K and standard normal ξ (Gallego and Insua, 2018).

    Args:
        target: a log-density of one particle, or a target such as `spos.posterior` gives.
        step_size: a number above 0, or a schedule (`spos.schedules`, optax).
        kernel: with a fixed bandwidth, such as `spos.rbf(1.0)`.

    Returns:
        The sampler.

    Example:
        >>> log_prob = lambda x: -0.5 * (x**2).sum()
        >>> sampler = spos.noisy_svgd(log_prob, step_size=0.1, kernel=spos.rbf(1.0))
        >>> spos.sample(sampler, jnp.ones((50, 2)), num_steps=20).num_steps
        20
    """
    if not check_kernel(kernel).fixed:
        raise ValueError(
            "kernel must have a fixed bandwidth, a number: with a rule the law would not be exact, "
            f"got {kernel!r}"
        )
    return NoisySVGD.of(target, required(step_size), kernel=kernel)
