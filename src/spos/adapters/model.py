"""What every library's model offers here, whatever it was written with."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from spos import checks
from spos.names import entry_name
from spos.targets.target import Target
from spos.types import Particles

RADIUS = 2.0  # of the box where unconstrained parameters start
BLOCK = 512  # rows that are constrained at a time


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A model as a target on unconstrained parameters, and the way back to the user's own words.

    `spos.from_numpyro` and `spos.from_pymc` build it. The functions take a flat batch of particles;
    the methods of similar names take any leading axes.

    Attributes:
        name: of the model, in words.
        target: its log-density on unconstrained parameters, for any sampler.
        shapes: of the parameters of one particle.
        coords: labels of the axes of what `constrain` and `predict` return, as ArviZ wants them.
        dims: names of these axes.
        constrain_batch: see `constrain`.
        predict_batch: see `predict`.
        sites_batch: the log-density of every site.
        inputs: data and arguments by name.
    """

    name: str
    target: Target
    shapes: Mapping[str, tuple[int, ...]]
    coords: Mapping[str, Any]
    dims: Mapping[str, list[str]]
    constrain_batch: Callable[[Particles], dict[str, Any]]
    predict_batch: Callable[[jax.Array, Particles], dict[str, Any]]
    sites_batch: Callable[[Particles], dict[str, Any]]
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}{list(s) if s else ''}" for name, s in self.shapes.items())
        return f"<Model: {self.name} with {shown}>"

    def start(self, key: jax.Array, count: int) -> dict[str, jax.Array]:
        """Particles to begin with, uniform between -2 and 2 in every unconstrained direction.

        Args:
            key: of the random numbers.
            count: how many.

        Returns:
            Arrays by name, with a leading axis of particles.
        """
        count = checks.whole("count", count)
        keys = jax.random.split(key, len(self.shapes))
        return {
            name: jax.random.uniform(k, (count, *shape), minval=-RADIUS, maxval=RADIUS)
            for k, (name, shape) in zip(keys, self.shapes.items(), strict=True)
        }

    def constrain(self, particles: Particles) -> dict[str, Any]:
        """The parameters as the model knows them, and what it computes from them by name.

        Args:
            particles: unconstrained, with any leading axes.

        Returns:
            Arrays by name, with the same leading axes.
        """
        flat, leading = self.flatten(particles)
        return _unflatten(self.constrain_batch(flat), leading)

    def predict(self, key: jax.Array, particles: Particles) -> dict[str, Any]:
        """One draw of everything the model observes, for each particle.

        Args:
            key: of the random numbers.
            particles: unconstrained, with any leading axes.

        Returns:
            Arrays by name, with the same leading axes.
        """
        flat, leading = self.flatten(particles)
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

    def flatten(self, particles: Particles) -> tuple[dict[str, Any], tuple[int, ...]]:
        """The particles with one leading axis, and the leading axes that they had.

        Raises:
            ValueError: they are not particles of this model.
        """
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


def in_blocks(
    function: Callable[[np.ndarray, Particles], dict[str, Any]], flat: dict[str, Any]
) -> dict[str, np.ndarray]:
    """`function(n, rows)` of one block of rows after the other, joined.

    All blocks have the same size, the last one with copies of its last row, so that whatever the
    number of rows one compiled program will do.
    """
    count = len(next(iter(flat.values())))
    parts = []
    for n, first in enumerate(range(0, count, BLOCK)):
        some = {name: np.asarray(values[first : first + BLOCK]) for name, values in flat.items()}
        missing = BLOCK - min(BLOCK, count - first)
        filled = {k: np.concatenate([v, v[-1:].repeat(missing, 0)]) for k, v in some.items()}
        found = function(np.asarray(n, np.int32), filled)
        parts.append({name: np.asarray(x)[: BLOCK - missing] for name, x in found.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _unflatten(batch: dict[str, Any], leading: tuple[int, ...]) -> dict[str, Any]:
    return {name: value.reshape((*leading, *value.shape[1:])) for name, value in batch.items()}


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


def broken_inputs(inputs: Mapping[str, Any]) -> list[str]:
    """A phrase for each array that has something else than finite numbers, and where."""
    words = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(dict(inputs)):
        if not hasattr(leaf, "dtype") or np.dtype(leaf.dtype).kind not in "fc":
            continue
        values = np.asarray(leaf)
        bad = np.argwhere(np.isnan(values))
        if not len(bad):
            bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            place = tuple(bad[0])
            more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
            words.append(f"{entry_name(path, place)} is {values[place]}{more}")
    return words


def axis_names(variable: str, axes: int, known: Mapping[int, str]) -> list[str]:
    """A name for every axis of a variable, ArviZ's usual one where none is known."""
    return [known.get(axis, f"{variable}_dim_{axis}") for axis in range(axes)]


class ModelError(ValueError):
    """The model cannot be sampled, or not with these arguments."""


def discrete(model: str, sites: list[str], how: str) -> ModelError:
    """The complaint about parameters without a score."""
    return ModelError(
        f"{model} has discrete parameters, which have no score: {', '.join(sites)}. "
        f"Sum them out, {how}"
    )


def nothing_to_sample(model: str) -> ModelError:
    """The complaint about a model without parameters."""
    return ModelError(f"{model} has no parameters to sample: no random site without observations")


def not_evaluated(model: str, how: str, error: Exception) -> ModelError:
    """What the other library said first, under the model's name."""
    reason = str(error).strip().partition("\n")[0]
    return ModelError(f"{model} cannot be evaluated {how}: {reason}")
