"""Where a posterior is highest."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from spos import checks
from spos.cloud import norm
from spos.programs import compiled
from spos.targets.batches import all_rows
from spos.targets.passes import streamed_value_and_grad
from spos.targets.posterior import Posterior, as_particles
from spos.targets.reduced import must_know_rows
from spos.targets.source import Source
from spos.types import PyTree

FLAT = 1e-4  # of the first gradient's length
HALVINGS = 20


def find_mode(posterior: Posterior, start: PyTree, num_steps: int = 100) -> PyTree:
    """A mode near `start`, by L-BFGS on all the data.

    Args:
        posterior: what `spos.posterior` gives. Data of a source are streamed: a step takes one pass
            over them, rarely more.
        start: one particle.
        num_steps: at most; it stops before when the gradient is 10⁻⁴ of what it was at the start.

    Returns:
        One particle.

    Example:
        >>> y = np.linspace(-1.0, 1.0, 200)
        >>> log_likelihood = lambda theta, batch: -0.5 * (batch - theta) ** 2
        >>> posterior = spos.posterior(log_likelihood, lambda theta: 0.0, y)
        >>> abs(float(spos.find_mode(posterior, jnp.array(1.0)))) < 1e-3
        True
    """
    must_know_rows(posterior)
    checks.whole("num_steps", num_steps)
    theta = jax.tree.map(lambda leaf: leaf[0], as_particles("start", start))
    if isinstance(posterior.data, Source):
        return _climb_a_source(num_steps, posterior, theta)
    return _climb(num_steps, posterior, theta)


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

    first = _length(jax.grad(height_to_lose)(start))

    def body(carry: Any) -> Any:
        step, theta, state, _ = carry
        value, gradient = value_and_grad(theta, state=state)
        updates, state = optimizer.update(
            gradient, state, theta, value=value, grad=gradient, value_fn=height_to_lose
        )
        return step + 1, optax.apply_updates(theta, updates), state, _length(gradient)

    def goes_on(carry: Any) -> jax.Array:
        step, _, _, steepness = carry
        return (step < num_steps) & (steepness > FLAT * first)

    begin = (jnp.zeros((), jnp.int32), start, optimizer.init(start), first)
    return jax.lax.while_loop(goes_on, body, begin)[1]


def _climb_a_source(num_steps: int, posterior: Posterior, theta: PyTree) -> PyTree:
    """The same with the line search on the host, where the passes are: a step is halved until it is
    worth taking."""
    lbfgs = optax.scale_by_lbfgs()
    state = lbfgs.init(theta)
    loss, gradient = _streamed_loss(posterior, theta)
    first = _length(gradient)
    for _ in range(num_steps):
        if _length(gradient) <= FLAT * first:
            break
        ahead, state = lbfgs.update(gradient, state, theta)
        slope = sum(map(jnp.vdot, jax.tree.leaves(ahead), jax.tree.leaves(gradient)))
        for share in 0.5 ** np.arange(HALVINGS):
            there = optax.apply_updates(theta, optax.tree.scale(-share, ahead))
            found = _streamed_loss(posterior, there)
            if found[0] <= loss - 1e-4 * share * float(slope):
                break
        else:
            break  # rounding cannot tell a better place from this one
        theta, (loss, gradient) = there, found
    return theta


def _streamed_loss(posterior: Posterior, theta: PyTree) -> tuple[float, PyTree]:
    """-log p an example, and its gradient."""
    value, slope = streamed_value_and_grad(posterior, theta)
    total = posterior.num_examples
    return -value / total, jax.tree.map(lambda s, t: jnp.asarray(-s / total, t.dtype), slope, theta)


def _length(gradient: PyTree) -> jax.Array:
    return norm(jax.tree.map(lambda leaf: leaf[None], gradient))
