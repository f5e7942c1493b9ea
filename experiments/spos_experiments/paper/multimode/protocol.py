"""The exact masses of both densities, and the particles that leave a mode."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.targets import toys
from spos_experiments.frame.experiment import compiled
from spos_experiments.paper.multimode.settings import READINGS, Settings


class Run(NamedTuple):
    """Of all repeats: the last particles, and in each step how many are in each basin."""

    end: np.ndarray
    counts: np.ndarray


def simulate(settings: Settings, seed: int, reading: str, method: str) -> Run:
    target, h = READINGS[reading], settings.steps[reading]
    sampler = {
        "SPOS": lambda: spos.spos(target, h, settings.beta),
        "SVGD": lambda: spos.svgd(target, h),
        "SGLD": lambda: spos.sgld(target, h, settings.beta),
    }[method]()
    basins = toys.multimode_basins()
    edges = jnp.asarray([basin.left for basin in basins[1:]])

    def occupied(state: spos.State, info: spos.Info) -> jax.Array:
        return jnp.bincount(jnp.searchsorted(edges, state.particles), length=len(basins))

    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        start_key, run_key = jax.random.split(key)
        noise = jax.random.normal(start_key, (settings.particles,))
        start = settings.start + settings.jitter * noise
        state, counts = spos.run(sampler, run_key, start, settings.num_steps, observe=occupied)
        return state.particles, counts

    keys = jax.random.split(jax.random.key(seed), settings.repeats)
    end, counts = compiled(jax.vmap(one), settings.hasty)(keys)
    return Run(np.asarray(end, np.float64), np.asarray(counts))


def exact_masses(reading: str) -> np.ndarray:
    """The mass of every basin, by quadrature."""
    x, density = exact_density(reading)
    total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))])
    inner = [basin.left for basin in toys.multimode_basins()[1:]]
    return np.diff([0.0, *np.interp(inner, x, total), total[-1]])


def exact_density(reading: str) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(-5.0, 5.0, 20_001)
    density = np.exp(np.asarray(jax.vmap(READINGS[reading])(jnp.asarray(x)), np.float64))
    return x, density / np.trapezoid(density, x)
