"""The Stein direction.

    stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]
            = (1/M) Σ_j k_ij [ s_j + slope_ij (θ_i - θ_j) ]        (slope: see `kernels.py`)

Everything is a matrix product. With one slope c for all pairs, the sums merge into a single one,

    stein = (1/M) [ K (s - c θ) + c θ ∘ rowsum(K) ].

Beside the dense and the tiled sum there are **random groups** (`group_size=b`): each step splits
the particles at random into groups of b that feel only each other, the pairs weighted up by
(M - 1)/(b - 1). Unbiased over the splits, and O(M b) instead of O(M²).
"""

import functools

import jax
import jax.numpy as jnp

from spos.cloud import NARROW, Matrices
from spos.interaction import ring
from spos.interaction.kernels import Kernel
from spos.interaction.pairwise import (
    Cloud,
    Direction,
    Rows,
    by_blocks,
    num_particles,
    prepare,
    squared_distances,
    sum_over,
    without_memory,
)
from spos.mesh import shards
from spos.mesh.shards import ALL, OWN
from spos.targets.shuffle import permuted
from spos.types import Particles, State


def stein(
    kernel: Kernel,
    key: jax.Array,
    state: State,
    scores: Particles,
    group_size: int | None = None,
) -> Direction:
    """The Stein direction of every particle, and the bandwidth η² it used."""

    def direction(
        kernel: Kernel, key: jax.Array, state: State, particles: Particles, scores: Particles
    ) -> Direction:
        def one(rows: Matrices, score: Matrices) -> tuple[Matrices, jax.Array]:
            count = len(rows[0]) * shards.number()
            if group_size is None or group_size >= count:
                cloud = prepare(kernel, rows, state)
                return stein_of(kernel, cloud, score), cloud.eta2
            cloud = prepare(kernel, rows, state, all_pairs=False)
            moved = _grouped(key, group_size, kernel, cloud, score)
            return [m / count for m in moved], cloud.eta2

        return by_blocks(kernel, one, particles, scores)

    return shards.by_shards(direction, (ALL, ALL, ALL, OWN, OWN), (OWN, ALL))(
        kernel, key, without_memory(state), state.particles, scores
    )


def stein_of(kernel: Kernel, cloud: Cloud, score: Matrices) -> Matrices:
    """The direction within a cloud, over all pairs."""
    c = kernel.constant_slope(cloud.eta2)
    if c is None:
        two = functools.partial(_two_sums, kernel, cloud.eta2)
        moved = sum_over(cloud, two, score, finish=_with_push)
    else:
        source = [s - c * t for s, t in zip(score, cloud.theta, strict=True)]
        one = functools.partial(_one_sum, kernel, cloud.eta2, c)
        moved = sum_over(cloud, one, source, finish=_with_push, where=False)
    return [m / num_particles(cloud) for m in moved]


def _one_sum(
    kernel: Kernel, eta2: jax.Array, c: jax.Array, theta: Matrices, source: Matrices
) -> Rows:
    """A function from some particles to what these sources, s - c θ, pull at them and, last, to
    how much pushes."""
    narrow = len(source) == 1 and source[0].shape[1] <= NARROW
    if narrow:  # a column of ones sums the kernel's rows on the way
        source = [jnp.concatenate([source[0], jnp.ones_like(source[0][:, :1])], axis=1)]

    def rows(here: Matrices, sq: jax.Array) -> Matrices:
        k, _ = kernel(sq, eta2)
        if narrow:
            summed = k @ source[0]
            return [summed[:, :-1], c * summed[:, -1:]]
        return [*(k @ v for v in source), c * jnp.sum(k, axis=1, keepdims=True)]

    return rows


def _two_sums(kernel: Kernel, eta2: jax.Array, theta: Matrices, score: Matrices) -> Rows:
    """The same where the slope depends on the distance."""

    def rows(here: Matrices, sq: jax.Array) -> Matrices:
        k, slope = kernel(sq, eta2)
        push = k * slope
        pulled = [k @ s - push @ t for s, t in zip(score, theta, strict=True)]
        return [*pulled, jnp.sum(push, axis=1, keepdims=True)]

    return rows


def _with_push(sums: Matrices, here: Matrices) -> Matrices:
    *pulled, mass = sums
    return [p + mass * t for p, t in zip(pulled, here, strict=True)]


def _grouped(key: jax.Array, size: int, kernel: Kernel, cloud: Cloud, score: Matrices) -> Matrices:
    """Deal the shuffled particles out to groups like cards, so that sizes differ by one at most.
    Each device has its share of the groups, whose members come to it from all devices."""
    eta2, count = cloud.eta2, num_particles(cloud)
    groups = count // size
    most = -(-count // groups)
    share = -(-groups // shards.number())
    group = shards.index() * share + jnp.arange(share)
    card = group[:, None] + groups * jnp.arange(most)
    present = (card < count) & (group < groups)[:, None]
    shuffled = permuted(key, jnp.where(present, card, 0).reshape(-1).astype(jnp.uint32), count)
    dealt = shuffled.reshape(share, most)
    members = ring.collect(dealt, [*cloud.theta, *score])

    def one(rows: Matrices, here: jax.Array) -> Matrices:
        t, s = rows[: len(score)], rows[len(score) :]
        k, slope = kernel(squared_distances(t, t), eta2)
        others = (count - 1) / (jnp.sum(here) - 1).astype(k.dtype)
        own = jnp.eye(most, dtype=k.dtype)
        k = k * (own + (1 - own) * others) * here.astype(k.dtype)
        push = k * slope
        mass = jnp.sum(push, axis=1, keepdims=True)
        return [k @ s_ - push @ t_ + mass * t_ for s_, t_ in zip(s, t, strict=True)]

    moved = jax.vmap(one)(members, present)
    # absent cards repeat a particle and must not be counted: their rows go nowhere
    rows = jnp.where(present, dealt, count).reshape(-1)
    return ring.deliver(rows, [m.reshape(-1, m.shape[-1]) for m in moved], len(score[0]))
