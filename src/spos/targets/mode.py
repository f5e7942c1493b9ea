"""Where a posterior is highest."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from spos import checks
from spos.cloud import norm
from spos.programs import compiled
from spos.targets.posterior import Posterior, all_rows, as_particles, must_be_posterior
from spos.types import PyTree

FLAT = 1e-4  # of the first gradient's length


def find_mode(posterior: Posterior, start: PyTree, num_steps: int = 100) -> PyTree:
    """A mode near `start`, by L-BFGS on all the data.

    Args:
        posterior: what `spos.posterior` gives.
        start: one particle.
        num_steps: at most; it stops before when the gradient is 10⁻⁴ of what it was at the start.

    Returns:
        One particle.
    """
    must_be_posterior(posterior)
    checks.whole("num_steps", num_steps)
    one = as_particles(start)
    return _climb(num_steps, posterior, jax.tree.map(lambda leaf: leaf[0], one))


@compiled(1)
def _climb(num_steps: int, posterior: Posterior, start: PyTree) -> PyTree:
    def height_to_lose(theta: PyTree) -> jax.Array:
        # an average per example, which keeps the line search clear of rounding
        return -posterior.log_prob(theta, all_rows(posterior.data).batch) / posterior.num_examples

    return descend(height_to_lose, start, num_steps)


def descend(height_to_lose: Callable[[PyTree], jax.Array], start: PyTree, num_steps: int) -> PyTree:
    """Where a function is lowest near `start`, by at most so many steps of L-BFGS."""
    optimizer = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(height_to_lose)

    def length(gradient: PyTree) -> jax.Array:
        return norm(jax.tree.map(lambda leaf: leaf[None], gradient))

    first = length(jax.grad(height_to_lose)(start))

    def body(carry: Any) -> Any:
        step, theta, state, _ = carry
        value, gradient = value_and_grad(theta, state=state)
        updates, state = optimizer.update(
            gradient, state, theta, value=value, grad=gradient, value_fn=height_to_lose
        )
        return step + 1, optax.apply_updates(theta, updates), state, length(gradient)

    def goes_on(carry: Any) -> jax.Array:
        step, _, _, steepness = carry
        return (step < num_steps) & (steepness > FLAT * first)

    begin = (jnp.zeros((), jnp.int32), start, optimizer.init(start), first)
    return jax.lax.while_loop(goes_on, body, begin)[1]
