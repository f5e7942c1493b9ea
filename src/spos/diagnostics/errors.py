"""How far clouds are from a known truth, many clouds at once.

With the true mean μ and covariance Σ the errors of a cloud with mean m and covariance C are

    mean  ‖m - μ‖ / sqrt(tr Σ)            covariance  ‖C - Σ‖_F / ‖Σ‖_F

Both are relative: M independent draws have a mean error of about 1/sqrt(M) whatever Σ is.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.cloud import flatten
from spos.diagnostics.stein import ksd
from spos.diagnostics.transport import sliced_wasserstein
from spos.interaction.kernels import Kernel
from spos.targets.target import Target
from spos.types import Particles


@dataclass(frozen=True)
class Truth:
    """What is known of a target: its moments, draws from it or None, and its score for the KSD."""

    mean: np.ndarray
    covariance: np.ndarray
    draws: Particles | None
    target: Target
    kernel: Kernel | None

    def moment_errors(self, points: np.ndarray) -> dict[str, np.ndarray]:
        """Of clouds of vectors: the last axis are parameters, the one before it particles."""
        with np.errstate(over="ignore", invalid="ignore"):  # where a run has diverged
            mean = points.mean(-2)
            off = points - mean[..., None, :]
            covariance = off.swapaxes(-1, -2) @ off / max(1, points.shape[-2] - 1)
            away = np.linalg.norm(covariance - self.covariance, axis=(-2, -1))
            wide = np.sqrt(np.trace(self.covariance))
            return {
                "mean": np.linalg.norm(mean - self.mean, axis=-1) / wide,
                "covariance": away / np.linalg.norm(self.covariance),
            }

    def distances(self, clouds: Particles) -> dict[str, np.ndarray]:
        """Of clouds along a leading axis: what there are draws and a kernel for."""
        return {
            name: np.asarray(found, np.float64) for name, found in self._program(clouds).items()
        }

    @functools.cached_property
    def _program(self) -> Callable[[Particles], dict[str, jax.Array]]:
        draws = None if self.draws is None else flatten(self.draws)

        def one(cloud: Particles) -> dict[str, jax.Array]:
            found = {}
            if draws is not None:
                found["sliced W1"] = sliced_wasserstein(flatten(cloud), draws)
            if self.kernel is not None:
                square = ksd(self.target, cloud, self.kernel)
                found["KSD"] = jnp.sqrt(jnp.maximum(square, 0.0))
            return found

        return jax.jit(lambda clouds: jax.lax.map(one, clouds))


def as_truth(
    moments: Any, draws: Particles | None, target: Target, kernel: Kernel | None, size: int
) -> Truth:
    """`moments` are a mean and a covariance of so many parameters, or None for those of `draws`."""
    if moments is None:
        if draws is None:
            raise ValueError("truth or reference must be given: an error is a distance from one")
        points = np.asarray(flatten(draws), np.float64)
        moments = points.mean(0), np.cov(points, rowvar=False)
    mean, covariance = (np.asarray(each, np.float64) for each in moments)
    if mean.size != size or covariance.size != size * size:
        raise ValueError(
            f"truth must be a mean of {size} numbers and a covariance matrix of {size} × {size}, "
            f"got shapes {mean.shape} and {covariance.shape}"
        )
    return Truth(mean.reshape(size), covariance.reshape(size, size), draws, target, kernel)
