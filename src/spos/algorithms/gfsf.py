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

from typing import Any

from spos.dynamics.step import Preconditioner, build_sampler, noiseless
from spos.interaction import RIDGE, descent
from spos.interaction.kernels import Kernel, rbf
from spos.targets.target import as_target
from spos.types import Sampler


def gfsf(
    target: Any,
    step_size: Any = None,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    ridge: float = RIDGE,
    preconditioner: Preconditioner | None = None,
    optimizer: Any = None,
) -> Sampler:
    """Deterministic particles that follow a smoothed field; arguments as in `spos.svgd`, and
    `ridge` for ε."""
    return build_sampler(
        as_target(target),
        descent(kernel, "gfsf", ridge=ridge),
        *noiseless(step_size, preconditioner, optimizer),
        {
            "algorithm": "gfsf",
            "step_size": step_size,
            "kernel": kernel,
            "ridge": ridge,
            "preconditioner": preconditioner,
            "optimizer": optimizer,
        },
    )
