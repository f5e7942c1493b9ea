"""Simulation-based calibration: are the draws those of the posterior, over all data sets at once?

Draw a truth from the prior and data given the truth. Among M independent draws from the posterior
given those data, the rank of the truth is uniform on 0, …, M. The particles at the end of a run are
such draws, since the engine leaves p × … × p invariant. All data sets share one program.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.auto.chance import RandomNumbers
from spos.auto.engine import MOVES, Coordinates, Problem, Tuning, Whitened, chunk
from spos.io import figures
from spos.names import parameters
from spos.programs import compiled
from spos.targets.posterior import Posterior
from spos.types import Particles, PyTree

TRAJECTORY = 4  # leapfrogs
FORGET = 4  # chunks, the first of which tunes the step


def ranks(
    target: Posterior,
    truths: Particles,
    data: PyTree,
    starts: Particles,
    *,
    beta: float | None = 1.0,
    seed: int = 0,
) -> np.ndarray:
    """For each data set and parameter, how many of the M particles lie below the truth.

    Each parameter is scaled by the spread of its starts.

    Args:
        target: the posterior, whose own data do not count.
        truths: one particle for each data set.
        data: with a leading axis of data sets.
        starts: with a leading axis of data sets and one of particles.
        beta: the weight of the kernel field; None leaves it out.
        seed: the same seed gives the same bits.

    Returns:
        The ranks, from 0 to M, of shape (data sets, parameters).

    Example:
        >>> from spos.auto.ranks import ranks
        >>> rng = np.random.default_rng(0)
        >>> truths = rng.normal(size=(30, 1)).astype(np.float32)
        >>> data = truths + rng.normal(size=(30, 5)).astype(np.float32)
        >>> target = spos.posterior(
        ...     lambda theta, x: -0.5 * (x - theta) ** 2, lambda t: -0.5 * (t**2).sum(), data[0]
        ... )
        >>> starts = rng.normal(size=(30, 8, 1)).astype(np.float32)
        >>> ranks(target, truths, data, starts).shape
        (30, 1)
    """
    problem = Problem.of(target, truths, beta)
    count, particles = jax.tree.leaves(starts)[0].shape[:2]
    pooled = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), starts)
    _, flat = parameters(pooled)
    theta = jnp.asarray(flat.reshape(count, particles, -1), problem.dtype)
    keys = jax.random.split(jax.random.key(seed), count)
    last = _ends(problem, keys, data, theta)
    _, truth = parameters(truths)
    found: np.ndarray = np.sum(np.asarray(last) < truth[:, None], 1)
    return found


@compiled()
def _ends(problem: Problem, keys: jax.Array, data: PyTree, theta: jax.Array) -> jax.Array:
    target: Any = problem.target  # whatever takes other data

    def one(key: jax.Array, data: PyTree, theta: jax.Array) -> jax.Array:
        posed = dataclasses.replace(problem, target=target.with_data(data))
        frame = Coordinates(theta.mean(0), jnp.diag(theta.std(0)))
        cloud: Whitened = posed.evaluate(frame, (theta - frame.centre) / theta.std(0))

        def again(n: jax.Array, carry: tuple[Whitened, jax.Array]) -> tuple[Whitened, jax.Array]:
            cloud, log_step = carry
            rate = jnp.where(n == 0, 0.3, 0.0).astype(theta.dtype)
            plan = Tuning(log_step, rate, leaps=TRAJECTORY)
            random = _random(jax.random.fold_in(key, n), theta, n == 0)
            cloud, log_step, _ = chunk(posed, frame, random, MOVES, cloud, plan)
            return cloud, log_step

        begin = (cloud, jnp.full(len(theta), -1.0, theta.dtype))
        cloud, _ = jax.lax.fori_loop(0, FORGET, again, begin)
        ends: jax.Array = frame.centre + cloud.z @ frame.factor.T
        return ends

    return jax.vmap(one)(keys, data, theta)


def _random(key: jax.Array, like: jax.Array, adapting: jax.Array) -> RandomNumbers:
    """As `chance.draw_random`, on the device: so many data sets are too much for the host."""
    one, other = jax.random.split(key)
    momentum = jax.random.normal(one, (MOVES, *like.shape), like.dtype)
    uniform = jax.random.uniform(other, (MOVES, len(like), 3), like.dtype)
    step = jnp.where(adapting, 0.0, jnp.log(0.5 + 0.5 * uniform[..., 0]))
    return RandomNumbers(momentum, step, uniform[..., 1:], jnp.zeros_like(momentum))


def chi_square(ranked: np.ndarray, particles: int) -> np.ndarray:
    """Are the ranks uniform?

    Args:
        ranked: as `ranks` gives them.
        particles: M.

    Returns:
        Pearson's statistic of each parameter, with M degrees of freedom if they are.
    """
    expected = len(ranked) / (particles + 1)
    counts = [np.bincount(column, minlength=particles + 1) for column in ranked.T]
    found: np.ndarray = ((np.stack(counts) - expected) ** 2 / expected).sum(1)
    return found


def rank_figure(ranked: np.ndarray, particles: int, names: list[str]) -> Any:
    """A histogram of ranks for each parameter; 99 % of the bars should end in the grey band.

    Args:
        ranked: as `ranks` gives them.
        particles: M.
        names: of the parameters.

    Returns:
        A matplotlib figure.
    """
    with figures.style():
        figure = figures.new_figure(3.4 * len(names), 2.8)
        expected = len(ranked) / (particles + 1)
        margin = 2.58 * np.sqrt(expected)
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for panel, column, name in zip(panels, ranked.T, names, strict=True):
            panel.axhspan(expected - margin, expected + margin, color=figures.FAINT)
            counts = np.bincount(column, minlength=particles + 1)
            panel.bar(range(particles + 1), counts, color=figures.colour("spos"), width=0.8)
            panel.set(title=name, xlabel="rank of the truth", ylim=(0, None))
        panels[0].set_ylabel("data sets")
        return figure
