"""Natural gradients: a gradient in the metric of the policy's own distribution over actions.

    (F + δ I) x = g,        F = E[∇ log π ∇ log πᵀ]

F is the mean over rows of episodes that the policy itself played, and is never built: a product
F v is a derivative along v and one back. A few steps of conjugate gradients solve the equation; δ
keeps directions in which the policy hardly changes from being walked without end.

To walk along x is to walk along the gradient with F⁻¹ as preconditioner: the step no longer depends
on how the network writes its policy. Noise and repulsion know nothing of it, so that with it the
particles of a sampler are no longer balanced around q; it is for learning fast.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from spos.types import Number, PyTree
from spos.values import Value, value

SOLVER_STEPS = 10
ROWS = 1024  # about so many are used for F: a metric needs fewer than a gradient


@value
class NaturalGradient(Value):
    """The metric; `damping` is δ."""

    damping: Number

    def solve(
        self,
        logs: Callable[[PyTree], jax.Array],
        counted: jax.Array,
        theta: PyTree,
        gradient: PyTree,
    ) -> PyTree:
        """x.

        Args:
            logs: from θ to log π of rows.
            counted: 1 for rows that count, 0 for the others.
            theta: the policy.
            gradient: g.

        Returns:
            The natural gradient, a pytree like θ.
        """
        _, forward = jax.linearize(logs, theta)
        back = jax.linear_transpose(forward, theta)
        share = counted / jnp.maximum(jnp.sum(counted), 1.0)

        def damped(v: PyTree) -> PyTree:
            (product,) = back(share * forward(v))
            return jax.tree.map(lambda f, u: f + self.damping * u, product, v)

        return jax.scipy.sparse.linalg.cg(damped, gradient, maxiter=SOLVER_STEPS)[0]
