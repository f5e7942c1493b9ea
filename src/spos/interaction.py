"""The Stein direction, the one hot spot of every kernel method.

    stein_i = (1/M) Σ_j [ k_ij s_j + ∇_j k_ij ]
            = (1/M) Σ_j k_ij [ s_j + slope_ij (θ_i - θ_j) ]        (slope: see `spos.kernels`)

Everything is a matrix product. Distances come from one Gram product of centred particles
(centring costs nothing and keeps float32 from cancelling far from the origin). With one slope c for
all pairs, the sums merge into a second product,

    stein = (1/M) [ K (s - c θ) + c θ ∘ rowsum(K) ].

Three ways to do it, with the same answer:

* **dense** up to `DENSE_PARTICLES`: one M × M kernel matrix;
* **tiled** above: `TILE_ROWS` rows of the kernel matrix at a time (twice as many in few dimensions,
  fewer where they would have more than `TILE_ENTRIES` entries), never an M × M array;
* **random groups** (`group_size=b`): each step splits the particles at random into groups of b that
  feel only each other, the pairs weighted up by (M - 1)/(b - 1). Unbiased over the splits, and
  O(M b) instead of O(M²).

In few dimensions (`DIRECT_DIMENSIONS`) differences are taken directly: cheaper than a product with
so few terms, and exact. Particles are pytrees; each leaf takes part as an M × n matrix (small ones
are first joined), and nothing larger than M × M or M × n is ever built.
"""

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from spos import bandwidth as bandwidths
from spos import checks
from spos.geometry import NARROW, mean
from spos.kernels import Kernel
from spos.shuffle import distinct
from spos.types import Particles, State

DENSE_PARTICLES = 4096
TILE_ROWS = 256
TILE_ENTRIES = 2**26
DIRECT_DIMENSIONS = 4
JOINED_ENTRIES = 2**20  # a pytree of at most so many numbers is copied into one matrix

Matrices = list[jax.Array]  # each M × n: the particles, cut by columns
# (key, state, scores) -> (direction, bandwidth)
Interaction = Callable[[jax.Array, State, Particles], tuple[Particles, jax.Array]]


def stein(kernel: Kernel, group_size: int | None = None) -> Interaction:
    """The function that gives every particle its Stein direction, and the bandwidth η² it used."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be spos.rbf(...) or spos.imq(...), got {kernel!r}")
    if group_size is not None:
        checks.whole("group_size", group_size, at_least=2)

    def direction(key: jax.Array, state: State, scores: Particles) -> tuple[Particles, jax.Array]:
        rows = _matrices(state.particles)
        centre = [mean(r) for r in rows]
        theta = [r - c for r, c in zip(rows, centre, strict=True)]
        score = _matrices(scores)
        count = len(theta[0])
        grouped = group_size is not None and group_size < count
        sq = None
        if not grouped and count <= DENSE_PARTICLES:
            sq = _squared_distances(theta, theta)
        eta2 = _bandwidth(kernel, theta, sq, _resolution(centre), state)
        if grouped:
            moved = _grouped(key, group_size or count, kernel, eta2, theta, score)
        elif sq is not None:
            moved = _rows(kernel, eta2, theta, score)(theta, sq)
        else:
            moved = _tiled(kernel, eta2, theta, score)
        return _like([m / count for m in moved], state.particles), eta2

    return direction


def _rows(kernel: Kernel, eta2: jax.Array, theta: Matrices, score: Matrices):
    """A function from some particles to M times their direction, over all particles as sources."""
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


def _tiled(kernel: Kernel, eta2: jax.Array, theta: Matrices, score: Matrices) -> Matrices:
    count = len(theta[0])
    most = 2 * TILE_ROWS if _direct(theta) else TILE_ROWS
    block = max(1, min(most, TILE_ENTRIES // count))
    blocks = -(-count // block)
    rows = _rows(kernel, eta2, theta, score)
    padded = [jnp.pad(t, ((0, blocks * block - count), (0, 0))) for t in theta]
    moved = jax.lax.map(
        lambda here: rows(here, _squared_distances(here, theta)),
        [t.reshape(blocks, block, -1) for t in padded],
    )
    return [m.reshape(blocks * block, -1)[:count] for m in moved]


def _grouped(
    key: jax.Array, size: int, kernel: Kernel, eta2: jax.Array, theta: Matrices, score: Matrices
) -> Matrices:
    """Deal the shuffled particles out to groups like cards, so that sizes differ by one at most."""
    count = len(theta[0])
    groups = count // size
    most = -(-count // groups)
    cards = jnp.pad(distinct(key, count, count), (0, groups * most - count))
    dealt = cards.reshape(most, groups).T
    present = (jnp.arange(groups * most) < count).reshape(most, groups).T

    def one(members: jax.Array, here: jax.Array) -> Matrices:
        t, s = ([jnp.take(m, members, axis=0) for m in ms] for ms in (theta, score))
        k, slope = kernel(_squared_distances(t, t), eta2)
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


def _direct(theta: Matrices) -> bool:
    return len(theta) == 1 and theta[0].shape[1] <= DIRECT_DIMENSIONS


def _squared_distances(here: Matrices, theta: Matrices) -> jax.Array:
    if _direct(theta):
        columns = zip(here[0].T, theta[0].T, strict=True)
        return functools.reduce(jnp.add, [(a[:, None] - b[None, :]) ** 2 for a, b in columns])
    products = [
        jax.lax.dot_general(a, b, (((1,), (1,)), ((), ())))
        for a, b in zip(here, theta, strict=True)
    ]
    gram = functools.reduce(jnp.add, products)
    if here is theta:  # its own diagonal makes the distance of a particle to itself exactly zero
        left = right = jnp.diagonal(gram)
    else:
        left, right = _norms(here), _norms(theta)
    return jnp.maximum(left[:, None] + right[None, :] - 2.0 * gram, 0.0)


def _norms(theta: Matrices) -> jax.Array:
    return functools.reduce(jnp.add, [jnp.sum(t * t, axis=1) for t in theta])


def _pair_distances(theta: Matrices, sq: jax.Array | None) -> jax.Array:
    """Squared distances of the pairs whose median is taken, from all of them if there are."""
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
    state: State,
) -> jax.Array:
    dtype = theta[0].dtype
    if kernel.bandwidth != "median":
        return jnp.asarray(kernel.bandwidth, dtype)

    def fresh() -> jax.Array:
        distances = _pair_distances(theta, sq)
        return bandwidths.median_rule(distances, len(theta[0]), resolution).astype(dtype)

    if kernel.refresh_every == 1:
        return fresh()
    due = state.step % kernel.refresh_every == 0
    return jax.lax.cond(due, fresh, lambda: state.bandwidth.astype(dtype))


def _matrices(tree: Particles) -> Matrices:
    leaves = jax.tree.leaves(tree)
    rows = [jnp.reshape(leaf, (len(leaf), -1)) for leaf in leaves]
    if len(rows) > 1 and sum(r.size for r in rows) <= JOINED_ENTRIES:
        return [jnp.concatenate(rows, axis=1)]
    return rows


def _like(matrices: Matrices, particles: Particles) -> Particles:
    """Undo `_matrices`."""
    leaves, treedef = jax.tree.flatten(particles)
    if len(matrices) < len(leaves):
        edges = list(itertools.accumulate(leaf[0].size for leaf in leaves[:-1]))
        matrices = jnp.split(matrices[0], edges, axis=1)
    shaped = [
        m.reshape(leaf.shape).astype(leaf.dtype) for m, leaf in zip(matrices, leaves, strict=True)
    ]
    return jax.tree.unflatten(treedef, shaped)
