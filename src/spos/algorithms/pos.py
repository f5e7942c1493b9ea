"""POS: particle optimization, the equation of SPOS solved without noise.

    θ_i += (h/β) (s_i + u_i) + h · stein_i,     stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]

The density of SPOS obeys an equation whose diffusion, of weight 1/β, can be had by noise or by the
velocity -∇ log ν. Here u stands for that velocity, by "blob", "gfsd" or "gfsf"
(`spos.interaction`): what SPOS improves on, since noise needs no smoothing and does not fade in
high dimensions. β → ∞ is SVGD, and without the Stein direction this is `spos.blob`, `spos.gfsd` or
`spos.gfsf`.

Reference: Zhang, Zhang, Carin, Chen, AISTATS 2020.
"""

from typing import Any

from spos import checks
from spos.dynamics.step import Preconditioner, build_sampler, noiseless
from spos.interaction import Diffusion, descent
from spos.interaction.kernels import Kernel, rbf
from spos.targets.target import as_target
from spos.types import Sampler


def pos(
    target: Any,
    step_size: Any = None,
    beta: Any = 1.0,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    diffusion: Diffusion = "blob",
    preconditioner: Preconditioner | None = None,
    optimizer: Any = None,
) -> Sampler:
    """Deterministic particles with both interactions; arguments as in `spos.spos` and `spos.svgd`,
    and `diffusion` for the way in which the cloud's density is smoothed."""
    weight = 1.0 / checks.positive("beta", beta)
    return build_sampler(
        as_target(target),
        descent(kernel, diffusion, weight=weight, stein=True),
        *noiseless(step_size, preconditioner, optimizer),
        {
            "algorithm": "pos",
            "step_size": step_size,
            "beta": beta,
            "kernel": kernel,
            "diffusion": diffusion,
            "preconditioner": preconditioner,
            "optimizer": optimizer,
        },
    )
