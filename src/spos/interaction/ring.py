"""Sums over pairs of particles that are on different devices: blocks travel round a ring.

Device p has the particles of block p. In P - 1 turns it passes the block that it holds on to its
neighbour (`ppermute`) and meanwhile adds what that block does to its own particles, so that after
them every particle has met every other. A device never holds more than its own block and two that
travel: O(M d / P) numbers, beside the tile of the kernel matrix it works on. All of this is called
inside of `shards.by_shards`; `collect` and `deliver` work on one device, too.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos.cloud import Matrices
from spos.interaction import bandwidth as bandwidths
from spos.mesh import shards
from spos.types import PyTree

Visit = Callable[..., PyTree]  # (origin, *blocks) -> what is added


def around(visit: Visit, *blocks: PyTree) -> PyTree:
    """Σ over all devices q of `visit(q, *blocks of q)`, on every device its own sum.

    The first visit is by the device's own blocks, themselves and not a copy.
    """
    turns, own = shards.number() - 1, shards.index()
    total = visit(own, *blocks)
    if turns == 0:
        return total

    def turn(n: jax.Array, carry: tuple[PyTree, PyTree]) -> tuple[PyTree, PyTree]:
        total, here = carry
        return _add(total, visit((own - n) % (turns + 1), *here)), _passed_on(here)

    total, here = jax.lax.fori_loop(1, turns, turn, (total, _passed_on(blocks)))
    return _add(total, visit((own - turns) % (turns + 1), *here))


def pair_distances(theta: Matrices) -> jax.Array:
    """Squared distances of the pairs whose median is taken, in the order of `bandwidths.pairs`.

    Only rows that are the second of a pair travel."""
    block, count = len(theta[0]), shards.number()
    plan = _plan(block, count)
    own = shards.index()

    def visit(origin: jax.Array, here: Matrices) -> jax.Array:
        mine, theirs, slot = (jnp.asarray(table)[own, origin] for table in plan.pairs)
        sq = functools.reduce(
            jnp.add,
            [jnp.sum((t[mine] - h[theirs]) ** 2, axis=1) for t, h in zip(theta, here, strict=True)],
        )
        return jnp.zeros(plan.total, sq.dtype).at[slot].add(sq, mode="drop")

    chosen = jnp.asarray(plan.chosen)[own]
    return jax.lax.psum(around(visit, [t[chosen] for t in theta]), shards.AXIS)


def known_distances(sq: jax.Array) -> jax.Array:
    """The same where each device has the squared distances of its own particles to all."""
    block, count = sq.shape
    first, second = bandwidths.pairs(count)
    row = first - shards.index() * block
    mine = (row >= 0) & (row < block)
    return jax.lax.psum(jnp.where(mine, sq[jnp.where(mine, row, 0), second], 0.0), shards.AXIS)


class Plan(NamedTuple):
    """Who compares whom for the median."""

    chosen: np.ndarray  # (P, n): the rows of each block that travel
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray]  # (P, P, n) each: own row, visitor, place
    total: int


@functools.lru_cache(maxsize=8)
def _plan(block: int, count: int) -> Plan:
    """The device that has the first of a pair compares it when the block of the second visits."""
    first, second = bandwidths.pairs(block * count)
    total = len(first)
    found = [np.unique(second[second // block == q]) for q in range(count)]
    chosen = np.zeros((count, max(1, *map(len, found))), np.int32)
    for q, rows in enumerate(found):
        chosen[q, : len(rows)] = rows - q * block
    position = np.zeros(block * count, np.int32)
    for rows in found:
        position[rows] = np.arange(len(rows))
    cell = (first // block) * count + second // block
    order = np.argsort(cell, kind="stable")
    sizes = np.bincount(cell, minlength=count * count)
    column = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    tables = [np.zeros((count * count, max(1, sizes.max())), np.int32) for _ in range(3)]
    tables[2][:] = total  # no pair: not written
    sorted_pairs = ((first % block)[order], position[second][order], order)
    for table, values in zip(tables, sorted_pairs, strict=True):
        table[cell[order], column] = values
    mine, theirs, slot = (table.reshape(count, count, -1) for table in tables)
    return Plan(chosen, (mine, theirs, slot), total)


def collect(places: jax.Array, matrices: Matrices) -> Matrices:
    """The rows of these numbers, counted over all devices; `places` may have any shape."""
    if not shards.inside():
        return [jnp.take(m, places, axis=0) for m in matrices]

    def visit(origin: jax.Array | int, here: Matrices) -> Matrices:
        local = places - origin * len(here[0])
        mine = (local >= 0) & (local < len(here[0]))
        return [
            jnp.where(mine[..., None], jnp.take(h, jnp.where(mine, local, 0), axis=0), 0)
            for h in here
        ]

    return around(visit, matrices)


def deliver(places: jax.Array, rows: Matrices, block: int) -> Matrices:
    """Undo `collect`: each row to the device that has its number; numbers beyond all of them are
    dropped, and each of the others comes once. `block` is how many rows a device has."""
    if not shards.inside():
        room = [jnp.zeros((block + 1, r.shape[-1]), r.dtype) for r in rows]
        return [m.at[places].set(r)[:block] for m, r in zip(room, rows, strict=True)]
    own = shards.index()

    def visit(origin: jax.Array | int, places: jax.Array, rows: Matrices) -> Matrices:
        local = places - own * block
        mine = jnp.where((local >= 0) & (local < block), local, block)
        return [jnp.zeros((block, r.shape[-1]), r.dtype).at[mine].set(r, mode="drop") for r in rows]

    return around(visit, places, rows)


def own_rows(blocks_of: Callable[[Matrices], jax.Array], theta: Matrices) -> jax.Array:
    """The rows of this device of an M × M matrix, from `blocks_of(visitor)`, the columns that a
    visiting block has in them."""
    block = len(theta[0])

    def visit(origin: jax.Array, here: Matrices) -> jax.Array:
        part = blocks_of(here)
        slab = jnp.zeros((block, block * shards.number()), part.dtype)
        return jax.lax.dynamic_update_slice(slab, part, (0, origin * block))

    return around(visit, theta)


def everywhere(own: jax.Array) -> jax.Array:
    """One number of each particle, those of all devices."""
    room = jnp.zeros(len(own) * shards.number(), own.dtype)
    placed = jax.lax.dynamic_update_slice(room, own, (shards.index() * len(own),))
    return jax.lax.psum(placed, shards.AXIS)


def _passed_on(blocks: PyTree) -> PyTree:
    count = shards.number()
    ring = [(n, (n + 1) % count) for n in range(count)]
    return jax.tree.map(lambda block: jax.lax.ppermute(block, shards.AXIS, ring), blocks)


def _add(one: PyTree, other: PyTree) -> PyTree:
    return jax.tree.map(jnp.add, one, other)
