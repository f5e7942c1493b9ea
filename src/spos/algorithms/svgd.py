"""SVGD: Stein variational gradient descent.

    θ_i += h · stein_i,     stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]

Deterministic: scores are shared through the kernel, whose gradient keeps particles apart. One
particle climbs to the mode. As the dimension grows past the number of particles the repulsion
weakens and the cloud loses variance; `spos.spos` is the remedy.

Reference: Liu and Wang, NIPS 2016.
"""

from typing import Any

from spos.dynamics.ensemble import Ensemble
from spos.dynamics.step import Preconditioner, build_sampler, noiseless
from spos.interaction import stein
from spos.interaction.kernels import Kernel, rbf
from spos.targets.target import as_target
from spos.types import Sampler


def svgd(
    target: Any,
    step_size: Any = None,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    group_size: int | None = None,
    preconditioner: Preconditioner | Ensemble | None = None,
    optimizer: Any = None,
) -> Sampler:
    """Interacting particles without noise; arguments as in `spos.spos`.

    Instead of `step_size`, any optax `optimizer` may take the Stein direction as its gradient.
    """
    return build_sampler(
        as_target(target),
        stein(kernel, group_size),
        *noiseless(step_size, preconditioner, optimizer),
        {
            "algorithm": "svgd",
            "step_size": step_size,
            "kernel": kernel,
            "group_size": group_size,
            "preconditioner": preconditioner,
            "optimizer": optimizer,
        },
    )
