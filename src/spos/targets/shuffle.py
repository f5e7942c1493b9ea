"""Distinct random numbers without sorting.

A shuffle by sorting costs N log N and is slow on every backend. A keyed Feistel network is a
bijection of {0 … 2^b - 1} that can be evaluated anywhere on its own; following it until it lands
below N makes it a bijection of {0 … N - 1}. A last rotation by a uniform offset modulo N makes
every number exactly equally likely at every place.
"""

import math

import jax
import jax.numpy as jnp

ROUNDS = 6


def distinct(key: jax.Array, count: int, total: int) -> jax.Array:
    """`count` different numbers below `total` in O(count) work; all of them are a permutation."""
    return permuted(key, jnp.arange(count, dtype=jnp.uint32), total)


def permuted(key: jax.Array, places: jax.Array, total: int) -> jax.Array:
    """What a random permutation of the numbers below `total` has in these places."""
    half_bits = max(1, math.ceil(math.log2(max(total, 2)) / 2))
    mask = jnp.uint32((1 << half_bits) - 1)
    round_key, offset_key = jax.random.split(key)
    keys = jax.random.bits(round_key, (ROUNDS,), jnp.uint32)

    def scramble(x: jax.Array) -> jax.Array:
        left, right = x >> half_bits, x & mask
        for n in range(ROUNDS):
            left, right = right, left ^ (_mix(right ^ keys[n]) & mask)
        return (left << half_bits) | right

    inside = scramble(places)
    if total < 1 << 2 * half_bits:  # else all places are below N at once
        inside = jax.lax.while_loop(
            lambda x: jnp.any(x >= total), lambda x: jnp.where(x >= total, scramble(x), x), inside
        )
    offset = jax.random.randint(offset_key, (), 0, total)
    return (inside.astype(jnp.int32) - (total - offset)) % total


def _mix(x: jax.Array) -> jax.Array:
    """A 32-bit finaliser: every input bit sways every output bit."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)
