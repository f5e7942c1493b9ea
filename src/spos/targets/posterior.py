"""A posterior from a likelihood, a prior and data, with minibatch scores.

    score(θ; batch) = Σ_q w_q ∇ log p(x_q | θ) + ∇ log p(θ),      w_q = N / B

The batch of a step is drawn on the device and shared by all particles; the prior counts once. Every
example is as likely as any other to be in the batch, so that the score is unbiased, with
replacement or without.

**Without replacement** needs B distinct rows at a cost that does not grow with N: see
`shuffle.py`.

**A growing batch** (`spos.schedules.growing_batch`) has the memory of its maximum from the start:
rows beyond the present size are weighted 0, so that nothing is compiled anew.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.targets.batches import BatchSchedule
from spos.targets.shuffle import distinct
from spos.targets.target import Target, score_particles
from spos.types import Batch, Particles, PyTree
from spos.values import as_function, static, value


class Drawn(NamedTuple):
    """A batch that knows its row numbers, and the data they count in."""

    batch: Batch
    rows: jax.Array
    data: PyTree


@value
class Posterior(Target):
    """The posterior of a model and data; `spos.posterior` builds it.

    Attributes:
        log_likelihood: of a batch of examples, one value each.
        log_prior: one number.
        data: a pytree of arrays with a leading axis of examples.
        batch: how many rows a minibatch has.
        replace: are rows drawn with replacement?
    """

    log_likelihood: Callable[[PyTree, PyTree], jax.Array]
    log_prior: Callable[[PyTree], Any]
    data: PyTree
    batch: BatchSchedule = static()
    replace: bool = static(default=False)

    @property
    def num_examples(self) -> int:
        """N, the number of rows of the data."""
        return num_rows(self.data)

    @property
    def stochastic(self) -> bool:
        return self.replace or self.batch.initial < self.num_examples

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "batch_size": self.batch.initial,
            "most": self.batch.maximum,
            "replace": self.replace,
        }

    def with_data(self, data: PyTree) -> Self:
        """The same posterior given other data; of equal shapes, they share compiled programs.

        Args:
            data: in the form of the present data, with at least as many rows as a batch.

        Returns:
            The posterior.
        """
        data = checks.data(data)
        form, own = _row_form(data), _row_form(self.data)
        if form != own:
            raise ValueError(f"data must have the form of the target's own, {own}, got {form}")
        if num_rows(data) < self.batch.maximum:
            raise ValueError(
                f"data must have the {self.batch.maximum} rows of a batch or more, "
                f"got {num_rows(data)}"
            )
        return dataclasses.replace(self, data=data)

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        examples, weights = self._as_batch(batch)
        terms = self.log_likelihood(theta, examples)
        size = num_rows(examples)
        checks.log_prob_output("log_likelihood", terms, (size,), f"one value for each of {size}")
        prior = self.log_prior(theta)
        checks.log_prob_output("log_prior", prior, (), "one number")
        return jnp.sum(weights.astype(terms.dtype) * terms) + prior

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        return score_particles(self.log_prob, particles, self._as_batch(batch))

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> Batch:
        """The weighted minibatch of a step."""
        return self.draw_rows(key, step).batch

    def draw_rows(self, key: jax.Array, step: jax.Array | int = 0) -> Drawn:
        """The same minibatch as `draw`, and where its rows come from.

        Args:
            key: of the step.
            step: its number.

        Returns:
            The batch, its row numbers and the data.
        """
        total, most = self.num_examples, self.batch.maximum
        if most == total and self.batch.initial == total and not self.replace:
            return all_rows(self.data)
        if self.replace:
            rows = jax.random.randint(key, (most,), 0, total)
        else:
            rows = distinct(key, most, total)
        size = self.batch.size(jnp.asarray(step))
        weights = jnp.where(jnp.arange(most) < size, total / size, 0.0)
        examples = jax.tree.map(lambda leaf: leaf[rows], self.data)
        return Drawn(Batch(examples, weights), rows, self.data)

    def prior_score(self, particles: Particles) -> Particles:
        """∇ log p(θ_i) for every particle.

        Args:
            particles: a pytree whose leaves share a leading axis of length M.

        Returns:
            The scores of the prior, a pytree like `particles`.
        """
        return score_particles(lambda theta, _: jnp.asarray(self.log_prior(theta)), particles, ())

    def example_scores(self, particles: Particles, examples: PyTree) -> Particles:
        """∇ log p(x_q | θ_i), one for each example q (first axis) and particle i (second).

        Args:
            particles: a pytree whose leaves share a leading axis of length M.
            examples: rows of the data.

        Returns:
            The scores, with an axis of examples before that of the particles.
        """

        def one(theta: PyTree, example: PyTree) -> jax.Array:
            return self.log_likelihood(theta, jax.tree.map(lambda leaf: leaf[None], example))[0]

        over_particles = jax.vmap(jax.grad(one), in_axes=(0, None))
        return jax.vmap(over_particles, in_axes=(None, 0))(particles, examples)

    def gradient_evaluations(self, num_steps: int, num_particles: int = 1) -> int:
        return num_particles * num_steps * self.batch.maximum

    def _as_batch(self, batch: PyTree) -> Batch:
        if isinstance(batch, Batch):
            return batch
        examples = self.data if batch is None else batch
        size = num_rows(examples)
        return Batch(examples, jnp.full(size, self.num_examples / size))


def posterior(
    log_likelihood: Callable[[PyTree, PyTree], jax.Array],
    log_prior: Callable[[PyTree], Any],
    data: PyTree,
    batch_size: int | BatchSchedule | None = None,
    *,
    replace: bool = False,
) -> Posterior:
    """The posterior of a model and data as a target.

    Args:
        log_likelihood: `log_likelihood(theta, batch)` gives one value per example of the batch, for
            one particle `theta`.
        log_prior: `log_prior(theta)` gives one number.
        data: a pytree of arrays with a leading axis of examples.
        batch_size: rows of a minibatch, or a `spos.schedules.growing_batch`; None uses all the data
            in every step.
        replace: draw rows with replacement.

    Returns:
        The target.

    Example:
        >>> data = {"y": np.array([0.5, 1.5, 1.0])}
        >>> def log_likelihood(theta, batch):
        ...     return -0.5 * (batch["y"] - theta) ** 2
        >>> target = spos.posterior(log_likelihood, lambda theta: -0.5 * theta**2, data)
        >>> float(target.log_prob(jnp.array(0.0)))
        -1.75
    """
    checks.function("log_likelihood", log_likelihood)
    checks.function("log_prior", log_prior)
    data = checks.data(data)
    total = num_rows(data)
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
    return Posterior(
        as_function(log_likelihood), as_function(log_prior), data, batch_size, bool(replace)
    )


def must_be_posterior(posterior: Any) -> None:
    if not isinstance(posterior, Posterior):
        raise TypeError(f"posterior must come from spos.posterior, got {posterior!r}")


def as_particles(name: str, theta: PyTree) -> Particles:
    """One particle as a cloud of one, checked; in NumPy where it can be, which compiles nothing."""

    def lone(leaf: Any) -> Any:
        return (leaf if checks.is_traced(leaf) else np.asarray(leaf))[None]

    return checks.particles(jax.tree.map(lone, theta), name)


def all_rows(data: PyTree) -> Drawn:
    """All the data as one batch."""
    total = num_rows(data)
    return Drawn(Batch(data, jnp.ones(total)), jnp.arange(total), data)


def num_rows(data: PyTree) -> int:
    return int(jax.tree.leaves(data)[0].shape[0])


def _row_form(data: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape[1:])} a row", data)
