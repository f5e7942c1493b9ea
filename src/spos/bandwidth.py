"""The median rule η² = med² / log M, with `med` the median distance of two different particles.

With the median particle pair at distance med, Σ_j k_ij ≈ M · exp(-log M) + 1 = 2: each particle
feels about as much of all the others as of itself.

Sorting all M² distances would cost more than everything else in a step. Instead:

* the pairs are all M(M-1)/2 of them while that is at most `MAX_PAIRS`, and above it a fixed set of
  `MAX_PAIRS` pairs, drawn once from a constant seed: the same pairs in every step and every run,
  and no trouble with particles that arrive in sorted order;
* the median of those is found by selection. A non-negative float orders like its bit pattern, so
  31 halvings of the integer range, each one counting pass, find the exact value.

One particle has no pairs, and coincident particles have no scale. Then η² is the mean square
distance if that is positive, else 1: the direction it multiplies is zero in any case.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

MAX_PAIRS = 8192


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


def median_rule(sq: jax.Array, num_particles: int) -> jax.Array:
    """η² from the squared distances of `pairs(num_particles)`."""
    if num_particles == 1:
        return jnp.ones((), sq.dtype)
    median = median_distance(sq)
    tiny = jnp.finfo(sq.dtype).tiny
    mean = jnp.mean(sq)
    scale = jnp.where(median**2 > tiny, median**2, jnp.where(mean > tiny, mean, 1.0))
    return scale / np.log(num_particles).astype(sq.dtype)


def median_distance(sq: jax.Array) -> jax.Array:
    """Median of `sqrt(sq)`; the mean of the two middle ones where the count is even."""
    middle = (sq.size - 1) // 2
    lower = _select(sq, middle)
    if sq.size % 2:
        return jnp.sqrt(lower)
    above = jnp.min(jnp.where(sq > lower, sq, jnp.inf))
    upper = jnp.where(jnp.sum(sq <= lower) > middle + 1, lower, above)
    return 0.5 * (jnp.sqrt(lower) + jnp.sqrt(upper))


def _select(values: jax.Array, rank: int) -> jax.Array:
    """The value with `rank` others before it in sorted order, for values that are not negative."""
    integer = jnp.int64 if values.dtype == jnp.float64 else jnp.int32
    wide = values if values.dtype == jnp.float64 else values.astype(jnp.float32)
    bits = jax.lax.bitcast_convert_type(wide, integer)
    top = jnp.iinfo(integer).bits - 2  # the highest bit below the sign

    def halve(n: jax.Array, found: jax.Array) -> jax.Array:
        guess = found | (jnp.ones((), integer) << (top - n).astype(integer))
        return jnp.where(jnp.sum(bits < guess) <= rank, guess, found)

    found = jax.lax.fori_loop(0, top + 1, halve, jnp.zeros((), integer))
    return jax.lax.bitcast_convert_type(found, wide.dtype).astype(values.dtype)
