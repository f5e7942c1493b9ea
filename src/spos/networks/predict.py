"""What networks say of rows, a block of rows at a time.

S networks predict as one mixture, whose log-density is

    log p(y | x) = log (1/S) Σ_s p(y | f_s(x)).

Blocks are padded to round sizes, so that tables of any length share a few compiled programs. Where
a pool holds the networks of several looks, they are asked a look at a time, by the program that
training has asked before.
"""

from collections.abc import Callable, Iterator
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from spos.networks.rows import pad_rows
from spos.programs import BRIEF, compiled
from spos.targets.likelihoods import LocationScale
from spos.targets.network import BayesianNetwork
from spos.types import Particles

BLOCK_ROWS = 4096  # predicted at once, at most
FEWEST_ROWS = 256  # that a program is compiled for: fewer would hardly be cheaper

Program = Callable[..., Any]  # (network, particles, x, …) -> arrays (S, n, …)


@compiled(options=BRIEF)
def outputs(network: BayesianNetwork, particles: Particles, x: Any) -> jax.Array:
    """Of every network for every row: (S, n, k)."""
    return network.outputs(particles, x)


@compiled(options=BRIEF)
def moments(network: BayesianNetwork, particles: Particles, x: Any) -> tuple[jax.Array, jax.Array]:
    """Mean and variance of y by every network, each (S, n)."""
    return network.moments(particles, x)


@compiled(options=BRIEF)
def laws(network: BayesianNetwork, particles: Particles, x: Any) -> tuple[jax.Array, ...]:
    """Location, scale and 1/ν of the t of every outcome by every network, each (S, n, k)."""
    parts = jax.vmap(cast(LocationScale, network.likelihood).parts)
    place, log_variance, heaviness = parts(particles["likelihood"], network.outputs(particles, x))
    return place, jnp.exp(0.5 * log_variance), jnp.broadcast_to(heaviness[:, None], place.shape)


@compiled(options=BRIEF)
def log_terms(network: BayesianNetwork, particles: Particles, x: Any, y: Any) -> jax.Array:
    """log p(y | x) by every network: (S, n)."""
    return network.log_terms(particles, x, y)


def by_blocks(
    program: Program,
    network: BayesianNetwork,
    particles: Particles,
    *rows: np.ndarray,
    summary: Callable[..., Any] | None = None,
    at_once: int | None = None,
) -> Any:
    """What the networks say of all rows, in float64.

    Args:
        program: `outputs`, `moments`, `laws` or `log_terms`.
        network: of the particles.
        particles: the networks.
        *rows: arrays with a leading axis of rows.
        summary: of the arrays of one block, with a leading axis of rows; by default what the
            program gives is kept, with an axis of networks and then one of rows.
        at_once: networks that a program is asked for; by default all of them.

    Returns:
        The blocks, put together along the rows.
    """
    found = []
    for count, block in _blocks(*rows):
        said = [
            jax.device_get(program(network, part, *block)) for part in _parts(particles, at_once)
        ]
        real = jax.tree.map(
            lambda *a, n=count: np.concatenate([each[:, :n] for each in a]).astype(np.float64),
            *said,
        )
        if summary is not None:
            real = summary(*(real if isinstance(real, tuple) else (real,)))
        found.append(real)
    axis = 1 if summary is None else 0
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=axis), *found)


def mixture(terms: np.ndarray) -> np.ndarray:
    """The log-density of the mixture whose parts have log-densities `terms` (S, n)."""
    mixed: np.ndarray = np.logaddexp.reduce(terms, axis=0) - np.log(len(terms))
    return mixed


def _parts(particles: Particles, at_once: int | None) -> Iterator[Particles]:
    """So many networks each, the last perhaps fewer."""
    total = len(jax.tree.leaves(particles)[0])
    size = at_once or total
    if size >= total:
        yield particles
        return
    for first in range(0, total, size):
        yield jax.tree.map(lambda leaf, n=first: leaf[n : n + size], particles)


def _blocks(*arrays: np.ndarray) -> Iterator[tuple[int, tuple[np.ndarray, ...]]]:
    """Padded blocks of rows; before each, how many rows are real."""
    for first in range(0, len(arrays[0]), BLOCK_ROWS):
        parts = [array[first : first + BLOCK_ROWS] for array in arrays]
        yield len(parts[0]), tuple(pad_rows(part, FEWEST_ROWS) for part in parts)
