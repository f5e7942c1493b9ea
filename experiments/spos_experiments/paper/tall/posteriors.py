"""The posteriors of `spos paper tall`."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos_experiments.paper.tall.settings import Settings
from spos_experiments.paper.variance import covertype

COLUMNS = 54


class Problem(NamedTuple):
    """A posterior of vectors, and where its rows come from."""

    log_likelihood: Callable[..., jax.Array]
    log_prior: Callable[..., jax.Array]
    data: dict[str, jax.Array]
    size: int
    source: str


def build(name: str, settings: Settings) -> Problem:
    """The posterior; its rows are always the same."""
    if name == "counts":
        return _counts(settings.counts_rows, settings.groups)
    rng = np.random.default_rng(0)
    x, y, source = covertype.rows_of(settings.covertype_rows, rng, COLUMNS)
    x = (x - x.min(0)) / np.maximum(np.ptp(x, axis=0), 1e-9)
    data = {"x": jnp.asarray(x, jnp.float32), "y": jnp.asarray(y, jnp.float32)}
    return Problem(covertype.log_likelihood, covertype.log_prior, data, COLUMNS, source)


def _counts(rows: int, groups: int, columns: int = 4) -> Problem:
    rng = np.random.default_rng(1)
    group, x = rng.integers(groups, size=rows), rng.normal(size=(rows, columns))
    offset = rng.normal(scale=0.3, size=rows)
    level, slope = rng.normal(0.3, 0.5, groups), rng.normal(scale=0.3, size=columns)
    y = rng.poisson(np.exp(level[group] + x @ slope + offset))

    def log_likelihood(theta: jax.Array, batch: dict[str, jax.Array]) -> jax.Array:
        # a product with rows of 0 and 1, whose gradient is one too
        log_rate = batch["x"] @ theta[2 + groups :] + batch["offset"]
        log_rate += jax.nn.one_hot(batch["group"], groups) @ theta[2 : 2 + groups]
        return batch["y"] * log_rate - jnp.exp(log_rate)

    def log_prior(theta: jax.Array) -> jax.Array:
        mu, log_tau = theta[:2]
        levels, slopes = jnp.split(theta[2:], [groups])
        tau = jnp.exp(log_tau)
        inside = -0.5 * jnp.sum(((levels - mu) / tau) ** 2) - groups * log_tau
        return inside + log_tau - 0.5 * (tau**2 + mu**2 + jnp.sum(slopes**2))

    data = {
        "x": jnp.asarray(x, jnp.float32),
        "group": jnp.asarray(group),
        "offset": jnp.asarray(offset, jnp.float32),
        "y": jnp.asarray(y, jnp.float32),
    }
    return Problem(log_likelihood, log_prior, data, 2 + groups + columns, f"{rows} rows made here")
