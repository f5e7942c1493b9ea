"""The Stein direction, the one hot spot of every kernel method.

    stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]
            = (1/M) Σ_j k_ij [ s_j + slope_ij (θ_i - θ_j) ]        (slope: see `spos.kernels`)

Everything is a matrix product. Distances come from one Gram product of centred particles
(centring costs nothing and keeps float32 from cancelling far from the origin). With one slope c for
all pairs, the sums merge into

    stein = (1/M) [ K (s - c θ) + c θ ∘ rowsum(K) ].

Particles are pytrees: each leaf takes part as an M × n matrix, and nothing larger than M × M or
M × n is ever built.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from spos import bandwidth as bandwidths
from spos.kernels import Kernel
from spos.types import Particles, State

# (key, state, scores) -> (direction, bandwidth)
Interaction = Callable[[jax.Array, State, Particles], tuple[Particles, jax.Array]]


def stein(kernel: Kernel) -> Interaction:
    """The function that gives every particle its Stein direction, and the bandwidth η² it used."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be spos.rbf(...) or spos.imq(...), got {kernel!r}")

    def direction(key: jax.Array, state: State, scores: Particles) -> tuple[Particles, jax.Array]:
        leaves, treedef = jax.tree.flatten(state.particles)
        theta = [_centred(_rows(leaf)) for leaf in leaves]
        score = [_rows(leaf) for leaf in jax.tree.leaves(scores)]
        sq = _squared_distances(theta)
        eta2 = _bandwidth(kernel, sq, state)
        moved = _dense(kernel, sq, eta2, theta, score)
        shaped = [
            (rows / len(leaf)).reshape(leaf.shape).astype(leaf.dtype)
            for rows, leaf in zip(moved, leaves, strict=True)
        ]
        return jax.tree.unflatten(treedef, shaped), eta2

    return direction


def _dense(kernel, sq, eta2, theta, score):
    k, slope = kernel(sq, eta2)
    if jnp.ndim(slope) == 0:
        mass = slope * jnp.sum(k, axis=1, keepdims=True)
        return [k @ (s - slope * t) + mass * t for s, t in zip(score, theta, strict=True)]
    push = k * slope
    mass = jnp.sum(push, axis=1, keepdims=True)
    return [k @ s - push @ t + mass * t for s, t in zip(score, theta, strict=True)]


def _rows(leaf: jax.Array) -> jax.Array:
    return leaf.reshape(leaf.shape[0], -1)


def _centred(rows: jax.Array) -> jax.Array:
    return rows - jnp.mean(rows, axis=0)


def _squared_distances(theta: list[jax.Array]) -> jax.Array:
    gram = sum(rows @ rows.T for rows in theta)
    norms = jnp.diagonal(gram)  # so that the diagonal of the distances is exactly zero
    return jnp.maximum(norms[:, None] + norms[None, :] - 2.0 * gram, 0.0)


def _bandwidth(kernel: Kernel, sq: jax.Array, state: State) -> jax.Array:
    if kernel.bandwidth != "median":
        return jnp.asarray(kernel.bandwidth, sq.dtype)

    def fresh() -> jax.Array:
        i, j = bandwidths.pairs(sq.shape[0])
        return bandwidths.median_rule(sq[i, j], sq.shape[0])

    if kernel.refresh_every == 1:
        return fresh()
    due = state.step % kernel.refresh_every == 0
    return jax.lax.cond(due, fresh, lambda: state.bandwidth.astype(sq.dtype))
