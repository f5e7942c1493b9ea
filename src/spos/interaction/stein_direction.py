"""The Stein direction.

    stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]
            = (1/M) Σ_j k_ij [ s_j + slope_ij (θ_i - θ_j) ]        (slope: see `kernels.py`)

Everything is a matrix product. With one slope c for all pairs, the sums merge into a single one,

    stein = (1/M) [ K (s - c θ) + c θ ∘ rowsum(K) ].

Beside the dense and the tiled sum there are **random groups** (`group_size=b`): each step splits
the particles at random into groups of b that feel only each other, the pairs weighted up by
(M - 1)/(b - 1). Unbiased over the splits, and O(M b) instead of O(M²).
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from spos.cloud import NARROW, Matrices
from spos.interaction.kernels import Kernel
from spos.interaction.pairwise import (
    Cloud,
    Direction,
    by_blocks,
    by_rows,
    prepare,
    squared_distances,
)
from spos.targets.shuffle import distinct
from spos.types import Particles, State


def stein(
    kernel: Kernel,
    key: jax.Array,
    state: State,
    scores: Particles,
    group_size: int | None = None,
) -> Direction:
    """The Stein direction of every particle, and the bandwidth η² it used."""

    def one(rows: Matrices, score: Matrices) -> tuple[Matrices, jax.Array]:
        if group_size is None or group_size >= len(rows[0]):
            cloud = prepare(kernel, rows, state)
            return stein_of(kernel, cloud, score), cloud.eta2
        cloud = prepare(kernel, rows, state, all_pairs=False)
        moved = _grouped(key, group_size, kernel, cloud, score)
        return [m / len(rows[0]) for m in moved], cloud.eta2

    return by_blocks(kernel, one, state.particles, scores)


def stein_of(kernel: Kernel, cloud: Cloud, score: Matrices) -> Matrices:
    """The direction within a cloud, over all pairs."""
    moved = by_rows(cloud, _rows(kernel, cloud, score))
    return [m / len(m) for m in moved]


def _rows(
    kernel: Kernel, cloud: Cloud, score: Matrices
) -> Callable[[Matrices, jax.Array], Matrices]:
    """A function from some particles to M times their direction, over all particles as sources."""
    theta, eta2 = cloud.theta, cloud.eta2
    c = kernel.constant_slope(eta2)
    narrow = len(theta) == 1 and theta[0].shape[1] <= NARROW
    if c is not None:
        source = [s - c * t for s, t in zip(score, theta, strict=True)]
        if narrow:  # a column of ones sums the kernel's rows on the way
            source = [jnp.concatenate([source[0], jnp.ones_like(theta[0][:, :1])], axis=1)]

    def rows(here: Matrices, sq: jax.Array) -> Matrices:
        k, slope = kernel(sq, eta2)
        if c is None:
            push = k * slope
            mass = jnp.sum(push, axis=1, keepdims=True)
            pulled = [k @ s - push @ t for s, t in zip(score, theta, strict=True)]
        elif narrow:
            summed = k @ source[0]
            pulled, mass = [summed[:, :-1]], c * summed[:, -1:]
        else:
            pulled, mass = [k @ v for v in source], c * jnp.sum(k, axis=1, keepdims=True)
        return [p + mass * t for p, t in zip(pulled, here, strict=True)]

    return rows


def _grouped(key: jax.Array, size: int, kernel: Kernel, cloud: Cloud, score: Matrices) -> Matrices:
    """Deal the shuffled particles out to groups like cards, so that sizes differ by one at most."""
    theta, eta2 = cloud.theta, cloud.eta2
    count = len(theta[0])
    groups = count // size
    most = -(-count // groups)
    cards = jnp.pad(distinct(key, count, count), (0, groups * most - count))
    dealt = cards.reshape(most, groups).T
    present = (jnp.arange(groups * most) < count).reshape(most, groups).T

    def one(members: jax.Array, here: jax.Array) -> Matrices:
        t, s = ([jnp.take(m, members, axis=0) for m in ms] for ms in (theta, score))
        k, slope = kernel(squared_distances(t, t), eta2)
        others = (count - 1) / (jnp.sum(here) - 1).astype(k.dtype)
        own = jnp.eye(most, dtype=k.dtype)
        k = k * (own + (1 - own) * others) * here.astype(k.dtype)
        push = k * slope
        mass = jnp.sum(push, axis=1, keepdims=True)
        return [k @ s_ - push @ t_ + mass * t_ for s_, t_ in zip(s, t, strict=True)]

    moved = jax.vmap(one)(dealt, present)
    # absent cards repeat particle 0 and must not be counted: they go to a row that is cut off
    rows = jnp.where(present, dealt, count).reshape(-1)
    return [
        jnp.zeros((count + 1, m.shape[-1]), m.dtype)
        .at[rows]
        .set(m.reshape(-1, m.shape[-1]))[:count]
        for m in moved
    ]
