"""Particles as matrices, their distances and the bandwidth: what every sum over pairs begins with.

Distances come from one Gram product of centred particles (centring costs nothing and keeps float32
from cancelling far from the origin). In few dimensions (`DIRECT_DIMENSIONS`) differences are taken
directly: cheaper than a product with so few terms, and exact. Particles are pytrees; each leaf
takes part as an M × n matrix (small ones are first joined), and nothing larger than M × M or M × n
is ever built. A sum over pairs is had in three ways, with the same answer:

* **dense** up to `DENSE_PARTICLES`: one M × M kernel matrix, of which a device has its own rows
  where particles are sharded;
* **tiled** above: `TILE_ROWS` rows of the kernel matrix at a time, fewer where they would have more
  than `TILE_ENTRIES` entries, never an M × M array. In few dimensions, where little is done with an
  entry, it is twice as many rows and at most `CACHED_ENTRIES`: a tile that leaves the cache costs
  a tenth more;
* **in a ring** where particles are sharded over devices (`ring.py`): what a sum is over travels,
  and above `DENSE_PARTICLES` the particles with it, to be met in tiles.
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from spos.cloud import Matrices, flatten, from_matrices, leaf_matrices, matrices, mean, unflatten
from spos.interaction import bandwidth as bandwidths
from spos.interaction import ring
from spos.interaction.kernels import Kernel, MedianRule
from spos.mesh import shards
from spos.types import Particles, PyTree, State

DENSE_PARTICLES = 4096
TILE_ROWS = 256
TILE_ENTRIES = 2**26
CACHED_ENTRIES = 2**21
DIRECT_DIMENSIONS = 4
BLOCK_ENTRIES = 2**18  # of the kernel matrices of single entries that are worked on at once

# what a sum over pairs gives every particle, and the bandwidth η² it used
Direction = tuple[Particles, jax.Array]
Rows = Callable[..., Matrices]  # (here, sq, *beside)
Finish = Callable[[Matrices, Matrices], Matrices]  # (sums, here)


class Cloud(NamedTuple):
    """Centred particles, the bandwidth η² and, unless they are too many, all squared distances: of
    the particles of this device, to all."""

    theta: Matrices
    eta2: jax.Array
    sq: jax.Array | None


def prepare(kernel: Kernel, rows: Matrices, state: State | None, all_pairs: bool = True) -> Cloud:
    """The cloud of these rows; `state` says when the bandwidth is due and what it was, and can be
    None where it is fixed."""
    centre = [shards.mean(mean(r)) for r in rows]
    theta = [r - c for r, c in zip(rows, centre, strict=True)]
    dense = all_pairs and len(theta[0]) * shards.number() <= DENSE_PARTICLES
    sq = _distances_to_all(theta) if dense else None
    return Cloud(theta, _bandwidth(kernel, theta, sq, _resolution(centre), state), sq)


def num_particles(cloud: Cloud) -> int:
    """M, those on other devices too."""
    return len(cloud.theta[0]) * shards.number()


def without_memory(state: State) -> State:
    """What a sum over pairs needs of a state beside the particles: the step and the bandwidth."""
    return State((), state.step, state.bandwidth, ())


def by_rows(cloud: Cloud, rows: Rows, *beside: jax.Array) -> Matrices:
    """`rows(here, sq, *beside)` for all particles: at once, or tile by tile. `here` are the
    particles of a tile, `sq` their distances to all, `beside` their rows of further matrices."""
    if cloud.sq is not None:
        return rows(cloud.theta, cloud.sq, *beside)
    return _by_tiles(cloud.theta, cloud.theta, rows, beside)


def sum_over(
    cloud: Cloud,
    sum_from: Callable[..., Rows],
    *sources: PyTree,
    beside: Sequence[jax.Array] = (),
    finish: Finish = lambda sums, here: sums,
    where: bool = True,
) -> Matrices:
    """A sum over all particles for each particle: by rows or, over devices, in a ring.

    Args:
        cloud: the particles.
        sum_from: `sum_from(theta, *sources)` has all that belongs to the particles that are summed
            over, and gives `rows(here, sq, *beside)` as `by_rows` wants it. What it gives for two
            sets of sources must add up.
        sources: pytrees of matrices with a row for each particle.
        beside: matrices with a row for each particle that `rows` gets the tile's rows of.
        finish: `finish(sums, here)`, what is made of the sums when they are whole.
        where: does `sum_from` use `theta`? If not, particles whose distances are known stay at
            home, and it is given none.
    """
    if not shards.inside():
        rows = sum_from(cloud.theta, *sources)
        return by_rows(cloud, lambda *tile: finish(rows(*tile), tile[0]), *beside)

    def visit(origin: jax.Array, theta: Matrices, *sources: PyTree) -> Matrices:
        rows = sum_from(theta, *sources)
        if cloud.sq is None:
            return _by_tiles(cloud.theta, theta, rows, beside)
        block = len(cloud.sq)
        sq = jax.lax.dynamic_slice_in_dim(cloud.sq, origin * block, block, axis=1)
        return rows(cloud.theta, sq, *beside)

    travelling = cloud.theta if where or cloud.sq is None else []
    return finish(ring.around(visit, travelling, *sources), cloud.theta)


def _by_tiles(here: Matrices, theta: Matrices, rows: Rows, beside: Sequence[jax.Array]) -> Matrices:
    count = len(here[0])
    most, entries = TILE_ROWS, TILE_ENTRIES
    if _direct(theta):
        most, entries = 2 * TILE_ROWS, min(entries, CACHED_ENTRIES)
    block = max(1, min(most, entries // len(theta[0])))
    blocks = -(-count // block)
    if blocks == 1 and shards.inside():
        return rows(here, squared_distances(here, theta), *beside)

    def tiles(matrix: jax.Array) -> jax.Array:
        return jnp.pad(matrix, ((0, blocks * block - count), (0, 0))).reshape(blocks, block, -1)

    moved = jax.lax.map(
        lambda tile: rows(tile[0], squared_distances(tile[0], theta), *tile[1]),
        ([tiles(t) for t in here], [tiles(b) for b in beside]),
    )
    return [m.reshape(blocks * block, -1)[:count] for m in moved]


def by_blocks(
    kernel: Kernel, one: Callable[..., tuple[Matrices, jax.Array]], *trees: Particles
) -> tuple[Particles, jax.Array]:
    """`one(*matrices) -> (direction, bandwidth)` for each block of parameters that has a kernel of
    its own, the bandwidths as their geometric mean. Without blocks the particle is one."""
    if kernel.blocks is None:
        moved, eta2 = one(*(matrices(tree) for tree in trees))
        return from_matrices(moved, trees[0]), eta2
    if kernel.blocks == "leaf":
        leaves = zip(*(leaf_matrices(tree) for tree in trees), strict=True)
        found = [one(*([leaf] for leaf in block)) for block in leaves]
        eta2 = jnp.stack([width for _, width in found])
        moved = [direction for (direction,), _ in found]
        return from_matrices(moved, trees[0]), jnp.exp(jnp.mean(jnp.log(eta2)))
    columns = [flatten(tree).T[:, :, None] for tree in trees]
    at_once = max(1, BLOCK_ENTRIES // columns[0].shape[1] ** 2)
    (entries,), eta2 = jax.lax.map(
        lambda column: one(*([c] for c in column)), columns, batch_size=at_once
    )
    return unflatten(entries[:, :, 0].T, trees[0]), jnp.exp(jnp.mean(jnp.log(eta2)))


def squared_distances(here: Matrices, theta: Matrices) -> jax.Array:
    if _direct(theta):
        columns = zip(here[0].T, theta[0].T, strict=True)
        return functools.reduce(jnp.add, [(a[:, None] - b[None, :]) ** 2 for a, b in columns])
    gram = _gram(here, theta)
    if here is theta:  # its own diagonal makes the distance of a particle to itself exactly zero
        left = right = jnp.diagonal(gram)
    else:
        left, right = _norms(here), _norms(theta)
    return jnp.maximum(left[:, None] + right[None, :] - 2.0 * gram, 0.0)


def _distances_to_all(theta: Matrices) -> jax.Array:
    """Of the particles of this device to those of all devices."""
    if not shards.inside():
        return squared_distances(theta, theta)
    if _direct(theta):
        return ring.own_rows(lambda here: squared_distances(theta, here), theta)
    gram = ring.own_rows(lambda here: _gram(theta, here), theta)
    block = len(gram)
    own = jnp.diagonal(jax.lax.dynamic_slice_in_dim(gram, shards.index() * block, block, axis=1))
    return jnp.maximum(own[:, None] + ring.everywhere(own)[None, :] - 2.0 * gram, 0.0)


def _gram(here: Matrices, theta: Matrices) -> jax.Array:
    products = [
        jax.lax.dot_general(a, b, (((1,), (1,)), ((), ())))
        for a, b in zip(here, theta, strict=True)
    ]
    return functools.reduce(jnp.add, products)


def _direct(theta: Matrices) -> bool:
    return len(theta) == 1 and theta[0].shape[1] <= DIRECT_DIMENSIONS


def _norms(theta: Matrices) -> jax.Array:
    return functools.reduce(jnp.add, [jnp.sum(t * t, axis=1) for t in theta])


def _pair_distances(theta: Matrices, sq: jax.Array | None) -> jax.Array:
    """Squared distances of the pairs whose median is taken, from all of them if there are."""
    if shards.inside():
        return ring.pair_distances(theta) if sq is None else ring.known_distances(sq)
    count = len(theta[0])
    i, j = bandwidths.pairs(count)
    if _direct(theta):  # one gather a column: gathering short rows is slow, and so is keeping `sq`
        return functools.reduce(jnp.add, [(x[i] - x[j]) ** 2 for x in theta[0].T])
    if sq is not None:
        return sq.reshape(-1)[i * count + j]
    return functools.reduce(jnp.add, [jnp.sum((t[i] - t[j]) ** 2, axis=1) for t in theta])


def _resolution(centre: Matrices) -> jax.Array:
    """The squared distance below which particles around `centre` are the same float."""
    length = functools.reduce(jnp.add, [jnp.sum(c * c) for c in centre])
    return (4 * jnp.finfo(length.dtype).eps) ** 2 * length


def _bandwidth(
    kernel: Kernel,
    theta: Matrices,
    sq: jax.Array | None,
    resolution: jax.Array,
    state: State | None,
) -> jax.Array:
    dtype = theta[0].dtype
    rule = kernel.bandwidth
    if not isinstance(rule, MedianRule):
        return jnp.asarray(rule, dtype)

    def fresh() -> jax.Array:
        distances = _pair_distances(theta, sq)
        count = len(theta[0]) * shards.number()
        return bandwidths.median_rule(distances, count, resolution).astype(dtype)

    if rule.every == 1 or state is None:
        return fresh()
    due = state.step % rule.every == 0
    return jax.lax.cond(due, fresh, lambda: state.bandwidth.astype(dtype))
