"""A posterior from a likelihood, a prior and data, with minibatch scores.

    score(θ; batch) = Σ_q w_q ∇ log p(x_q | θ) + ∇ log p(θ),      w_q = N / B

The batch of a step is drawn on the device and shared by all particles; the prior counts once. Every
example is as likely as any other to be in the batch, so that the score is unbiased, with
replacement or without.

**Without replacement** needs B distinct rows at a cost that does not grow with N: see
`spos.targets.shuffle`.

**A growing batch** (`spos.schedules.growing_batch`) has the memory of its maximum from the start:
rows beyond the present size are weighted 0, so that nothing is compiled anew.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.targets.batches import BatchSchedule
from spos.targets.shuffle import distinct
from spos.targets.target import score_particles
from spos.types import Batch, Particles, PyTree


class Drawn(NamedTuple):
    """A batch that knows its row numbers, and the data they count in."""

    batch: Batch
    rows: jax.Array
    data: PyTree


class Posterior:
    """See `posterior`."""

    def __init__(
        self, log_likelihood: Any, log_prior: Any, data: PyTree, batch: BatchSchedule, replace: bool
    ) -> None:
        self.data = data
        self.num_examples = _length(data)
        self.batch = batch
        self.replace = replace
        self.settings = {"batch_size": batch.initial, "most": batch.maximum, "replace": replace}
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
        return self.draw_rows(key, step, data).batch

    def draw_rows(self, key: jax.Array, step: jax.Array | int = 0, data: PyTree = None) -> Drawn:
        """The same minibatch, and where its rows come from."""
        data = self.data if data is None else data
        total, most = _length(data), self.batch.maximum
        if most == total and self.batch.initial == total and not self.replace:
            return all_rows(data)
        if self.replace:
            rows = jax.random.randint(key, (most,), 0, total)
        else:
            rows = distinct(key, most, total)
        size = self.batch.size(jnp.asarray(step))
        weights = jnp.where(jnp.arange(most) < size, total / size, 0.0)
        return Drawn(Batch(jax.tree.map(lambda leaf: leaf[rows], data), weights), rows, data)

    def prior_score(self, particles: Particles) -> Particles:
        """∇ log p(θ_i) for every particle."""
        return score_particles(lambda theta, _: jnp.asarray(self._log_prior(theta)), particles, ())

    def example_scores(self, particles: Particles, examples: PyTree) -> Particles:
        """∇ log p(x_q | θ_i), one for each example q (first axis) and particle i (second)."""

        def one(theta: PyTree, example: PyTree) -> jax.Array:
            return self._log_likelihood(theta, jax.tree.map(lambda leaf: leaf[None], example))[0]

        over_particles = jax.vmap(jax.grad(one), in_axes=(0, None))
        return jax.vmap(over_particles, in_axes=(None, 0))(particles, examples)

    def gradient_evaluations(self, num_steps: int, num_particles: int = 1) -> int:
        """How many gradients, of one example at one particle, so many steps take."""
        return num_particles * num_steps * self.batch.maximum

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


def must_be_posterior(value: Any) -> None:
    if not isinstance(value, Posterior):
        raise TypeError(f"posterior must come from spos.posterior, got {value!r}")


def as_particles(theta: PyTree) -> Particles:
    """One particle as a cloud of one, checked; in NumPy where it can be, which compiles nothing."""

    def lone(leaf: Any) -> Any:
        return (leaf if checks.is_traced(leaf) else np.asarray(leaf))[None]

    return checks.particles(jax.tree.map(lone, theta))


def all_rows(data: PyTree) -> Drawn:
    """All the data as one batch."""
    total = _length(data)
    return Drawn(Batch(data, jnp.ones(total)), jnp.arange(total), data)


def _length(data: PyTree) -> int:
    return jax.tree.leaves(data)[0].shape[0]
