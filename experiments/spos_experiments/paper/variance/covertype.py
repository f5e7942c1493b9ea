"""Bayesian logistic regression on the forest covers of the Covertype set, and its exact moments.

    log p(y | x, θ) = y xᵀθ - log(1 + exp xᵀθ),      θ ~ N(0, I)

x holds the ten measured columns, made uncorrelated with variance 1 over the rows in use, and a 1;
y says whether the cover is anything but lodgepole pine. The reference moments come from
Metropolis-adjusted Langevin chains on all rows, in the coordinates z = L⁻¹(θ - mode), where
L Lᵀ is the inverse of the Hessian there:

    z' = z + (τ/2) ∇ log p + sqrt(τ) ξ,      accepted with probability min(1, ratio)

They are exact up to the spread of the chains, which is part of the answer.
"""

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.targets import Posterior
from spos_experiments.frame.experiment import compiled

FOLDER = Path("..") / "shared" / "data"  # unless the environment has SPOS_DATA
FILE = "covertype.npz"
MEASURED = 10  # columns
TAU = 1.0
NEWTON = 10  # steps, of which the last changes nothing that float32 could hold


class Problem(NamedTuple):
    """The data, where they come from, the mode, and the Hessian of -log p there."""

    data: dict[str, jax.Array]
    source: str
    mode: jax.Array
    hessian: np.ndarray


class Reference(NamedTuple):
    """Moments of every parameter, and the largest standard errors of them, in units of the
    standard deviation and of the variance."""

    mean: np.ndarray
    variance: np.ndarray
    mean_error: float
    variance_error: float
    acceptance: float


def log_likelihood(theta: jax.Array, batch: dict[str, jax.Array]) -> jax.Array:
    logit = batch["x"] @ theta
    return batch["y"] * logit - jnp.logaddexp(0.0, logit)


def log_prior(theta: jax.Array) -> jax.Array:
    return -0.5 * jnp.sum(theta**2)


def posterior(data: Any, batch_size: int | None) -> Posterior:
    return spos.posterior(log_likelihood, log_prior, data, batch_size)


def problem(rows: int, seed: int) -> Problem:
    """So many rows, and the mode by Newton's method."""
    x, y, source = _rows(rows, np.random.default_rng(seed))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    _, sizes, axes = np.linalg.svd(x, full_matrices=False)
    x = np.column_stack([x @ axes.T / sizes * np.sqrt(rows), np.ones(rows)])
    mode = np.zeros(x.shape[1])
    for _ in range(NEWTON):
        p = 1.0 / (1.0 + np.exp(-x @ mode))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.eye(len(mode))
        mode = mode + np.linalg.solve(hessian, x.T @ (y - p) - mode)
    data = {"x": jnp.asarray(x, jnp.float32), "y": jnp.asarray(y, jnp.float32)}
    return Problem(data, source, jnp.asarray(mode, jnp.float32), hessian)


def _rows(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, str]:
    path = Path(os.environ.get("SPOS_DATA", FOLDER)) / FILE
    if not path.exists():
        print(f"{path} is not there (SPOS_DATA names its folder): made-up rows.", file=sys.stderr)
        x = rng.normal(size=(rows, MEASURED)) @ rng.normal(size=(MEASURED, MEASURED))
        chance = 1.0 / (1.0 + np.exp(-0.3 * x @ rng.normal(size=MEASURED)))
        return x, rng.uniform(size=rows) < chance, "made-up rows of the same form"
    with np.load(path, allow_pickle=False) as found:
        chosen = rng.permutation(len(found["y"]))[:rows]
        x, y = found["X"][chosen, :MEASURED].astype(np.float64), found["y"][chosen] > 0
    return x, y, f"{rows} random rows of Covertype"


def reference(given: Problem, chains: int, steps: int, seed: int, hasty: bool) -> Reference:
    """Moments over the last four fifths of the steps of all chains."""
    root = jnp.asarray(np.linalg.cholesky(np.linalg.inv(given.hessian)), jnp.float32)
    size = len(given.mode)

    def height(z: jax.Array, data: Any) -> jax.Array:
        theta = given.mode + root @ z
        # example by example, since the sum over all of them would drown the difference in rounding
        gain = log_likelihood(theta, data) - log_likelihood(given.mode, data)
        return jnp.sum(gain) + log_prior(theta)

    def chain_step(data: Any, carry: Any, key: jax.Array) -> Any:
        z, (now, slope) = carry
        noise_key, coin_key = jax.random.split(key)
        new = z + 0.5 * TAU * slope + jnp.sqrt(TAU) * jax.random.normal(noise_key, z.shape)
        then, steep = over_chains(new, data)
        forth = jnp.sum((new - z - 0.5 * TAU * slope) ** 2, axis=1)
        back = jnp.sum((z - new - 0.5 * TAU * steep) ** 2, axis=1)
        ratio = then - now + (forth - back) / (2 * TAU)
        yes = jnp.log(jax.random.uniform(coin_key, (chains,))) < ratio
        kept = jnp.where(yes[:, None], new, z), jnp.where(yes[:, None], steep, slope)
        carry = kept[0], (jnp.where(yes, then, now), kept[1])
        return carry, (given.mode + kept[0] @ root.T, jnp.mean(yes))

    over_chains = jax.vmap(jax.value_and_grad(height), in_axes=(0, None))

    def all_steps(keys: jax.Array, data: Any) -> Any:
        start = jax.random.normal(keys[0], (chains, size))
        begin = start, over_chains(start, data)
        return jax.lax.scan(lambda carry, key: chain_step(data, carry, key), begin, keys[1:])[1]

    keys = jax.random.split(jax.random.key(seed), steps + 1)
    path, accepted = compiled(all_steps, hasty)(keys, given.data)
    path = np.asarray(path, np.float64)[steps // 5 :]
    mean, variance = path.mean(axis=(0, 1)), path.var(axis=(0, 1))
    off = path.mean(axis=0) - mean
    spread = ((path - mean) ** 2).mean(axis=0)
    return Reference(
        mean,
        variance,
        float((off.std(axis=0, ddof=1) / np.sqrt(chains * variance)).max()),
        float((spread.std(axis=0, ddof=1) / variance).max() / np.sqrt(chains)),
        float(np.mean(accepted)),
    )
