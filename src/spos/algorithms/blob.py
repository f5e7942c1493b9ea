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

from typing import Any

from spos.dynamics.step import Preconditioner, build_sampler, noiseless
from spos.interaction import descent
from spos.interaction.kernels import Kernel, rbf
from spos.targets.target import as_target
from spos.types import Sampler


def blob(
    target: Any,
    step_size: Any = None,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    preconditioner: Preconditioner | None = None,
    optimizer: Any = None,
) -> Sampler:
    """Deterministic particles that a smoothed entropy keeps apart; arguments as in `spos.svgd`."""
    return build_sampler(
        as_target(target),
        descent(kernel, "blob"),
        *noiseless(step_size, preconditioner, optimizer),
        {
            "algorithm": "blob",
            "step_size": step_size,
            "kernel": kernel,
            "preconditioner": preconditioner,
            "optimizer": optimizer,
        },
    )
