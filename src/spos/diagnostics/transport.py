"""Distances between two samples, as the work of carrying one onto the other.

**On a line** the 1-Wasserstein distance is exact, for samples of any two sizes:

    W1(a, b) = ∫ |F_a(x) - F_b(x)| dx,        F the share of a sample at or below x.

**In the plane and above** it is sliced: samples are projected onto directions u of length 1, and
the distances on those lines are averaged,

    SW1(a, b) = E_u W1(u·a, u·b) ≤ W1(a, b).

The directions are drawn once from a seed, so that numbers with the same seed can be compared. A
shift by v has SW1 = ‖v‖ E|u_1|, which in the plane is 2‖v‖/π. Two finite samples of one law are
never at distance zero: compare with what independent draws give.
"""

from typing import Any

import jax
import jax.numpy as jnp

from spos import checks


def wasserstein_1d(a: Any, b: Any) -> jax.Array:
    """The exact W1 of two samples of numbers; it can be compiled and differentiated."""
    a, b = _sample("a", a, 1), _sample("b", b, 1)
    if len(a) > len(b):
        a, b = b, a
    if len(b) % len(a) == 0:  # in sorted order, each point of a is matched with as many of b
        return jnp.mean(jnp.abs(jnp.repeat(jnp.sort(a), len(b) // len(a)) - jnp.sort(b)))
    places = jnp.sort(jnp.concatenate([a, b]))
    below_a = jnp.searchsorted(jnp.sort(a), places[:-1], side="right") / len(a)
    below_b = jnp.searchsorted(jnp.sort(b), places[:-1], side="right") / len(b)
    return jnp.sum(jnp.abs(below_a - below_b) * jnp.diff(places))


def sliced_wasserstein(a: Any, b: Any, *, num_directions: int = 128, seed: int = 0) -> jax.Array:
    """The sliced W1 of two samples, of shapes (M, d) and (N, d)."""
    a, b = _sample("a", a, 2), _sample("b", b, 2)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"a and b must have one dimension, got {a.shape[1]} and {b.shape[1]}")
    checks.whole("num_directions", num_directions)
    normals = jax.random.normal(jax.random.key(seed), (num_directions, a.shape[1]), a.dtype)
    directions = normals / jnp.linalg.norm(normals, axis=1, keepdims=True)
    # one direction at a time: nothing larger than the samples is held
    return jnp.mean(jax.lax.map(lambda u: wasserstein_1d(a @ u, b @ u), directions))


def _sample(name: str, values: Any, axes: int) -> jax.Array:
    array = jnp.asarray(values)
    if array.ndim != axes or array.size == 0:
        form = "(M,)" if axes == 1 else "(M, d)"
        raise ValueError(
            f"{name} must have shape {form} with at least one point, got {array.shape}"
        )
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)
