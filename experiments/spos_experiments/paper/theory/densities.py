"""The three targets, all with standard deviation 1/2."""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

CURVATURE, DEVIATION, ETA2 = 4.0, 0.5, 4.0  # CURVATURE = 1/DEVIATION²
SCALE = DEVIATION * math.sqrt(3) / math.pi  # of the logistic density
SPLIT, WIDTH = 0.42, math.sqrt(DEVIATION**2 - 0.42**2)  # of the mixture


class Density(NamedTuple):
    """A target on the line, and the constants that the theory asks for."""

    log_prob: Callable[[jax.Array], jax.Array]
    draw: Callable[[jax.Array, int], jax.Array]
    quantile: Callable[[np.ndarray], np.ndarray]
    lipschitz: float
    convexity: float


def _normal_quantile(u: np.ndarray) -> np.ndarray:
    return np.array([NormalDist(0, DEVIATION).inv_cdf(x) for x in u])


def _mixture_quantile(u: np.ndarray) -> np.ndarray:
    x = np.linspace(-4, 4, 20001)
    halves = [np.array([NormalDist(m, WIDTH).cdf(y) for y in x]) for m in (-SPLIT, SPLIT)]
    return np.interp(u, 0.5 * (halves[0] + halves[1]), x)


def _mixture_draw(key: jax.Array, count: int) -> jax.Array:
    left, right = jax.random.split(key)
    side = jax.random.rademacher(left, (count,), float)
    return SPLIT * side + WIDTH * jax.random.normal(right, (count,))


DENSITIES = {
    "Gaussian": Density(
        lambda x: -0.5 * CURVATURE * x * x,
        lambda key, count: DEVIATION * jax.random.normal(key, (count,)),
        _normal_quantile,
        CURVATURE,
        CURVATURE,
    ),
    "logistic": Density(
        lambda x: -x / SCALE - 2 * jax.nn.softplus(-x / SCALE),
        lambda key, count: SCALE * jax.random.logistic(key, (count,)),
        lambda u: SCALE * np.log(u / (1 - u)),
        1 / (2 * SCALE**2),
        0.0,
    ),
    "mixture": Density(
        lambda x: jnp.logaddexp(SPLIT * x / WIDTH**2, -SPLIT * x / WIDTH**2) - x * x / 2 / WIDTH**2,
        _mixture_draw,
        _mixture_quantile,
        abs(1 - (SPLIT / WIDTH) ** 2) / WIDTH**2,
        (1 - (SPLIT / WIDTH) ** 2) / WIDTH**2,
    ),
}
