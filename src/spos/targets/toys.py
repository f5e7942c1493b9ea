"""Small distributions with known answers, as log-densities of one particle.

**Seven modes on a line**, p ∝ exp(-V) with

    V(θ) = ¾ θ² - 1.5 Σ_i c_i sin(¼ π i (θ + 4)),        i = 1 … 10.

The SPOS paper prints exp(-exp(V)), which does not look like its own figure; `multimode` is the
reading that does, and `multimode_literal` the printed one.

**Four shapes in the plane**, p ∝ exp(-U), with w1 = sin(2π z1/4), w2 = 3 exp(-½((z1 - 1)/.6)²),
w3 = 3σ((z1 - 1)/.3):

    U1 = ½((‖z‖ - 2)/.4)² - ln(exp(-½((z1 - 2)/.6)²) + exp(-½((z1 + 2)/.6)²))      two half moons
    U2 = ½((z2 - w1)/.4)²                                                          a wave
    U3 = -ln(exp(-½((z2 - w1)/.35)²) + exp(-½((z2 - w1 + w2)/.35)²))               a wave that parts
    U4 = -ln(exp(-½((z2 - w1)/.4)²) + exp(-½((z2 - w1 + w3)/.35)²))                a wave that forks

U2 to U4 run on for ever along z1, so that a wall keeps them in the square |z1|, |z2| ≤ 4: the
energy grows by ½((|z_i| - 4)/.15)² beyond each side and not at all inside. That is smooth enough
for a gradient, as stiff as a step size of about .04 can bear, and leaves a skirt of width .15
outside (which holds about 4 % of U2).
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks

COEFFICIENTS = (-0.47, -0.83, -0.71, -0.02, 0.24, 0.01, 0.27, -0.37, 0.87, -0.37)
WALL, SKIRT = 4.0, 0.15
REACH, GRID = 8.0, 320_001  # of the quadrature: beyond ±8 lies less than 1e-15 of the mass


def multimode(theta: jax.Array) -> jax.Array:
    """Log-density -V of the seven modes, up to a constant. A vector is independent copies."""
    return -jnp.sum(_potential(theta, jnp))


def multimode_literal(theta: jax.Array) -> jax.Array:
    """The density as the paper prints it, exp(-exp(V)), up to a constant."""
    return -jnp.sum(jnp.exp(_potential(theta, jnp)))


class Basin(NamedTuple):
    """What belongs to one mode: the interval between the minima of the density around it."""

    left: float
    right: float
    mode: float
    mass: float


@functools.cache
def multimode_basins(least_mass: float = 5e-4) -> tuple[Basin, ...]:
    """The basins of `multimode`, left to right, by quadrature in float64.

    They cover the line and their masses add up to 1: the faint ripples far out, lighter than
    `least_mass`, belong to the basin next to them on the inside.
    """
    x, density = multimode_density()
    mass = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))])
    inner = density[1:-1]
    modes = 1 + np.flatnonzero((inner > density[:-2]) & (inner >= density[2:]))
    valleys = np.asarray([a + np.argmin(density[a:b]) for a, b in itertools.pairwise(modes)])
    heavy = np.flatnonzero(np.diff([0.0, *mass[valleys], mass[-1]]) >= least_mass)
    modes, edges = modes[heavy], valleys[heavy[:-1]]
    bounds = [-np.inf, *x[edges], np.inf]
    shares = np.diff([0.0, *mass[edges], mass[-1]])
    return tuple(
        Basin(float(left), float(right), float(mode), float(share))
        for left, right, mode, share in zip(bounds[:-1], bounds[1:], x[modes], shares, strict=True)
    )


def multimode_density() -> tuple[np.ndarray, np.ndarray]:
    """A fine grid and the normalised density of `multimode` on it."""
    x = np.linspace(-REACH, REACH, GRID)
    density = np.exp(-_potential(x, np))
    return x, density / np.trapezoid(density, x)


def count_by_basin(points: Any, basins: tuple[Basin, ...]) -> np.ndarray:
    """How many of the points lie in each basin."""
    edges = [basin.left for basin in basins[1:]]
    found = np.searchsorted(edges, np.asarray(points, np.float64).ravel())
    return np.bincount(found, minlength=len(basins))


def u1(z: jax.Array) -> jax.Array:
    """Log-density of two half moons, up to a constant."""
    z1, _ = _plane(z)
    radius = jnp.sqrt(jnp.sum(z * z) + 1e-12)  # has a gradient at the origin
    moons = jnp.logaddexp(_bump(z1 - 2.0, 0.6), _bump(z1 + 2.0, 0.6))
    return _bump(radius - 2.0, 0.4) + moons


def u2(z: jax.Array) -> jax.Array:
    """Log-density of a wave, up to a constant."""
    z1, z2 = _plane(z)
    return _bump(z2 - _wave(z1), 0.4) - _wall(z)


def u3(z: jax.Array) -> jax.Array:
    """Log-density of a wave that splits and joins again, up to a constant."""
    z1, z2 = _plane(z)
    above = z2 - _wave(z1)
    split = 3.0 * jnp.exp(_bump(z1 - 1.0, 0.6))
    return jnp.logaddexp(_bump(above, 0.35), _bump(above + split, 0.35)) - _wall(z)


def u4(z: jax.Array) -> jax.Array:
    """Log-density of a wave that forks, up to a constant."""
    z1, z2 = _plane(z)
    above = z2 - _wave(z1)
    fork = 3.0 * jax.nn.sigmoid((z1 - 1.0) / 0.3)
    return jnp.logaddexp(_bump(above, 0.4), _bump(above + fork, 0.35)) - _wall(z)


TOYS: dict[str, Callable[[jax.Array], jax.Array]] = {"U1": u1, "U2": u2, "U3": u3, "U4": u4}


def toy(name: str) -> Callable[[jax.Array], jax.Array]:
    """The log-density of "U1", "U2", "U3" or "U4"."""
    return TOYS[checks.one_of("name", name, TOYS)]


def _potential(theta: Any, xp: Any) -> Any:
    """V, elementwise, with the functions of `jax.numpy` or of `numpy`."""
    waves = sum(
        c * xp.sin(0.25 * np.pi * i * (theta + 4.0)) for i, c in enumerate(COEFFICIENTS, start=1)
    )
    return 0.75 * theta**2 - 1.5 * waves


def _plane(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    if jnp.shape(z) != (2,):
        raise ValueError(f"z must be one point of the plane, shape (2,), got {jnp.shape(z)}")
    return z[0], z[1]


def _bump(x: jax.Array, width: float) -> jax.Array:
    return -0.5 * (x / width) ** 2


def _wave(z1: jax.Array) -> jax.Array:
    return jnp.sin(0.5 * jnp.pi * z1)


def _wall(z: jax.Array) -> jax.Array:
    return 0.5 * jnp.sum((jax.nn.relu(jnp.abs(z) - WALL) / SKIRT) ** 2)
