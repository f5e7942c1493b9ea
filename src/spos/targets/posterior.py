"""A posterior from a likelihood, a prior and data, with minibatch scores.

    score(θ; batch) = Σ_q w_q ∇ log p(x_q | θ) + ∇ log p(θ),      w_q = N / B

The batch of a step is drawn on the device and shared by all particles; the prior counts once. Every
example is as likely as any other to be in the batch, so that the score is unbiased, with
replacement or without.

**Without replacement** needs B distinct rows at a cost that does not grow with N: see
`shuffle.py`.

**A growing batch** (`spos.schedules.growing_batch`) has the memory of its maximum from the start:
rows beyond the present size are weighted 0, so that nothing is compiled anew.

**Data of a source** (`source.py`) are not at hand in a compiled program. `draw` then gives weights
and row numbers alone, `read` fetches the rows on the host, and `spos.sample` does both ahead of the
steps that need them.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.targets.batches import BatchSchedule, Drawn, all_rows, num_rows
from spos.targets.data import as_data
from spos.targets.random_access import RandomAccess
from spos.targets.shuffle import distinct
from spos.targets.source import Source
from spos.targets.stream import Stream
from spos.targets.target import Target, score_particles
from spos.types import Batch, Particles, PyTree
from spos.values import as_function, static, value


@value
class Posterior(Target):
    """The posterior of a model and data; `spos.posterior` builds it.

    Attributes:
        log_likelihood: of a batch of examples, one value each.
        log_prior: one number.
        data: a pytree of arrays with a leading axis of examples, or a source of them.
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
        streams = isinstance(self.data, Stream)
        return streams or self.replace or self.batch.initial < self.num_examples

    @property
    def settings(self) -> dict[str, Any]:
        about = {
            "batch_size": self.batch.initial,
            "most": self.batch.maximum,
            "replace": self.replace,
        }
        return {**about, "source": repr(self.data)} if isinstance(self.data, Source) else about

    def with_data(self, data: PyTree) -> Self:
        """The same posterior given other data; of equal shapes, they share compiled programs.

        Args:
            data: in the form of the present data, with at least as many rows as a batch.

        Returns:
            The posterior.
        """
        data = as_data(data)
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
        each = f"one value for each of {size} rows"
        checks.log_prob_output("log_likelihood", terms, (size,), each)
        prior = self.log_prior(theta)
        checks.log_prob_output("log_prior", prior, (), "one number")
        return jnp.sum(weights.astype(terms.dtype) * terms) + prior

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        return score_particles(self.log_prob, particles, self._as_batch(batch))

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> Any:
        """The weighted minibatch of a step; of a source its row numbers, to be read by `read`."""
        drawn = self.draw_rows(key, step)
        return drawn if isinstance(self.data, Source) else drawn.batch

    def read(self, drawn: Drawn) -> Drawn:
        """The minibatch that `draw` asked for, read from a source on the host.

        Args:
            drawn: what `draw` gives for a posterior whose data are a source with random access.

        Returns:
            The same with its rows, for `sampler.step`.
        """
        if not isinstance(self.data, RandomAccess):
            raise TypeError(
                f"data must be a source with random access to be read, got {self.data!r}"
            )
        examples = jax.tree.map(jnp.asarray, self.data.take(np.asarray(drawn.rows)))
        return drawn._replace(batch=drawn.batch._replace(examples=examples))

    def draw_rows(self, key: jax.Array, step: jax.Array | int = 0) -> Drawn:
        """The same minibatch as `draw`, and where its rows come from.

        Args:
            key: of the step.
            step: its number.

        Returns:
            The batch, its row numbers and the data.
        """
        total, most = self.num_examples, self.batch.maximum
        on_device = not isinstance(self.data, Source)
        if on_device and most == total and self.batch.initial == total and not self.replace:
            return all_rows(self.data)
        if self.replace:
            rows = jax.random.randint(key, (most,), 0, total)
        else:
            rows = distinct(key, most, total)
        size = self.batch.size(jnp.asarray(step))
        weights = jnp.where(jnp.arange(most) < size, total / size, 0.0)
        if not on_device:
            return Drawn(Batch(None, weights), rows, ())
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
        if isinstance(batch, Drawn):
            batch = batch.batch
        if isinstance(batch, Batch):
            if batch.examples is None:
                raise TypeError(
                    "batch must have rows, got row numbers alone: the data are a source. "
                    "spos.sample reads them by itself; in a loop of your own use posterior.read"
                )
            return batch
        if batch is None and isinstance(self.data, Source):
            raise ValueError(
                f"batch must be given: all of {self.data!r} are not in memory, got None"
            )
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
    num_examples: int | None = None,
) -> Posterior:
    """The posterior of a model and data as a target.

    Args:
        log_likelihood: `log_likelihood(theta, batch)` gives one value per example of the batch, for
            one particle `theta`.
        log_prior: `log_prior(theta)` gives one number.
        data: a pytree of arrays with a leading axis of examples. Instead of arrays, things with
            `len(thing)` and `thing[rows]` (NumPy memmaps, zarr, h5py, a class of your own) are read
            while `spos.sample` runs; an iterable of batches is, too.
        batch_size: rows of a minibatch, or a `spos.schedules.growing_batch`; None uses all the data
            in every step.
        replace: draw rows with replacement.
        num_examples: given for an iterable of batches: the number of rows they are drawn from.

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
    data = as_data(data, num_examples)
    total = num_rows(data)
    if isinstance(data, Stream):
        if batch_size is not None or replace:
            raise ValueError(
                "batch_size and replace must be left out with num_examples: the iterable decides, "
                f"got batch_size={batch_size!r}, replace={replace!r}"
            )
        batch_size = data.batch_size
    elif isinstance(data, Source) and batch_size is None:
        raise ValueError(
            f"batch_size must be given for data that are read from a source, {data!r}, got None"
        )
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
    from spos.targets.sharded import by_shards_of_data  # which builds on this file

    return by_shards_of_data(
        Posterior(
            as_function(log_likelihood), as_function(log_prior), data, batch_size, bool(replace)
        )
    )


def must_be_posterior(posterior: Any) -> None:
    if not isinstance(posterior, Posterior):
        raise TypeError(f"posterior must come from spos.posterior, got {posterior!r}")


def as_particles(name: str, theta: PyTree) -> Particles:
    """One particle as a cloud of one, checked; in NumPy where it can be, which compiles nothing."""

    def lone(leaf: Any) -> Any:
        return (leaf if checks.is_traced(leaf) else np.asarray(leaf))[None]

    return checks.particles(jax.tree.map(lone, theta), name)


def _row_form(data: PyTree) -> PyTree:
    rows = data.form.stack(1) if isinstance(data, Source) else data
    return jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape[1:])} a row", rows)
