"""SVGD: Stein variational gradient descent.

    θ_i += h · stein_i,     stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]

Deterministic: scores are shared through the kernel, whose gradient keeps particles apart. One
particle climbs to the mode. As the dimension grows past the number of particles the repulsion
weakens and the cloud loses variance; `spos.spos` is the remedy.

Reference: Liu and Wang, NIPS 2016.
"""

import math
from typing import Any

from spos.dynamics import Preconditioner, build_sampler, langevin, optimize
from spos.interaction import stein
from spos.kernels import Kernel, rbf
from spos.schedules import as_schedule
from spos.score import as_target
from spos.types import Sampler


def svgd(
    target: Any,
    step_size: Any = None,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    group_size: int | None = None,
    preconditioner: Preconditioner | None = None,
    optimizer: Any = None,
) -> Sampler:
    """Interacting particles without noise; arguments as in `spos.spos`.

    Instead of `step_size`, any optax `optimizer` may take the Stein direction as its gradient.
    """
    if optimizer is None:
        if step_size is None:
            raise ValueError("step_size must be given unless an optimizer is, got None")
        schedule, move = as_schedule("step_size", step_size), langevin(None, preconditioner)
    else:
        if step_size is not None or preconditioner is not None:
            raise ValueError(
                "step_size and preconditioner must be left out when an optimizer is given: "
                f"it has its own, got step_size={step_size!r}, preconditioner={preconditioner!r}"
            )
        schedule, move = (lambda step: math.nan), optimize(optimizer)
    return build_sampler(
        as_target(target),
        stein(kernel, group_size),
        move,
        schedule,
        {
            "algorithm": "svgd",
            "step_size": step_size,
            "kernel": kernel,
            "group_size": group_size,
            "preconditioner": preconditioner,
            "optimizer": optimizer,
        },
    )
