"""Standard normals, fast on every backend and the same bits on each run.

Each pair of normals takes one block of the counter-based generator Threefry-2x32 (Salmon et al.,
2011): its counter is the place of the pair in the array, its key belongs to the step. Thirteen
rounds pass the authors' test batteries; JAX's own generator uses twenty, in a rolled loop that
keeps a CPU from working on many numbers at once. Box and Muller turn two words into two normals,

    (z0, z1) = sqrt(-2 log u) · (cos φ, sin φ),        u in (0, 1), φ uniform on the circle,

with short polynomials for the logarithm, and for sine and cosine on an eighth of the circle, which
two bits and the signs of the others extend to the whole. u has 24 bits, so that the largest normal
is 5.9. Double precision is left to JAX.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from spos.mesh import shards

ROUNDS = 13
_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
# log(1 + x) = x - x²/2 + x³ p(x) for 1 + x in [sqrt(1/2), sqrt(2)], highest power first
_LOG = (
    *(7.0376836e-2, -1.1514610e-1, 1.1676998e-1, -1.2420141e-1, 1.4249323e-1),
    *(-1.6668058e-1, 2.0000715e-1, -2.4999994e-1, 3.3333331e-1),
)
# sin f = f + f³ p(f²) and cos f = 1 - f²/2 + f⁴ p(f²) for |f| ≤ π/4
_SIN = (-1.9515296e-4, 8.3321609e-3, -1.6666655e-1)
_COS = (2.4433157e-5, -1.3887316e-3, 4.1666646e-2)


def normal_matrix(
    key: jax.Array, shape: tuple[int, int], dtype: jnp.dtype, first_column: int = 0
) -> jax.Array:
    """A matrix of independent standard normals: the columns from `first_column` on of a matrix that
    is endless to the right, so that it can be had in pieces."""
    if dtype == jnp.float64:
        return jax.random.normal(jax.random.fold_in(key, first_column), shape, dtype)
    words = jax.random.key_data(key).astype(jnp.uint32).ravel()
    make = _own_rows if shards.inside() else _whole
    return make(words, shape, first_column).astype(dtype)


@functools.partial(jax.jit, static_argnums=(1, 2))  # traced once for all programs with this shape
def _whole(words: jax.Array, shape: tuple[int, int], first_column: int) -> jax.Array:
    rows, columns = shape
    half = -(-rows // 2)

    def pairs() -> jax.Array:
        row = jax.lax.broadcasted_iota(jnp.uint32, (half, columns), 0)
        column = jax.lax.broadcasted_iota(jnp.uint32, (half, columns), 1) + first_column
        return jax.lax.complex(*_box_muller(*_threefry(words[-2], words[-1], row, column)))

    # A branch that is always taken. XLA's CPU compiler cannot tell, and does not fuse across it:
    # otherwise it would compute every pair twice, once for each half of the result. The complex
    # number keeps a pair together until then. A bit of the key says which of a pair comes first.
    always = (words[0] | 1) != 0
    pair = jax.lax.cond(always, pairs, lambda: jnp.zeros((half, columns), jnp.complex64))
    swap = (words[0] & 1) == 1
    first, second = jax.lax.real(pair), jax.lax.imag(pair)
    halves = [jnp.where(swap, second, first), jnp.where(swap, first, second)[: rows - half]]
    return jnp.concatenate(halves, axis=0)


def _own_rows(words: jax.Array, shape: tuple[int, int], first_column: int) -> jax.Array:
    """The rows of this device, out of the matrix that all devices have together. A pair has one
    row in each half of that, so that every pair is made twice, and nothing is sent."""
    total = shape[0] * shards.number()
    half = jnp.asarray(-(-total // 2), jnp.uint32)
    row = jax.lax.broadcasted_iota(jnp.uint32, shape, 0)
    row += jnp.asarray(shards.index() * shape[0], jnp.uint32)
    column = jax.lax.broadcasted_iota(jnp.uint32, shape, 1) + first_column
    upper = row < half
    pair = _box_muller(*_threefry(words[-2], words[-1], jnp.where(upper, row, row - half), column))
    swap = (words[0] & 1) == 1
    return jnp.where(upper != swap, pair[0], pair[1])


def _threefry(
    k0: jax.Array, k1: jax.Array, x0: jax.Array, x1: jax.Array, rounds: int = ROUNDS
) -> tuple[jax.Array, jax.Array]:
    keys = (k0, k1, k0 ^ k1 ^ jnp.uint32(0x1BD11BDA))
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for n in range(rounds):
        x0 = x0 + x1
        turn = _ROTATIONS[n % 8]
        x1 = ((x1 << turn) | (x1 >> (32 - turn))) ^ x0
        if n % 4 == 3:
            group = n // 4 + 1
            x0 = x0 + keys[group % 3]
            x1 = x1 + keys[(group + 1) % 3] + jnp.uint32(group)
    return x0, x1


def _box_muller(x0: jax.Array, x1: jax.Array) -> tuple[jax.Array, jax.Array]:
    u = (x0 >> 8).astype(jnp.int32).astype(jnp.float32) * 2.0**-24 + 2.0**-25
    radius = jnp.sqrt(-2.0 * _log(u))
    signed = jax.lax.bitcast_convert_type(x1, jnp.int32)
    f = ((signed << 2) >> 8).astype(jnp.float32) * np.float32(np.pi / 4 * 2.0**-23)
    z = f * f
    sine = f + f * z * _polynomial(_SIN, z)
    cosine = 1.0 - 0.5 * z + z * z * _polynomial(_COS, z)
    swap = (signed & 0x40000000) != 0
    first = jnp.where(swap, sine, cosine)
    second = jnp.where(swap, cosine, sine)
    return radius * _with_sign(first, x1), radius * _with_sign(second, x0 << 31)


def _log(u: jax.Array) -> jax.Array:
    """log u for a positive normal float: its exponent, and a polynomial in its mantissa."""
    bits = jax.lax.bitcast_convert_type(u, jnp.int32)
    exponent = (bits - 0x3F3504F3) >> 23  # 0x3F3504F3 is sqrt(1/2)
    x = jax.lax.bitcast_convert_type(bits - (exponent << 23), jnp.float32) - 1.0
    square = x * x
    tail = x * square * _polynomial(_LOG, x)
    return x - 0.5 * square + tail + exponent.astype(jnp.float32) * np.float32(np.log(2.0))


def _polynomial(coefficients: tuple[float, ...], x: jax.Array) -> jax.Array:
    value = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _with_sign(value: jax.Array, word: jax.Array) -> jax.Array:
    """`value`, its sign flipped where the highest bit of `word` is set."""
    bits = jax.lax.bitcast_convert_type(value, jnp.uint32) ^ (word & jnp.uint32(0x80000000))
    return jax.lax.bitcast_convert_type(bits, jnp.float32)
