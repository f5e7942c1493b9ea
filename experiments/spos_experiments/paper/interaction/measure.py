"""The targets of `spos paper interaction`, and the errors of clouds on them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos_experiments.frame.experiment import compiled
from spos_experiments.paper.interaction.settings import HILL, MODES, Settings

NOISES = {"exact scores": (0.0, 0.0), "own noise": (3.0, 0.0), "shared noise": (0.0, 3.0)}
AWAY, HEAVIER = 4.0, 0.7


class Errors(NamedTuple):
    """Of each method, with axes (repeat, noise, setting, budget), pilots first."""

    SPOS: np.ndarray
    SGLD: np.ndarray


METHODS = Errors._fields


@spos.value
class Noisy(spos.Target):
    """One or two hills, whose scores have noise."""

    sds: jax.Array
    away: jax.Array  # the modes are so far to both sides
    own: jax.Array
    shared: jax.Array

    @property
    def stochastic(self) -> bool:
        return True

    def log_prob(self, theta: jax.Array, batch: Any = None) -> jax.Array:
        rest = -0.5 * jnp.sum((theta[1:] / self.sds[1:]) ** 2)
        sides = jnp.asarray([HEAVIER, 1 - HEAVIER]), self.away * jnp.asarray([1.0, -1.0])
        first = jnp.log(sides[0]) - 0.5 * ((theta[0] - sides[1]) / self.sds[0]) ** 2
        return rest + jax.nn.logsumexp(first)

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> jax.Array:
        return key

    def score(self, particles: jax.Array, batch: Any = None) -> jax.Array:
        exact = jax.vmap(jax.grad(self.log_prob))(particles)
        own, shared = jax.random.split(batch)
        noise = self.own * jax.random.normal(own, particles.shape)
        return exact + noise + self.shared * jax.random.normal(shared, particles.shape[1:])


def moments(name: str, size: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean, standard deviations, and how far the modes are to both sides."""
    sds, mean = np.geomspace(1.0, 3.0, size), np.zeros(size)
    away = AWAY if name == MODES else 0.0
    mean[0] = away * (2 * HEAVIER - 1)
    spread = sds.copy()
    spread[0] = np.sqrt(sds[0] ** 2 + away**2 - mean[0] ** 2)
    return mean, spread, away


def both(settings: Settings, seed: int, name: str, size: int, count: int) -> Errors:
    """The errors of both methods on a target in so many dimensions, with so many particles."""
    return Errors(*(_errors(settings, seed, name, size, count, method) for method in METHODS))


def _errors(
    settings: Settings, seed: int, name: str, size: int, count: int, method: str
) -> np.ndarray:
    mean, spread, away = moments(name, size)
    sds = jnp.geomspace(1.0, 3.0, size)
    kernel = spos.rbf() if method == "SPOS" else None
    noises = jnp.asarray([NOISES[noise] for noise in NOISES])
    choices = jnp.asarray(tried(settings, method))

    def error(cloud: jax.Array) -> jax.Array:
        shift, stretch = (cloud.mean(0) - mean) / spread, jnp.log(cloud.std(0) / spread)
        return jnp.sqrt(jnp.mean(shift**2 + stretch**2))

    def one(key: jax.Array, noise: jax.Array, choice: jax.Array) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        start = jax.random.normal(start_key, (count, size)) * (1.0 if name == HILL else AWAY)
        start = start + (AWAY if name == HILL else 0.0)
        target = Noisy(sds, jnp.asarray(away), noise[0], noise[1])
        sampler = spos.spos(target, choice[0], choice[1], kernel=kernel)
        seen = spos.run(
            *(sampler, run_key, start, settings.budgets[-1]),
            observe=lambda state, info: error(state.particles),
        )[1]
        return seen[jnp.asarray(settings.budgets) - 1]

    def all_repeats(keys: jax.Array) -> jax.Array:
        each = jax.vmap(jax.vmap(one, (None, None, 0)), (None, 0, None))
        return jax.lax.map(lambda key: each(key, noises, choices), keys)

    # the methods share starts and noise
    keys = jax.random.split(jax.random.key(seed), settings.pilots + settings.repeats)
    found = np.asarray(compiled(all_repeats, settings.hasty)(keys), np.float64)
    return np.where(np.isfinite(found), found, np.inf)


def tried(settings: Settings, method: str) -> list[tuple[float, float]]:
    """The settings of a method: step size and β."""
    betas = settings.betas if method == "SPOS" else (1.0,)
    return [(step, beta) for step in settings.step_sizes for beta in betas]
