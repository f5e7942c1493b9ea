"""What every library's model offers here, whatever it was written with."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from spos import checks
from spos.targets.target import Target
from spos.types import Particles

RADIUS = 2.0  # of the box where unconstrained parameters start


@dataclass(frozen=True, eq=False)
class Model:
    """A model as a target on unconstrained parameters, and the way back to the user's own words.

    `shapes` has the parameters of one particle. `coords` and `dims` name the axes of what
    `constrain` and `predict` return, as ArviZ wants them. The functions take a flat batch of
    particles; the methods of similar names take any leading axes.
    """

    name: str
    target: Target
    shapes: Mapping[str, tuple[int, ...]]
    coords: Mapping[str, Any]
    dims: Mapping[str, list[str]]
    constrain_batch: Callable[[Particles], dict[str, Any]]
    predict_batch: Callable[[jax.Array, Particles], dict[str, Any]]
    sites_batch: Callable[[Particles], dict[str, Any]]  # the log-density of every site

    def start(self, key: jax.Array, count: int) -> dict[str, jax.Array]:
        """`count` particles, uniform between -2 and 2 in every unconstrained direction."""
        count = checks.whole("count", count)
        keys = jax.random.split(key, len(self.shapes))
        return {
            name: jax.random.uniform(k, (count, *shape), minval=-RADIUS, maxval=RADIUS)
            for k, (name, shape) in zip(keys, self.shapes.items(), strict=True)
        }

    def constrain(self, particles: Particles) -> dict[str, Any]:
        """The parameters as the model knows them, and what it computes from them by name."""
        flat, leading = self._flatten(particles)
        return _unflatten(self.constrain_batch(flat), leading)

    def predict(self, key: jax.Array, particles: Particles) -> dict[str, Any]:
        """One draw of everything the model observes, for each particle."""
        flat, leading = self._flatten(particles)
        return _unflatten(self.predict_batch(key, flat), leading)

    def blame(self, particles: Particles) -> str:
        """Which sites have no finite log-density at these particles, or else which parameters have
        no finite score, in words: those that are to blame everywhere, if there are any."""
        found = {name: np.asarray(each) for name, each in self.sites_batch(particles).items()}
        words = _not_finite(found, "its log-density")
        if not words:
            scores = self.target.score(particles)
            found = {name: np.asarray(scores[name]) for name in self.shapes}
            words = _not_finite(found, "the gradient of the log-density")
        return "; ".join(words) or "every site is finite by itself, but their sum is not"

    def _flatten(self, particles: Particles) -> tuple[Particles, tuple[int, ...]]:
        if not isinstance(particles, Mapping) or set(particles) != set(self.shapes):
            came = sorted(particles) if isinstance(particles, Mapping) else type(particles).__name__
            raise ValueError(
                f"particles of {self.name} must be a dict of {', '.join(self.shapes)}, got {came}"
            )
        leading = set()
        for name, shape in self.shapes.items():
            full = np.shape(particles[name])
            if full[len(full) - len(shape) :] != shape:
                raise ValueError(
                    f"particles of {self.name}: {name} must have shape {shape} after its leading "
                    f"axes, got {full}"
                )
            leading.add(full[: len(full) - len(shape)])
        if len(leading) > 1:
            raise ValueError(
                f"particles of {self.name}: all must share their leading axes, got "
                f"{' and '.join(map(str, sorted(leading)))}"
            )
        (axes,) = leading
        rows = math.prod(axes)
        flat = {name: particles[name].reshape(rows, *shape) for name, shape in self.shapes.items()}
        return flat, axes


def _unflatten(batch: dict[str, Any], leading: tuple[int, ...]) -> dict[str, Any]:
    return {name: value.reshape(*leading, *value.shape[1:]) for name, value in batch.items()}


def _not_finite(found: Mapping[str, np.ndarray], what: str) -> list[str]:
    """A phrase for each that is not finite at any particle, else for each that is not at some."""
    rows = {name: values.reshape(len(values), -1) for name, values in found.items()}
    bad = {name: ~np.isfinite(values).all(1) for name, values in rows.items()}
    guilty = [name for name in bad if bad[name].all()] or [n for n in bad if bad[n].any()]
    words = []
    for name in guilty:
        count, total = np.count_nonzero(bad[name]), len(bad[name])
        kinds = sorted({str(value) for value in rows[name][~np.isfinite(rows[name])].tolist()})
        place = "every start" if count == total else f"{count} of {total} starts"
        words.append(f"{name}: {what} is {' or '.join(kinds)} at {place}")
    return words


def axis_names(variable: str, axes: int, known: Mapping[int, str]) -> list[str]:
    """A name for every axis of a variable, ArviZ's usual one where none is known."""
    return [known.get(axis, f"{variable}_dim_{axis}") for axis in range(axes)]


class ModelError(ValueError):
    """The model cannot be sampled, or not with these arguments."""


def discrete(model: str, sites: list[str], how: str) -> ModelError:
    return ModelError(
        f"{model} has discrete parameters, which have no score: {', '.join(sites)}. "
        f"Sum them out, {how}"
    )


def nothing_to_sample(model: str) -> ModelError:
    return ModelError(f"{model} has no parameters to sample: no random site without observations")


def not_evaluated(model: str, how: str, error: Exception) -> ModelError:
    """What the other library said first, under the model's name."""
    reason = str(error).strip().partition("\n")[0]
    return ModelError(f"{model} cannot be evaluated {how}: {reason}")
