"""Exact moments of a posterior with many rows, from chains that see all of them in every step.

Metropolis-adjusted Langevin chains walk in the coordinates z = L⁻¹(θ - mode), where L Lᵀ is the
inverse of the curvature there and the posterior is nearly a standard normal law:

    z' = z + (τ/2) ∇ log p + sqrt(τ) ξ,      accepted with probability min(1, ratio)

They are exact up to the spread of the chains, which is part of the answer. In these coordinates the
score s is nearly -z, and under the posterior E s = 0 and E z sᵀ = -I whatever its form, so that

    z + s    and    z zᵀ + (z sᵀ + s zᵀ)/2 + I

have the means of z and z zᵀ, and nearly no variance (`sharp`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos_experiments.frame.experiment import compiled


class Reference(NamedTuple):
    """Moments of every parameter, and the largest standard errors of them, in units of the
    standard deviation and of the variance."""

    mean: np.ndarray
    variance: np.ndarray
    mean_error: float
    variance_error: float
    acceptance: float


class Path(NamedTuple):
    """Where all chains were, with axes (step, chain, parameter), their scores, and how often they
    moved."""

    z: np.ndarray
    score: np.ndarray
    acceptance: float


def walk(
    log_likelihood: Callable[..., jax.Array],
    log_prior: Callable[..., jax.Array],
    data: Any,
    mode: Any,
    root: Any,
    chains: int,
    steps: int,
    tau: float,
    seed: int,
    hasty: bool,
) -> Path:
    """The last four fifths of the steps of all chains.

    Args:
        log_likelihood: of a vector of parameters and a batch of rows, one number a row.
        log_prior: of a vector of parameters.
        data: all rows.
        mode: where z is 0.
        root: L.
        chains: how many there are.
        steps: that each takes.
        tau: τ.
        seed: of their random numbers.
        hasty: compile with less care.
    """
    mode, root = jnp.asarray(mode, jnp.float32), jnp.asarray(root, jnp.float32)

    def height(z: jax.Array, data: Any) -> jax.Array:
        theta = mode + root @ z
        # example by example, since the sum over all of them would drown the difference in rounding
        gain = log_likelihood(theta, data) - log_likelihood(mode, data)
        return jnp.sum(gain) + log_prior(theta)

    def chain_step(data: Any, carry: Any, key: jax.Array) -> Any:
        z, (now, slope) = carry
        noise_key, coin_key = jax.random.split(key)
        new = z + 0.5 * tau * slope + jnp.sqrt(tau) * jax.random.normal(noise_key, z.shape)
        then, steep = over_chains(new, data)
        forth = jnp.sum((new - z - 0.5 * tau * slope) ** 2, axis=1)
        back = jnp.sum((z - new - 0.5 * tau * steep) ** 2, axis=1)
        ratio = then - now + (forth - back) / (2 * tau)
        yes = jnp.log(jax.random.uniform(coin_key, (chains,))) < ratio
        kept = jnp.where(yes[:, None], new, z), jnp.where(yes[:, None], steep, slope)
        carry = kept[0], (jnp.where(yes, then, now), kept[1])
        return carry, (*kept, jnp.mean(yes))

    over_chains = jax.vmap(jax.value_and_grad(height), in_axes=(0, None))

    def all_steps(keys: jax.Array, data: Any) -> Any:
        start = jax.random.normal(keys[0], (chains, len(mode)))
        begin = start, over_chains(start, data)
        return jax.lax.scan(lambda carry, key: chain_step(data, carry, key), begin, keys[1:])[1]

    keys = jax.random.split(jax.random.key(seed), steps + 1)
    z, score, accepted = compiled(all_steps, hasty)(keys, data)
    z, score = (np.asarray(each, np.float64)[steps // 5 :] for each in (z, score))
    return Path(z, score, float(np.mean(accepted)))


def plain(path: Path, mode: Any, root: Any) -> Reference:
    """Moments of θ by averages over the path."""
    theta = np.asarray(mode, np.float64) + path.z @ np.asarray(root, np.float64).T
    mean, variance = theta.mean(axis=(0, 1)), theta.var(axis=(0, 1))
    off = theta.mean(axis=0) - mean
    spread = ((theta - mean) ** 2).mean(axis=0)
    return _reference(mean, variance, off, spread, path)


def sharp(path: Path, mode: Any, root: Any) -> Reference:
    """Moments of θ by averages over the path with the variance that the scores know taken away."""
    root = np.asarray(root, np.float64)
    first = (path.z + path.score).mean(axis=0) @ root.T  # of each chain
    cross = np.einsum("tci,tcj->cij", path.z, path.z + path.score) / len(path.z)
    second = root @ (0.5 * (cross + cross.transpose(0, 2, 1)) + np.eye(len(root))) @ root.T
    mean = first.mean(axis=0)
    spread = np.diagonal(second, axis1=1, axis2=2) - 2 * first * mean + mean**2
    return _reference(
        np.asarray(mode, np.float64) + mean, spread.mean(axis=0), first - mean, spread, path
    )


def _reference(
    mean: np.ndarray, variance: np.ndarray, off: np.ndarray, spread: np.ndarray, path: Path
) -> Reference:
    chains = len(off)
    return Reference(
        mean,
        variance,
        float((off.std(axis=0, ddof=1) / np.sqrt(chains * variance)).max()),
        float((spread.std(axis=0, ddof=1) / variance).max() / np.sqrt(chains)),
        path.acceptance,
    )
