"""Where a tall posterior has its mass: its mode, its curvature there, and whether it has another.

With N rows a posterior is close to a normal law around its mode c with the covariance H⁻¹, where
H = -∇² log p(c). So it is first searched for on a few fixed minibatches, from several starts, and
then, in the coordinates that these give, on all the data:

    θ = c + L z,   L Lᵀ = H⁻¹,      z ← z + Lᵀ ∇ log p(θ)      until the score is small

In z the curvature is one, so that a handful of such steps is enough. What costs most is H itself,
one product with the Hessian, twice a gradient, for each parameter.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from spos.programs import compiled
from spos.targets.mode import descend
from spos.targets.target import Target
from spos.types import Particles, PyTree

STARTS, BATCHES = 4, 16  # from where, and on how much, a mode is looked for
CLIMBS, NEWTONS, CHORDS, CURVATURES = 150, 8, 25, 4
MOST_PARAMETERS = 1000
FLAT = 0.05  # the length of the score in z, for each parameter, at which a mode is found
ROUGHLY_FLAT = 10 * FLAT  # single precision may not come nearer
APART = 1.0  # modes that are so many standard deviations apart are two
LOWER = 10.0  # nats: a mode that has so much less of the mass does not count


class NoModeError(ValueError):
    """There is no mode around which a minibatch's score could be corrected."""


class Place(NamedTuple):
    """Where the mass is.

    Attributes:
        centre: the mode, flat.
        factor: L.
        score: that of all the data at the centre, flat.
        steepness: the length of Lᵀ times it, for each parameter.
        others: how many other modes have a share of the mass.
        passes: over all the data, in gradients, that it took to find out.
    """

    centre: np.ndarray
    factor: np.ndarray
    score: np.ndarray
    steepness: float
    others: int
    passes: int


def look(target: Target, first: Particles, num_examples: int, batch_size: int, seed: int) -> Place:
    """Search for the mode.

    Args:
        target: one with minibatches.
        first: particles, some of which are starts of the search.
        num_examples: N.
        batch_size: B.
        seed: of the minibatches that are searched first.

    Returns:
        The highest mode that was found.

    Raises:
        NoModeError: there is none, or the model has too many parameters.
    """
    like = jax.tree.map(lambda leaf: leaf[0], first)
    size = ravel_pytree(like)[0].size
    if size > MOST_PARAMETERS:
        raise NoModeError(
            f"there are {size} parameters, and with minibatches at most {MOST_PARAMETERS}, since "
            "their curvature is needed: leave out batch_size"
        )
    count = len(jax.tree.leaves(first)[0])
    rows = np.unique(np.linspace(0, count - 1, min(STARTS, count)).astype(int))
    starts = jnp.stack([ravel_pytree(jax.tree.map(lambda x, r=r: x[r], first))[0] for r in rows])
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), 7), BATCHES)
    ends = np.asarray(_climb(target, like, keys, starts, num_examples), np.float64)
    few: list[tuple[np.ndarray, np.ndarray]] = []
    for end in ends:
        found = _newton(target, like, keys, end)
        if found is not None and all(_apart(found[0], *other) for other in few):
            few.append(found)
    if not few:
        raise NoModeError(
            "no mode was found: the log-density on a few minibatches has no highest point near "
            "any start, or is flat in a direction; give every parameter a proper prior, or leave "
            "out batch_size"
        )
    places = [each for found in few if (each := _on_all(target, like, *found)) is not None]
    if not places:
        raise NoModeError(
            "no mode was found: what looked like one on a few minibatches is none on all the "
            "data; leave out batch_size"
        )
    heights = [height for _, height in places]
    best, _ = places[int(np.argmax(heights))]
    apart = [p for p, h in places if max(heights) - h < LOWER and p is not best]
    others = [p for p in apart if _apart(p.centre, best.centre, best.factor)]
    # at most: each step of L-BFGS looks twice, and each of Newton's needs the curvature
    looks = len(starts) * (4 * CLIMBS + NEWTONS * (2 * size + 1)) * BATCHES * batch_size
    passes = sum(p.passes for p, _ in places) - (-looks // num_examples)
    return best._replace(others=len(others), passes=passes)


def _newton(
    target: Target, like: PyTree, keys: jax.Array, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """A mode of a few minibatches and its factor, from nearby; None if there is none."""
    for _ in range(NEWTONS):
        score, curvature = _second_order(target, like, keys, jnp.asarray(theta, jnp.float32))
        if (factor := _root(curvature)) is None:
            return None
        move = factor @ (factor.T @ np.asarray(score, np.float64))
        length = float(np.linalg.norm(factor.T @ np.asarray(score, np.float64)))
        theta = theta + move / max(1.0, length / 3.0 / np.sqrt(len(theta)))
        if length < 0.1 * np.sqrt(len(theta)):
            return theta, factor
    return None


def _on_all(
    target: Target, like: PyTree, theta: np.ndarray, factor: np.ndarray
) -> tuple[Place, float] | None:
    """The mode of all the data and its height, from that of a few minibatches."""
    passes, last = 0, np.inf
    for _ in range(CURVATURES):
        _, curvature = _second_order(target, like, None, jnp.asarray(theta, jnp.float32))
        passes += 2 * len(theta)
        found = _root(curvature)
        if found is None:
            return None
        factor, moved, steepness, kept = found, 0.0, np.inf, theta
        for _ in range(CHORDS):
            score = np.asarray(_full_score(target, like, jnp.asarray(theta, jnp.float32)), float)
            slope, before = factor.T @ score, steepness
            steepness = float(np.linalg.norm(slope)) / np.sqrt(len(theta))
            passes += 1
            if not steepness < before:  # too far: back
                theta, steepness = kept, before
                break
            if steepness < FLAT:
                break
            move = slope / max(1.0, steepness)
            kept, theta = theta, theta + factor @ move
            moved += float(np.linalg.norm(move))
        near = moved < np.sqrt(len(theta))  # the curvature was taken near enough
        if near and (steepness < FLAT or not steepness < last / 2.0):
            break
        last = steepness
    if not steepness < ROUGHLY_FLAT:
        return None
    flat = jnp.asarray(theta, jnp.float32)
    score = np.asarray(_full_score(target, like, flat), np.float64)  # where the centre really is
    steepness = float(np.linalg.norm(factor.T @ score)) / np.sqrt(len(theta))
    height = float(_height(target, like, flat)) + float(np.linalg.slogdet(factor)[1])
    return Place(np.asarray(flat), factor, score, steepness, 0, passes + 2), height


def _root(curvature: Any) -> np.ndarray | None:
    """L with L Lᵀ = H⁻¹; None where H is not positive."""
    matrix = np.asarray(curvature, np.float64)
    if not np.isfinite(matrix).all():
        return None
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    values, vectors = np.linalg.eigh(matrix * scale * scale[:, None])
    if not values[0] > 1e-6:  # of float32, what is below is noise
        return None
    return scale[:, None] * vectors / np.sqrt(values)


def _apart(theta: np.ndarray, centre: np.ndarray, factor: np.ndarray) -> bool:
    distance = np.linalg.norm(np.linalg.solve(factor, theta - centre)) / np.sqrt(len(theta))
    return bool(distance > APART)


def _on_few(target: Target, keys: jax.Array, theta: PyTree) -> jax.Array:
    """The mean log-density of fixed minibatches, an estimate of that of all the data."""
    return jnp.mean(jax.lax.map(lambda key: target.log_prob(theta, target.draw(key)), keys))


@compiled()
def _climb(
    target: Target, like: PyTree, keys: jax.Array, starts: jax.Array, num_examples: int
) -> jax.Array:
    unflatten = ravel_pytree(like)[1]

    def lose(flat: jax.Array) -> jax.Array:
        return -_on_few(target, keys, unflatten(flat)) / num_examples

    def one(start: jax.Array) -> jax.Array:
        # twice: the first run ends when the gradient is small beside that of a far start
        return jax.lax.fori_loop(0, 2, lambda _, flat: descend(lose, flat, CLIMBS), start)

    return jax.lax.map(one, starts)


@compiled()
def _second_order(
    target: Target, like: PyTree, keys: jax.Array | None, flat: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The score and -∇² log p, a column at a time, of minibatches or of all the data."""
    unflatten = ravel_pytree(like)[1]

    def log_prob(flat: jax.Array) -> jax.Array:
        theta = unflatten(flat)
        return target.log_prob(theta) if keys is None else _on_few(target, keys, theta)

    def column(direction: jax.Array) -> jax.Array:
        return jax.jvp(jax.grad(log_prob), (flat,), (direction,))[1]

    columns = jax.lax.map(column, jnp.eye(flat.size))
    return jax.grad(log_prob)(flat), -0.5 * (columns + columns.T)


@compiled()
def _full_score(target: Target, like: PyTree, flat: jax.Array) -> jax.Array:
    unflatten = ravel_pytree(like)[1]
    return jax.grad(lambda flat: target.log_prob(unflatten(flat)))(flat)


@compiled()
def _height(target: Target, like: PyTree, flat: jax.Array) -> jax.Array:
    return target.log_prob(ravel_pytree(like)[1](flat))
