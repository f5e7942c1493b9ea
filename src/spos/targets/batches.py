"""Minibatches: which rows, and how many of them as a function of the step number k = 0, 1, 2, …

growing_batch(B0)              B0 + log(k + 1)^(100/99)       the SPOS paper's growing batch
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.targets.source import Source
from spos.types import Batch, PyTree


class BatchSchedule(NamedTuple):
    """A batch size that changes with the step, up to a fixed maximum that sets the memory."""

    initial: int
    maximum: int

    def size(self, step: jax.Array) -> jax.Array:
        growth = jnp.log(step + 1.0) ** (100 / 99)
        return jnp.minimum(self.initial + growth.astype(jnp.int32), self.maximum)


def growing_batch(initial: int, maximum: int | None = None) -> BatchSchedule:
    """`initial + log(k + 1)^(100/99)`, rounded down. The default maximum covers 10⁸ steps."""
    initial = checks.whole("initial", initial)
    if maximum is None:
        maximum = initial + math.ceil(math.log(1e8) ** (100 / 99))
    return BatchSchedule(initial, checks.whole("maximum", maximum, at_least=initial))


class Drawn(NamedTuple):
    """A batch that knows its row numbers, and the data they count in (none of a source)."""

    batch: Batch
    rows: jax.Array
    data: PyTree


def all_rows(data: PyTree) -> Drawn:
    """All the data as one batch."""
    total = num_rows(data)
    return Drawn(Batch(data, jnp.ones(total)), jnp.arange(total), data)


def num_rows(data: PyTree) -> int:
    if isinstance(data, Source):
        return data.num_examples
    return int(jax.tree.leaves(data)[0].shape[0])
