"""What every library's model offers here, whatever it was written with."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.names import leaf_name
from spos.targets.target import Target
from spos.types import Particles

RADIUS = 2.0  # of the box where unconstrained parameters start
BLOCK = 512  # rows that are constrained at a time


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Predictions(dict[str, Any]):
    """Draws by the names of what a model observes, with what their axes are called.

    Attributes:
        coords: labels of the axes.
        dims: names of the axes of each array, without those of the draws.
    """

    def __init__(
        self, draws: Mapping[str, Any], coords: Mapping[str, Any], dims: Mapping[str, list[str]]
    ) -> None:
        super().__init__(draws)
        self.coords, self.dims = coords, dims


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
        predict_batch: see `predict`; of constrained parameters and other arguments.
        log_likelihood_batch: see `log_likelihood`.
        sites_batch: the log-density of every site.
        prior_batch: so many draws of everything from the prior.
        observe: gives the observations by name.
        inputs: data and arguments by name.
    """

    name: str
    target: Target
    shapes: Mapping[str, tuple[int, ...]]
    coords: Mapping[str, Any]
    dims: Mapping[str, list[str]]
    constrain_batch: Callable[[Particles], dict[str, Any]]
    predict_batch: Callable[[jax.Array, dict[str, Any], Arguments], Predictions]
    log_likelihood_batch: Callable[[Particles], dict[str, Any]]
    sites_batch: Callable[[Particles], dict[str, Any]]
    prior_batch: Callable[[jax.Array, int], dict[str, Any]]
    observe: Callable[[], dict[str, Any]]
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}{list(s) if s else ''}" for name, s in self.shapes.items())
        return f"<Model: {self.name} with {shown}>"

    def start(self, key: jax.Array, num_particles: int) -> dict[str, jax.Array]:
        """Particles to begin with, uniform between -2 and 2 in every unconstrained direction.

        Args:
            key: of the random numbers.
            num_particles: how many.

        Returns:
            Arrays by name, with a leading axis of particles.
        """
        num_particles = checks.whole("num_particles", num_particles)
        # on the host, where nothing has to be compiled
        rng = np.random.default_rng(np.asarray(jax.random.key_data(checks.key("key", key))))
        return {
            name: jnp.asarray(rng.uniform(-RADIUS, RADIUS, (num_particles, *shape)))
            for name, shape in self.shapes.items()
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

    def predict(
        self, key: jax.Array, particles: Particles, *args: Any, **kwargs: Any
    ) -> "Predictions":
        """One draw of everything the model observes, for each particle.

        Args:
            key: of the random numbers.
            particles: unconstrained, with any leading axes.
            *args: other arguments for a NumPyro function; without any, those it was read with.
            **kwargs: the same; for a PyMC model, new values of its `pymc.Data` and new labels of
                its dims, by name.

        Returns:
            Arrays by name, with the same leading axes, and names of their other axes.

        Raises:
            ModelError: the model cannot predict with these arguments.
        """
        flat, leading = self.flatten(particles)
        found = self.predict_batch(key, self.constrain_batch(flat), (args, kwargs))
        return Predictions(_unflatten(found, leading), found.coords, found.dims)

    def log_likelihood(self, particles: Particles) -> dict[str, Any]:
        """The log-likelihood of every single observation, at each particle.

        Args:
            particles: unconstrained, with any leading axes.

        Returns:
            Arrays by the names of what is observed, with the same leading axes.
        """
        flat, leading = self.flatten(particles)
        return _unflatten(self.log_likelihood_batch(flat), leading)

    def data(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """What the model observes, and the other arrays that it was given.

        Returns:
            Observations by the names of their sites, and arguments by theirs.
        """
        observed = {name: np.asarray(values) for name, values in self.observe().items()}
        constant = {}
        for path, leaf in jax.tree_util.tree_leaves_with_path(dict(self.inputs)):
            if isinstance(leaf, np.ndarray | jax.Array) and leaf.dtype.kind in "biuf":
                values = np.asarray(leaf)
                # an observation in a precision of its own is still that observation
                if not any(np.array_equal(values.astype(o.dtype), o) for o in observed.values()):
                    constant[leaf_name(path)] = values
        return observed, constant

    def blame(self, particles: Particles) -> str:
        """Which sites have no finite log-density, or else which parameters have no finite score.

        Args:
            particles: where to look.

        Returns:
            A sentence on those that are to blame everywhere, if there are any.
        """
        found = {name: np.asarray(each) for name, each in self.sites_batch(particles).items()}
        words = _not_finite(found, "its log-density")
        if not words:
            scores = self.target.score(particles)
            found = {name: np.asarray(scores[name]) for name in self.shapes}
            words = _not_finite(found, "the gradient of the log-density")
        return "; ".join(words) or "every site is finite by itself, but their sum is not"

    def flatten(self, particles: Particles) -> tuple[dict[str, Any], tuple[int, ...]]:
        """The particles with one leading axis, and the leading axes that they had.

        Args:
            particles: a dict of this model's parameters, with any leading axes.

        Returns:
            The flat particles, and the axes.

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


def not_evaluated(model: str, how: str, error: Exception, advice: str = "") -> ModelError:
    """What the other library said first, under the model's name, and what may help."""
    reason = str(error).strip().partition("\n")[0]
    return ModelError(f"{model} cannot be evaluated {how}: {reason}{advice}")
