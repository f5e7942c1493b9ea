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

from typing import Any

from spos.dynamics.schedules import as_schedule
from spos.dynamics.step import build_sampler, langevin
from spos.interaction import kernel_root, stein
from spos.interaction.kernels import Kernel
from spos.targets.target import as_target
from spos.types import Sampler


def noisy_svgd(target: Any, step_size: Any, *, kernel: Kernel) -> Sampler:
    """Interacting particles whose noise has the kernel as its covariance; arguments as in
    `spos.spos`, with a kernel of fixed bandwidth such as `spos.rbf(1.0)`."""
    drift = stein(kernel)
    if isinstance(kernel.bandwidth, str):
        raise ValueError(
            "kernel must have a number as its bandwidth: with a rule the law would not be exact, "
            f"got {kernel!r}"
        )
    return build_sampler(
        as_target(target),
        drift,
        langevin(1.0, None, kernel_root(kernel)),
        as_schedule("step_size", step_size),
        {"algorithm": "noisy_svgd", "step_size": step_size, "kernel": kernel},
    )
