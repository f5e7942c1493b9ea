"""The runs: what particles do, before anything is concluded from it."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos import theory
from spos_experiments.frame.experiment import Estimate, compiled
from spos_experiments.paper import line
from spos_experiments.paper.theory.densities import CURVATURE, DENSITIES, DEVIATION, ETA2, Density
from spos_experiments.paper.theory.laws import (
    BLOCKS,
    Distance,
    Law,
    distance,
    gap,
    jackknife,
    without_one,
)
from spos_experiments.paper.theory.settings import Settings


def simulate(
    density: Density, count: int, times: np.ndarray, hasty: bool, *, twins: bool = False
) -> Callable[..., Any]:
    """A program that gives particles at these steps, in shape (repeat, time, particle).

    It takes keys, β, h0, a power p for steps h0/(k+1)^p, and how far the start is shifted from a
    draw of the target. With `twins` it also gives the particles that noise alone would have made.
    """
    when = times - 1

    def one(key: jax.Array, beta: Any, h0: Any, power: Any, shift: Any) -> Any:
        start_key, run_key = jax.random.split(key)
        start = shift + density.draw(start_key, count)

        def step_size(k: jax.Array) -> jax.Array:
            return h0 * (1.0 + k) ** -power

        samplers = [line.sampler(density.log_prob, step_size, beta, ETA2, count)]
        if twins:  # with the same key they feel the same noise
            samplers.append(spos.spos(density.log_prob, step_size, beta, kernel=None))
        paths = [
            spos.run(s, run_key, start, int(when.max()) + 1, observe=lambda st, _: st.particles)[1]
            for s in samplers
        ]
        return [path[when] for path in paths]

    def program(keys: jax.Array, *settings: Any) -> Any:
        # some thousand particles at a time: enough to keep a core busy, and paths stay small
        return jax.lax.map(lambda key: one(key, *settings), keys, batch_size=max(1, 2048 // count))

    return compiled(program, hasty)


def keys(seed: int, part: int, count: int, repeats: int) -> jax.Array:
    """Each part and each number of particles has its own random numbers."""
    root = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), part), count)
    return jax.random.split(root, repeats)


def fine_step(beta: float) -> float:
    """A fiftieth of the time in which the mean of a Gaussian cloud relaxes."""
    return 0.02 / fastest(beta)


def fastest(beta: float) -> float:
    """m_F (1/β + 1), the rate at which a very wide kernel would centre the cloud."""
    return CURVATURE * (1 / beta + 1)


def repeats_of(pool: int, count: int) -> int:
    return max(BLOCKS, pool // count)


def about(density: Density) -> theory.Constants:
    return theory.Constants(
        dim=1,
        lipschitz=density.lipschitz,
        convexity=density.convexity,
        score_bound=math.inf,
        bandwidth=ETA2,
        kernel_concavity=theory.kernel_concavity(ETA2, 100.0),
    )


def gamma0(shift: float) -> float:
    """γ0 of a start N(shift, DEVIATION²)."""
    room = 1 - 2 * DEVIATION**2
    return shift**2 / room - 0.5 * math.log(room)


def particle_job(settings: Settings, seed: int, name: str, count: int) -> dict[float, Any]:
    """Stationary particles of one size for each β: their law, twins and clouds."""
    times = 200 + 25 * (np.arange(settings.snapshots) + 1)
    density = DENSITIES[name]
    program = simulate(density, count, times, settings.hasty, twins=True)
    found: dict[float, Any] = {}
    for beta in (b for n, b in settings.cases if n == name):
        each = keys(seed, 1, count, repeats_of(settings.pool, count))
        here, twins = map(np.asarray, program(each, beta, fine_step(beta), 0.0, 0.0))
        squares = ((here - twins).astype(np.float64) ** 2).mean((1, 2))
        square, se = Estimate.of(squares)
        clouds = np.sort(here[:1000, -1], axis=1).astype(np.float64)
        found[beta] = {
            # The law of twins is the same for every M. Without it two laws differ as before, but
            # the chance that twins share is gone. Target and start are even, and so the laws are.
            "law": Law(Law.of(here).rows - Law.of(twins).rows).even(),
            "twin": Distance(math.sqrt(square), se / 2 / math.sqrt(square), 0.0),
            "cloud": cloud_distance(clouds, density),
            "draws": cloud_distance(_draws(density, seed, clouds.shape), density),
        }
    return found


def _draws(density: Density, seed: int, shape: tuple[int, int]) -> np.ndarray:
    drawn = density.draw(jax.random.fold_in(jax.random.key(seed), 77), shape[0] * shape[1])
    return np.sort(np.asarray(drawn, np.float64).reshape(shape), axis=1)


def cloud_distance(clouds: np.ndarray, density: Density) -> Distance:
    """Mean W1 of sorted clouds from the target."""
    fine = -(-2048 // clouds.shape[1])
    u = (np.arange(clouds.shape[1] * fine) + 0.5) / (clouds.shape[1] * fine)
    truth = density.quantile(u).reshape(clouds.shape[1], fine)
    each = np.abs(clouds[:, :, None] - truth).mean((1, 2))
    return Distance(*Estimate.of(each), 0.0)


def decay_job(settings: Settings, seed: int) -> list[dict[str, Any]]:
    """W1 from the target over time, and its rate, for each β."""
    density, count = DENSITIES["Gaussian"], settings.decay_particles
    every = 10
    times = every * (np.arange(50) + 1)
    program = simulate(density, count, times, settings.hasty)
    truth = Law.exact(density)
    found = []
    for n, beta in enumerate(settings.betas):
        step = 0.5 * fine_step(beta)
        each = keys(seed, 20 + n, count, settings.decay_repeats)
        (here,) = map(np.asarray, program(each, beta, step, 0.0, settings.shift))
        laws = [Law.of(here[:, t]) for t in range(len(times))]
        curve = [distance(law, truth) for law in laws]
        rest = np.array([[gap(r, truth.rows[0]) for r in without_one(law.rows)] for law in laws])
        means = np.array([d.mean for d in curve])
        # from a third of the start down to where chance begins to matter
        least = np.maximum(10 * np.array([d.floor for d in curve]), 0.02 * settings.shift)
        inside = np.flatnonzero((means < 0.3 * settings.shift) & (means > least))
        rate, tau = Estimate(math.nan, math.nan), times * step
        if len(inside) >= 3:
            fits = [-np.polyfit(tau[inside], np.log(y[inside]), 1)[0] for y in (means, *rest.T)]
            rate = Estimate(float(fits[0]), jackknife(fits[1:]))
        found.append({"beta": beta, "tau": tau, "curve": curve, "rate": rate, "inside": inside,
                      "fell": means[-1] / settings.shift})  # fmt: skip
    return found


def stable_step(settings: Settings) -> float:
    """The largest step that the bounds on steps allow, m'/(3 L')."""
    where = about(DENSITIES["Gaussian"])
    beta = settings.steps_beta
    return theory.dissipation(where, beta) / (3 * theory.squared_growth(where, beta))


def steps_job(settings: Settings, seed: int) -> list[dict[str, Any]]:
    """W1 from the target after T steps, for fixed and for falling steps."""
    density, count = DENSITIES["Gaussian"], settings.steps_particles
    octaves = [2**n for n in range(int(math.log2(settings.num_steps)) + 1)]
    # from 32 on, twenty looks in each doubling are pooled: the law changes little between them
    looks = [np.unique(np.linspace(t / 2, t, 20).round().astype(int)) if t >= 32 else np.array([t])
             for t in octaves]  # fmt: skip
    times = np.unique(np.concatenate(looks))
    program = simulate(density, count, times, settings.hasty)
    truth = Law.exact(density)
    small, large = stable_step(settings), settings.large_step
    found = []
    for n, (power, h0) in enumerate((p, h) for p in (0.0, 1.0) for h in (small, large)):
        each = keys(seed, 30 + n, count, repeats_of(settings.pool, count))
        (here,) = map(np.asarray, program(each, settings.steps_beta, h0, power, settings.shift))
        curve = [distance(Law.of(here[:, np.isin(times, look)]), truth) for look in looks]
        tau = [h0 * (t if power == 0 else float(np.sum(1 / np.arange(1, t + 1)))) for t in octaves]
        found.append({"power": power, "h0": h0, "steps": octaves, "tau": tau, "curve": curve})
    return found


def step_error_job(settings: Settings, seed: int, count: int) -> Distance:
    """What a large step changes in the stationary law of M particles."""
    density, beta, coarse = DENSITIES["Gaussian"], settings.steps_beta, settings.large_step
    # both take as many steps as the finer one needs to forget its start and each look the last
    times = 160 + 32 * (np.arange(2 * settings.snapshots) + 1)
    program = simulate(density, count, times, settings.hasty)
    laws = []
    for part, step in ((4, coarse), (5, coarse / 8)):
        each = keys(seed, part, count, repeats_of(settings.pool // 4, count))
        (here,) = map(np.asarray, program(each, beta, step, 0.0, 0.0))
        laws.append(Law.of(here))
    return distance(*laws)


def try_out(settings: Settings, seed: int, name: str, **where: Any) -> theory.Pilot:
    """Errors of single clouds on a target: W1, by the quantiles of both at 2048 places."""
    density = DENSITIES[name]
    places = (np.arange(2048) + 0.5) / 2048
    truth = jnp.asarray(density.quantile(places), jnp.result_type(float))

    def error(cloud: jax.Array) -> jax.Array:
        ranks = (places * len(cloud)).astype(int)
        return jnp.mean(jnp.abs(jnp.sort(cloud)[ranks] - truth))

    return theory.pilot(
        density.log_prob,
        lambda key, count: settings.shift + DEVIATION * jax.random.normal(key, (count,)),
        error,
        kernel=spos.rbf(ETA2),
        seed=seed,
        **where,
    )
