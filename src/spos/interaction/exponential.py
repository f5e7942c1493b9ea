"""exp(-x) for x ≥ 0 on processors: most of what a pair of particles costs in few dimensions.

    exp(-x) = 2^k 2^r,    y = -x log₂ e,    k = round(y),    r = y - k in [-1/2, 1/2]

2^r is a polynomial of degree 6 with p(0) = 1, its relative error 8e-8, and 2^k is put together from
its bits. Below 2^-126, the smallest float with all its digits, the value is zero. XLA's own
exponential knows all real numbers and takes longer; other devices have a better one,
and for few numbers to compile this one takes longer than it saves.
"""

import math

import jax
import jax.numpy as jnp

# by least squares of p(r)/2^r - 1 over the Chebyshev points of the interval
POLYNOMIAL = (
    0.000153707049,
    0.00133998482,
    0.00961837359,
    0.0555032901,
    0.240226477,
    0.693147182,
    1.0,
)
ROUNDER = 1.5 * 2.0**23  # a float so large that adding it rounds to whole numbers
ROUNDER_BITS = 0x4B400000
LOWEST = -126
MANY = 2**16  # numbers that are worth it


@jax.custom_jvp
def exp_minus(x: jax.Array) -> jax.Array:
    """exp(-x) for x ≥ 0, of any shape."""
    if x.dtype != jnp.float32 or jnp.size(x) < MANY:
        return jnp.exp(-x)
    return jax.lax.platform_dependent(x, cpu=_by_bits, default=lambda x: jnp.exp(-x))


@exp_minus.defjvp
def _derivative(
    primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    value = exp_minus(primals[0])
    return value, -value * tangents[0]


def _by_bits(x: jax.Array) -> jax.Array:
    y = x * -math.log2(math.e)
    held = jnp.maximum(y, LOWEST)
    k = jax.lax.bitcast_convert_type(held + ROUNDER, jnp.int32) - ROUNDER_BITS
    r = held - k.astype(jnp.float32)
    p = jnp.full_like(r, POLYNOMIAL[0])
    for coefficient in POLYNOMIAL[1:]:
        p = p * r + coefficient
    power = jax.lax.bitcast_convert_type((k + 127) << 23, jnp.float32)
    return jnp.where(y < LOWEST, 0.0, p * power)
