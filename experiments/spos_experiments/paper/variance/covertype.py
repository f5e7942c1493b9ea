"""Bayesian logistic regression on the forest covers of the Covertype set, and its exact moments.

    log p(y | x, θ) = y xᵀθ - log(1 + exp xᵀθ),      θ ~ N(0, I)

x holds the ten measured columns, made uncorrelated with variance 1 over the rows in use, and a 1;
y says whether the cover is anything but lodgepole pine. The reference moments come from chains on
all rows (`all_rows`).
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
from spos_experiments.paper.all_rows import Reference, plain, walk

FOLDER = Path("..") / "shared" / "data"  # unless the environment has SPOS_DATA
FILE = "covertype.npz"
MEASURED = 10  # columns that are not yes or no
TAU = 1.0
NEWTON = 10  # steps, of which the last changes nothing that float32 could hold


class Problem(NamedTuple):
    """The data, where they come from, the mode, and the Hessian of -log p there."""

    data: dict[str, jax.Array]
    source: str
    mode: jax.Array
    hessian: np.ndarray


def log_likelihood(theta: jax.Array, batch: dict[str, jax.Array]) -> jax.Array:
    logit = batch["x"] @ theta
    return batch["y"] * logit - jnp.logaddexp(0.0, logit)


def log_prior(theta: jax.Array) -> jax.Array:
    return -0.5 * jnp.sum(theta**2)


def posterior(data: Any, batch_size: int | None) -> Posterior:
    return spos.posterior(log_likelihood, log_prior, data, batch_size)


def problem(rows: int, seed: int) -> Problem:
    """So many rows, and the mode by Newton's method."""
    x, y, source = rows_of(rows, np.random.default_rng(seed))
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


def rows_of(
    count: int, rng: np.random.Generator, columns: int = MEASURED
) -> tuple[np.ndarray, np.ndarray, str]:
    """So many random rows of the first columns, whether each is true, and where they come from."""
    path = Path(os.environ.get("SPOS_DATA", FOLDER)) / FILE
    if not path.exists():
        print(f"{path} is not there (SPOS_DATA names its folder): made-up rows.", file=sys.stderr)
        x = rng.normal(size=(count, columns)) @ rng.normal(size=(columns, columns))
        chance = 1.0 / (1.0 + np.exp(-0.3 * x @ rng.normal(size=columns)))
        return x, rng.uniform(size=count) < chance, "made-up rows of the same form"
    with np.load(path, allow_pickle=False) as found:
        chosen = rng.permutation(len(found["y"]))[:count]
        x, y = found["X"][chosen, :columns].astype(np.float64), found["y"][chosen] > 0
    return x, y, f"{count} random rows of Covertype"


def reference(given: Problem, chains: int, steps: int, seed: int, hasty: bool) -> Reference:
    """Moments over the last four fifths of the steps of all chains."""
    root = np.linalg.cholesky(np.linalg.inv(given.hessian))
    path = walk(
        *(log_likelihood, log_prior, given.data, given.mode, root),
        *(chains, steps, TAU, seed, hasty),
    )
    return plain(path, given.mode, root)
