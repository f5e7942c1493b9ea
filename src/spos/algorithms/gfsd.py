"""GFSD: the gradient flow with a smoothed density.

    θ_i += h · (s_i - Σ_j ∇_i k_ij / Σ_l k_il)

Langevin dynamics without its noise: the kernel term is -∇ log ν at θ_i for the density ν of the
particles smoothed by the kernel. Where the target is Gaussian and particles are many, the smoothed
density and not the particles takes its shape, so that the cloud is too narrow by about the kernel's
variance, η²/2 in each direction.

Reference: Liu, Zhuo, Cheng, Zhang, Zhu, Carin, ICML 2019.
"""

from typing import Any

from spos.dynamics.step import Preconditioner, build_sampler, noiseless
from spos.interaction import descent
from spos.interaction.kernels import Kernel, rbf
from spos.targets.target import as_target
from spos.types import Sampler


def gfsd(
    target: Any,
    step_size: Any = None,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    preconditioner: Preconditioner | None = None,
    optimizer: Any = None,
) -> Sampler:
    """Deterministic particles that descend their smoothed density; arguments as in `spos.svgd`."""
    return build_sampler(
        as_target(target),
        descent(kernel, "gfsd"),
        *noiseless(step_size, preconditioner, optimizer),
        {
            "algorithm": "gfsd",
            "step_size": step_size,
            "kernel": kernel,
            "preconditioner": preconditioner,
            "optimizer": optimizer,
        },
    )
