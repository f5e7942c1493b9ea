"""The median rule η² = med² / log M, with `med` the median distance of two different particles.

With the median particle pair at distance med, Σ_j k_ij ≈ M · exp(-log M) + 1 = 2: each particle
feels about as much of all the others as of itself.

Sorting all M² distances would cost more than everything else in a step. Instead:

* the pairs are all M(M-1)/2 of them while that is at most `MAX_PAIRS`, and above it a fixed set of
  `MAX_PAIRS` pairs, drawn once from a constant seed: the same pairs in every step and every run,
  and no trouble with particles that arrive in sorted order;
* the median of those is found by selection, never by sorting. A pivot is wanted that has half of
  the values below it; the largest below and the smallest above are then the middle ones. False
  position on the counts (with the Illinois rule) finds it in about ten counting passes. Ties can
  make that impossible, so that after `PATIENCE` passes the bracket is halved in the integers that
  order like floats, until it holds a single float: the value sought, exactly.

One particle has no pairs, and coincident particles have no scale. Then η² is the mean square
distance if that is positive, else 1: the direction it multiplies is zero in any case.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

MAX_PAIRS = 8192
PATIENCE = 24


@functools.cache
def pairs(num_particles: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices (i, j), i ≠ j, of the pairs whose median distance is taken."""
    count = num_particles * (num_particles - 1) // 2
    if count <= MAX_PAIRS:
        i, j = np.triu_indices(num_particles, k=1)
    else:
        rng = np.random.default_rng(0)
        i = rng.integers(num_particles, size=MAX_PAIRS)
        j = (i + rng.integers(1, num_particles, size=MAX_PAIRS)) % num_particles
    return i.astype(np.int32), j.astype(np.int32)


def median_rule(
    sq: jax.Array, num_particles: int, resolution: jax.Array | float = 0.0
) -> jax.Array:
    """η² from the squared distances of `pairs(num_particles)`; up to `resolution` they are zero."""
    if num_particles == 1:
        return jnp.ones((), sq.dtype)
    median = median_distance(sq)
    least = jnp.maximum(resolution, jnp.finfo(sq.dtype).tiny)
    mean = jnp.mean(sq)
    scale = jnp.where(median**2 > least, median**2, jnp.where(mean > least, mean, 1.0))
    return scale / np.log(num_particles).astype(sq.dtype)


def median_distance(sq: jax.Array) -> jax.Array:
    """Median of `sqrt(sq)`; the mean of the two middle ones where the count is even."""
    lower, upper = middle_values(sq)
    if sq.size % 2:
        return jnp.sqrt(lower)
    return 0.5 * (jnp.sqrt(lower) + jnp.sqrt(upper))


def middle_values(values: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The two values around the middle of sorted, non-negative `values`; the first is the median
    where the count is odd."""
    values = values if values.dtype == jnp.float64 else values.astype(jnp.float32)
    real = values.dtype
    whole = jnp.int64 if real == jnp.float64 else jnp.int32
    wanted = (values.size + 1) // 2  # values below the pivot

    def as_whole(x: jax.Array) -> jax.Array:
        return jax.lax.bitcast_convert_type(x, whole)

    def as_real(x: jax.Array) -> jax.Array:
        return jax.lax.bitcast_convert_type(x, real)

    def below(pivot: jax.Array) -> jax.Array:
        return jnp.sum((values < pivot).astype(real))  # counting in floats is the faster way

    class Bracket(NamedTuple):
        passes: jax.Array
        low: jax.Array  # fewer than wanted lie below it
        high: jax.Array  # at least as many
        low_count: jax.Array  # the counts at both ends, as false position is told of them
        high_count: jax.Array
        side: jax.Array  # the end that moved last: -1 low, +1 high
        pivot: jax.Array
        done: jax.Array

    def narrow(b: Bracket) -> Bracket:
        share = (wanted - b.low_count) / (b.high_count - b.low_count)
        pivot = b.low + (b.high - b.low) * jnp.clip(share, 0.01, 0.99)
        halved = as_real(as_whole(b.low) + (as_whole(b.high) - as_whole(b.low)) // 2)
        patient = (b.passes < PATIENCE) & (pivot > b.low) & (pivot < b.high)
        pivot = jnp.where(patient, pivot, halved)
        count = below(pivot)
        up = count < wanted
        # Illinois: an end that stays put twice has its distance to the goal halved
        stale_low = jnp.where(b.side > 0, 0.5 * (wanted + b.low_count), b.low_count)
        stale_high = jnp.where(b.side < 0, 0.5 * (wanted + b.high_count), b.high_count)
        low, high = jnp.where(up, pivot, b.low), jnp.where(up, b.high, pivot)
        return Bracket(
            b.passes + 1,
            low,
            high,
            jnp.where(up, count - 0.5, stale_low),
            jnp.where(up, stale_high, count + 0.5),
            jnp.where(up, -1, 1).astype(jnp.int32),
            pivot,
            (count == wanted) | (as_whole(high) - as_whole(low) <= 1),
        )

    lowest, zero = jnp.min(values), jnp.zeros((), jnp.int32)
    above_all = as_real(as_whole(jnp.max(values)) + 1)
    ends = jnp.zeros((), real), jnp.full((), values.size, real)
    closed = as_whole(above_all) - as_whole(lowest) <= 1
    start = Bracket(zero, lowest, above_all, *ends, zero, lowest, closed)
    b = jax.lax.while_loop(lambda bracket: ~bracket.done, narrow, start)

    split = below(b.pivot) == wanted
    left = jnp.max(jnp.where(values < b.pivot, values, 0.0))
    right = jnp.min(jnp.where(values < b.pivot, jnp.inf, values))
    only = jnp.where(b.low > 0, b.low, 0.0)  # a float too small for the processor counts as zero
    return jnp.where(split, left, only), jnp.where(split & jnp.isfinite(right), right, only)
