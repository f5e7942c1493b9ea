"""A posterior from a likelihood, a prior and data, with minibatch scores.

    score(θ; batch) = Σ_q w_q ∇ log p(x_q | θ) + ∇ log p(θ),      w_q = N / B

The batch of a step is drawn on the device and shared by all particles; the prior counts once. Every
example is as likely as any other to be in the batch, so that the score is unbiased, with
replacement or without.

**Without replacement** needs B distinct rows at a cost that does not grow with N (a shuffle of N
rows each step would). A keyed Feistel network is a bijection of {0 … 2^b - 1}; following it until
it lands below N makes it a bijection of {0 … N - 1}, evaluated only at 0 … B - 1. A last rotation
by a uniform offset modulo N makes each row exactly equally likely.

**A growing batch** (`spos.schedules.growing_batch`) has the memory of its maximum from the start:
rows beyond the present size are weighted 0, so that nothing is compiled anew.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp

from spos import checks
from spos.schedules import BatchSchedule
from spos.score import score_particles
from spos.types import Batch, Particles, PyTree

FEISTEL_ROUNDS = 6


class Posterior:
    """See `posterior`."""

    def __init__(
        self, log_likelihood: Any, log_prior: Any, data: PyTree, batch: BatchSchedule, replace: bool
    ) -> None:
        self.data = data
        self.num_examples = _length(data)
        self.batch = batch
        self.replace = replace
        self._log_likelihood = log_likelihood
        self._log_prior = log_prior

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        examples, weights = self._as_batch(batch)
        terms = self._log_likelihood(theta, examples)
        size = _length(examples)
        checks.log_prob_output("log_likelihood", terms, (size,), f"one value for each of {size}")
        prior = self._log_prior(theta)
        checks.log_prob_output("log_prior", prior, (), "one number")
        return jnp.sum(weights.astype(terms.dtype) * terms) + prior

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        return score_particles(self.log_prob, particles, self._as_batch(batch))

    def draw(self, key: jax.Array, step: jax.Array | int = 0, data: PyTree = None) -> Batch:
        """The weighted minibatch of a step, from `data` of the same form or the posterior's own."""
        data = self.data if data is None else data
        total, most = _length(data), self.batch.maximum
        if most == total and self.batch.initial == total and not self.replace:
            return Batch(data, jnp.ones(total))
        if self.replace:
            rows = jax.random.randint(key, (most,), 0, total)
        else:
            rows = distinct(key, most, total)
        size = self.batch.size(jnp.asarray(step))
        weights = jnp.where(jnp.arange(most) < size, total / size, 0.0)
        return Batch(jax.tree.map(lambda leaf: leaf[rows], data), weights)

    def _as_batch(self, batch: PyTree) -> Batch:
        if isinstance(batch, Batch):
            return batch
        examples = self.data if batch is None else batch
        size = _length(examples)
        return Batch(examples, jnp.full(size, self.num_examples / size))


def posterior(
    log_likelihood: Any,
    log_prior: Any,
    data: PyTree,
    batch_size: int | BatchSchedule | None = None,
    *,
    replace: bool = False,
) -> Posterior:
    """The posterior as a target.

    `log_likelihood(theta, batch)` gives one value per example of the batch, `log_prior(theta)` one
    number, for one particle `theta`. `data` is a pytree of arrays with a leading axis of examples.
    `batch_size=None` uses all the data in every step.
    """
    checks.function("log_likelihood", log_likelihood)
    checks.function("log_prior", log_prior)
    data = checks.data(data)
    total = _length(data)
    if batch_size is None:
        if replace:
            raise ValueError("replace must be False when batch_size is None: all data are used")
        batch_size = total
    if not isinstance(batch_size, BatchSchedule):
        size = checks.whole("batch_size", batch_size)
        batch_size = BatchSchedule(size, size)
    if batch_size.initial > total:
        raise ValueError(
            f"batch_size must be at most the {total} examples there are, got {batch_size.initial}"
        )
    batch_size = batch_size._replace(maximum=min(batch_size.maximum, total))
    return Posterior(log_likelihood, log_prior, data, batch_size, bool(replace))


def distinct(key: jax.Array, count: int, total: int) -> jax.Array:
    """`count` different numbers below `total`, in O(count) work, each number equally likely."""
    half_bits = max(1, math.ceil(math.log2(max(total, 2)) / 2))
    mask = jnp.uint32((1 << half_bits) - 1)
    round_key, offset_key = jax.random.split(key)
    keys = jax.random.bits(round_key, (FEISTEL_ROUNDS,), jnp.uint32)

    def scramble(x: jax.Array) -> jax.Array:
        left, right = x >> half_bits, x & mask
        for n in range(FEISTEL_ROUNDS):
            left, right = right, left ^ (_mix(right ^ keys[n]) & mask)
        return (left << half_bits) | right

    def walk(x: jax.Array) -> jax.Array:
        return jnp.where(x >= total, scramble(x), x)

    inside = jax.lax.while_loop(
        lambda x: jnp.any(x >= total), walk, scramble(jnp.arange(count, dtype=jnp.uint32))
    )
    offset = jax.random.randint(offset_key, (), 0, total)
    return (inside.astype(jnp.int32) - (total - offset)) % total


def _mix(x: jax.Array) -> jax.Array:
    """A 32-bit finaliser: every input bit sways every output bit."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)


def _length(data: PyTree) -> int:
    return jax.tree.leaves(data)[0].shape[0]
