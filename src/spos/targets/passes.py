"""Full passes over a source: sums over all its rows, a block at a time, read ahead of the sums.

Blocks are added in double precision on the host. A pass therefore gives what the same rows in
memory would, up to rounding.
"""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from spos.io.ahead import read_ahead
from spos.programs import compiled
from spos.targets.posterior import Posterior
from spos.targets.random_access import RandomAccess
from spos.targets.source import detached
from spos.targets.target import score_particles
from spos.types import Batch, Particles, PyTree

BLOCK_BYTES = 2**24
BLOCK_ROWS = 2**16  # at most: each row costs memory for every particle


def streamed_score(posterior: Posterior, particles: Particles) -> Particles:
    """The exact scores: one pass over the rows, and the prior once."""
    program = detached(posterior)
    total = _sum(posterior, lambda batch: _likelihood_score(program, particles, batch))
    prior = posterior.prior_score(particles)
    return jax.tree.map(lambda p, t: p + jnp.asarray(t, p.dtype), prior, total)


def streamed_value_and_grad(posterior: Posterior, theta: PyTree) -> tuple[float, PyTree]:
    """The log-density of one particle and its gradient, in double precision."""
    program = detached(posterior)
    value, slope = _sum(posterior, lambda batch: _likelihood(program, theta, batch))
    prior, prior_slope = jax.value_and_grad(lambda t: jnp.asarray(posterior.log_prior(t)))(theta)
    return float(value + prior), jax.tree.map(lambda a, b: a + np.asarray(b), slope, prior_slope)


def _sum(posterior: Posterior, of: Callable[[Batch], PyTree]) -> PyTree:
    total: PyTree = None
    with read_ahead(_blocks(posterior.data)) as batches:
        for batch in batches:
            part = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), of(batch))
            total = part if total is None else jax.tree.map(np.add, total, part)
    return total


def _blocks(source: RandomAccess) -> Iterator[Batch]:
    """All rows in blocks of one size; the last one is filled up with rows of weight 0."""
    total = source.num_examples
    room = min(total, BLOCK_ROWS, max(1, BLOCK_BYTES // max(1, source.form.nbytes)))
    for begin in range(0, total, room):
        rows = np.arange(begin, begin + room)
        examples = source.take(rows[rows < total])
        if begin + room > total:
            inside = np.minimum(rows, total - 1) - begin
            examples = jax.tree.map(lambda leaf, i=inside: leaf[i], examples)
        yield jax.tree.map(jnp.asarray, Batch(examples, jnp.asarray(rows < total, jnp.float32)))


def _log_likelihood(posterior: Posterior, theta: PyTree, batch: Batch) -> jax.Array:
    terms = posterior.log_likelihood(theta, batch.examples)
    return jnp.sum(batch.weights.astype(terms.dtype) * terms)


@compiled()
def _likelihood_score(posterior: Posterior, particles: Particles, batch: Batch) -> Particles:
    return score_particles(lambda t, b: _log_likelihood(posterior, t, b), particles, batch)


@compiled()
def _likelihood(posterior: Posterior, theta: PyTree, batch: Batch) -> tuple[jax.Array, PyTree]:
    return jax.value_and_grad(lambda t: _log_likelihood(posterior, t, batch))(theta)
