"""SVGD: Stein variational gradient descent.

    θ_i += h · stein_i,     stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]

Deterministic: scores are shared through the kernel, whose gradient keeps particles apart. One
particle climbs to the mode. As the dimension grows past the number of particles the repulsion
weakens and the cloud loses variance; `spos.spos` is the remedy.

Reference: Liu and Wang, NIPS 2016.
"""

import jax
import optax

from spos import checks
from spos.dynamics.moves import Drift
from spos.dynamics.preconditioners import Preconditioner
from spos.dynamics.sampler import Flow
from spos.dynamics.schedules import StepSize
from spos.interaction.kernels import Kernel, check_kernel, rbf
from spos.interaction.stein_direction import stein
from spos.targets.target import TargetLike
from spos.types import Particles, State
from spos.values import static, value


@value
class SVGD(Flow):
    """The sampler of the module's text; see `svgd`."""

    group_size: int | None = static(default=None)

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(*stein(self.kernel, key, state, scores, self.group_size))


def svgd(
    target: TargetLike,
    step_size: StepSize | None = None,
    *,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    group_size: int | None = None,
    preconditioner: Preconditioner | None = None,
    optimizer: optax.GradientTransformation | None = None,
) -> SVGD:
    """Stein variational gradient descent (SVGD): interacting particles without noise.

    A step of size h is::

        θ_i += h · (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]

    with the scores s and the kernel k (Liu and Wang, NIPS 2016). In many dimensions the cloud loses
    variance, and `spos.spos` does not.

    Args:
        target: a log-density of one particle, or a target such as `spos.posterior` gives.
        step_size: a number above 0, or a schedule (`spos.schedules`, optax).
        kernel: `spos.rbf(...)`, `spos.imq(...)` or another `spos.Kernel`.
        group_size: with b, each step lets particles interact only within random groups of b: O(M b)
            work instead of O(M²), unbiased.
        preconditioner: `spos.rmsprop(...)`, `spos.adagrad(...)`, `spos.adam(...)`,
            `spos.ensemble()` or None.
        optimizer: an optax optimizer that takes the direction as its gradient, instead of
            `step_size` and `preconditioner`.

    Returns:
        The sampler.

    Example:
        >>> sampler = spos.svgd(lambda x: -0.5 * (x**2).sum(), optimizer=optax.adam(0.1))
        >>> sampler.algorithm
        'svgd'
    """
    check_kernel(kernel)
    if group_size is not None:
        checks.whole("group_size", group_size, at_least=2)
    return SVGD.flow(target, step_size, kernel, preconditioner, optimizer, group_size=group_size)
