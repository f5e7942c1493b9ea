"""Scores that use the last gradient seen of every example.

    score = ∇ log p(θ) + Σ_n a_n + Σ_q w_q (g_q(θ) - a_q),      then a_q ← g_q(θ) for the batch

Each particle has a table a_n of its own, with one gradient for each example. It begins with zeros,
so that the first steps are those of the plain score and examples gain as they are met; nothing but
the batch is ever evaluated: M B gradients of examples in a step.

The price is memory: M·N·d numbers. That is refused above `max_bytes`, and a checkpoint contains it.
The running sum of the table gathers rounding errors like a random walk; they stay a few units of
the last digit times the root of the number of steps.

References: Defazio, Bach and Lacoste-Julien, NIPS 2014; Dubey et al., NIPS 2016.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.targets.batches import Drawn, num_rows
from spos.targets.posterior import Posterior
from spos.targets.reduced import ReducedPosterior, must_know_rows
from spos.types import Particles, PyTree
from spos.values import static, value


class Table(NamedTuple):
    """The last gradients, an axis of N examples before that of the particles, and their sum."""

    gradients: PyTree
    total: Particles


@value
class SAGA(ReducedPosterior):
    """See `saga`."""

    max_bytes: int = static(default=2**30)

    name: ClassVar[str] = "saga"

    def first_memory(self, particles: Particles) -> Table:
        total = self.num_examples
        needed = total * sum(leaf.nbytes for leaf in jax.tree.leaves(particles))
        if needed > self.max_bytes:
            raise ValueError(
                f"max_bytes must be at least {needed} to keep a gradient of each of {total} "
                f"examples for every particle, got {self.max_bytes}; spos.svrg and "
                "spos.control_variate need no such table"
            )
        zeros = jax.tree.map(jnp.zeros_like, particles)
        table = jax.tree.map(lambda leaf: jnp.zeros((total, *leaf.shape), leaf.dtype), zeros)
        return Table(table, zeros)

    def estimate(
        self, memory: Table, particles: Particles, drawn: Drawn
    ) -> tuple[Particles, Table]:
        total = num_rows(memory.gradients)
        if self.num_examples != total:
            raise ValueError(
                f"data must have {total} examples like those that the run began with: saga has a "
                f"place for each of them, got {self.num_examples}"
            )
        (examples, weights), rows, _ = drawn
        seen = _first_of_each(rows, weights > 0)
        places = jnp.where(seen, rows, total)  # beyond the table: not written
        fresh = self.posterior.example_scores(particles, examples)
        change = jax.tree.map(lambda new, old: new - old[rows], fresh, memory.gradients)
        prior = self.posterior.prior_score(particles)
        scores = jax.tree.map(
            lambda p, known, d: p + known + _over_batch(weights, d),
            prior,
            memory.total,
            change,
        )
        # adding the change, not setting the new value: only then does XLA know that the table was
        # read before it is written, and write in place instead of copying all of it in every step
        table = jax.tree.map(
            lambda old, d: old.at[places].add(d, mode="drop"), memory.gradients, change
        )
        known = jax.tree.map(lambda t, d: t + _over_batch(seen, d), memory.total, change)
        return scores, Table(table, known)

    def gradient_evaluations(self, num_steps: int, num_particles: int = 1) -> int:
        return self.posterior.gradient_evaluations(num_steps, num_particles)


def saga(posterior: Posterior, *, max_bytes: int = 2**30) -> SAGA:
    """The posterior with scores that remember the last gradient of every example.

    With a_n the gradient that was last seen of example n, g_q and w_q the gradients and weights of
    those in the batch, the score of a step is::

        ∇ log p(θ) + Σ_n a_n + Σ_q w_q (g_q(θ) - a_q)

    (Defazio, Bach and Lacoste-Julien, NIPS 2014; Dubey et al., NIPS 2016).

    Args:
        posterior: what `spos.posterior` gives.
        max_bytes: the memory that the table of gradients may take.

    Returns:
        The target.

    Example:
        >>> y = np.linspace(-1.0, 1.0, 200)
        >>> log_likelihood = lambda theta, batch: -0.5 * (batch - theta) ** 2
        >>> posterior = spos.posterior(log_likelihood, lambda theta: 0.0, y, batch_size=10)
        >>> sampler = spos.sgld(spos.saga(posterior), step_size=1e-3)
        >>> spos.sample(sampler, jnp.zeros(50), num_steps=20).num_steps
        20
    """
    must_know_rows(posterior)
    return SAGA(posterior, checks.whole("max_bytes", max_bytes))


def _first_of_each(rows: jax.Array, counts: jax.Array) -> jax.Array:
    """True once for every row that counts: a batch with replacement may hold it again."""
    same_as_earlier = jnp.tril(rows[:, None] == rows[None, :], -1) & counts[None, :]
    return counts & ~same_as_earlier.any(axis=1)


def _over_batch(weights: jax.Array, change: jax.Array) -> jax.Array:
    """Σ_q w_q change_q, as a product: XLA sums over a leading axis slowly on CPUs."""
    return jnp.tensordot(weights.astype(change.dtype), change, axes=1)
