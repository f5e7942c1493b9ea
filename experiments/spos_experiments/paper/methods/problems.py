"""The four targets, with all that is known of them exactly."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos.targets.analytic import gaussian
from spos_experiments.paper.methods.settings import Settings

MODES, RADIUS, WIDTH = 5, 2.5, 0.5
BANANA_WIDTH = 0.5


class Problem(NamedTuple):
    """A target, where particles start, its exact moments, and exact draws."""

    target: Callable[[jax.Array], jax.Array]
    start: Callable[[jax.Array], jax.Array]
    mean: np.ndarray
    covariance: np.ndarray
    draws: np.ndarray


def problem(name: str, settings: Settings, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    count, draws = settings.particles, settings.draws
    if name == "banana":
        first = rng.normal(size=draws)
        second = first**2 - 1 + BANANA_WIDTH * rng.normal(size=draws)
        covariance = np.diag([1.0, 2.0 + BANANA_WIDTH**2])
        return _problem(_banana, 0.0, 1.0, count, np.zeros(2), covariance, [first, second])
    if name == "modes":
        spots = centres()
        points = spots[rng.integers(MODES, size=draws)] + WIDTH * rng.normal(size=(draws, 2))
        covariance = (WIDTH**2 + RADIUS**2 / 2) * np.eye(2)
        return _problem(_modes, spots[0], WIDTH, count, np.zeros(2), covariance, points.T)
    if name == "wide":
        size, off = settings.wide_dimensions, 0.0
        covariance = np.eye(size)
    else:
        places = np.arange(5)
        size, off = 5, 2.0
        covariance = 0.9 ** np.abs(places[:, None] - places)
    points = rng.normal(size=(draws, size)) @ np.linalg.cholesky(covariance).T
    target = gaussian(np.zeros(size), covariance)
    return _problem(target, off, 1.0, count, np.zeros(size), covariance, points.T)


def _problem(target, centre, width, count, mean, covariance, columns) -> Problem:
    draws = np.stack(columns, axis=1).astype(np.float32)

    def start(key: jax.Array) -> jax.Array:
        return jnp.asarray(centre) + width * jax.random.normal(key, (count, len(mean)))

    return Problem(target, start, mean, covariance, draws)


def _banana(theta: jax.Array) -> jax.Array:
    above = theta[1] - theta[0] ** 2 + 1.0
    return -0.5 * theta[0] ** 2 - 0.5 * (above / BANANA_WIDTH) ** 2


def centres() -> np.ndarray:
    angle = 2 * np.pi * np.arange(MODES) / MODES
    return RADIUS * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _modes(theta: jax.Array) -> jax.Array:
    sq = jnp.sum((theta - jnp.asarray(centres(), theta.dtype)) ** 2, axis=1)
    return jax.nn.logsumexp(-0.5 * sq / WIDTH**2)
