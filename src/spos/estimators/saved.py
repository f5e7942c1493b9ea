"""A fitted estimator as one file of plain arrays and JSON (`spos.io.archive`): nothing is pickled.

The file names its estimator, and only that class reads it. What is read is checked against the
network that its settings describe.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import jax
import numpy as np
from sklearn.utils.validation import check_is_fitted

from spos import checks
from spos.estimators.stacking import must_be_shares
from spos.io import archive, npz, schema
from spos.io.files import whole
from spos.networks.plain import FORMAT as FORMAT_OF_EXPORTS
from spos.networks.rows import Scaling
from spos.result import versions
from spos.targets import likelihoods
from spos.targets.layers import Dense
from spos.targets.network import BayesianNetwork
from spos.types import Particles, PathLike

FORMAT = 4
LABEL_KINDS = "biufUO"  # of NumPy: truth values, whole and real numbers, strings, Python's own


class Labels(NamedTuple):
    """An array of numbers or strings, as JSON."""

    dtype: str
    values: list[bool | int | float | str]

    @classmethod
    def of(cls, name: str, labels: np.ndarray) -> "Labels":
        values = labels.tolist()
        if labels.dtype.kind not in LABEL_KINDS or not all(
            isinstance(value, bool | int | float | str) for value in values
        ):
            raise ValueError(f"{name} must be numbers or strings to be saved, got {values}")
        return cls(labels.dtype.str, values)

    def array(self) -> np.ndarray:
        dtype = np.dtype(self.dtype)
        if dtype.kind not in LABEL_KINDS:
            raise ValueError(f"labels must be numbers or strings, got {self.dtype}")
        # strings find their length themselves: a file must not ask for a gigabyte each
        return np.asarray(self.values, np.str_ if dtype.kind == "U" else dtype)


class Saved(NamedTuple):
    """All that a file holds of an estimator. Fields with `_` at their end are its attributes."""

    estimator: str
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    n_features_in_: int
    n_iter_: int
    n_rows_seen_: float  # a row counts for its weight
    scaling_: Scaling
    validation_scores_: np.ndarray
    particles_: Particles
    classes_: Labels | None = None
    n_outputs_: int | None = None
    noise_: str | None = None
    target_transform_: str | None = None
    prior_shares_: np.ndarray | None = None
    sharpness_: float = 1.0
    feature_names_in_: Labels | None = None


FIELDS = archive.fields_of(Saved)


class Storable:
    """What estimators know of files."""

    def save(self, path: PathLike) -> Path:
        """Write the fitted estimator to one file, atomically and without pickle.

        Args:
            path: of the file, which usually ends in `.npz`.

        Returns:
            The path.
        """
        check_is_fitted(self)
        return save(self, path)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote.

        Args:
            path: of the file.

        Returns:
            The fitted estimator, which predicts the same bits.

        Raises:
            ValueError: the file is damaged, or holds something else.
        """
        estimator: Self = load(cls, path)
        return estimator

    def export(self, path: PathLike) -> Path:
        """Write what predicts, for a place where NumPy is all there is.

        `spos/networks/plain.py` reads it, one file that imports nothing but NumPy: take it along.

        Args:
            path: of the file of arrays and JSON, which usually ends in `.npz`.

        Returns:
            The path.
        """
        check_is_fitted(self)
        return export(self, path)


def save(estimator: Any, path: PathLike) -> Path:
    path = checks.as_path("path", path)
    learnt: dict[str, Any] = {
        name: getattr(estimator, name) for name in FIELDS if hasattr(estimator, name)
    }
    for name in ("classes_", "feature_names_in_"):
        if name in learnt:
            learnt[name] = Labels.of(name, learnt[name])
    learnt.setdefault("validation_scores_", np.empty(0))
    learnt |= {"estimator": type(estimator).__name__, "settings": _settings(estimator)}
    whole = Saved(versions=versions(), **learnt)
    archive.save_fields(path, FORMAT, whole._asdict(), FIELDS)
    return path


def export(estimator: Any, path: PathLike) -> Path:
    path = checks.as_path("path", path)
    particles, network = estimator.particles_, estimator._network()
    weights = particles["weights"]
    arrays = {name: np.asarray(leaf) for name, leaf in weights.items()}
    arrays |= {f"scaling.{name}": np.asarray(v) for name, v in estimator.scaling_._asdict().items()}
    about: dict[str, Any] = {"format": FORMAT_OF_EXPORTS, "layers": len(weights) // 2}
    about["linear"] = "linear" in weights
    about["classes"] = None
    if network.likelihood.classes:
        about["classes"] = Labels.of("classes_", estimator.classes_).values
    else:
        own, likelihood = particles["likelihood"], network.likelihood
        heaviness = likelihood.parts(own, np.zeros((1, 2)))[2]
        arrays |= {"log_precision": own["log_precision"], "heaviness": np.asarray(heaviness)}
        about["slope"] = likelihood.slope
        about["log_variance"] = [likelihoods.LOWEST, likelihoods.HIGHEST, likelihoods.BEND]
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with whole(path) as file:
        npz.write(file, {name: np.asarray(array) for name, array in arrays.items()})
    return path


def load(kind: type, path: PathLike) -> Any:
    path = checks.as_path("path", path)
    found = Saved(**archive.load_fields(path, FORMAT, FIELDS))
    if found.estimator != kind.__name__:
        raise ValueError(f"{path}: must be a saved {kind.__name__}, got {found.estimator[:50]}")
    with archive.making_sense(path):
        layers = tuple(schema.read(list[int], found.settings["hidden"], "hidden"))
        if len(layers) > len(jax.tree.leaves(found.particles_)):  # before so many are built
            raise ValueError(f"there cannot be {len(layers)} hidden layers")
        estimator = kind(**{**found.settings, "hidden": layers})
        for name, value in found._asdict().items():
            if name.endswith("_") and value is not None:
                setattr(estimator, name, value.array() if isinstance(value, Labels) else value)
        _must_scale(estimator.scaling_, estimator.n_features_in_)
        if found.prior_shares_ is not None:
            must_be_shares(found.prior_shares_)
        must_fit(estimator.particles_, estimator._network(), at_least=1)
    return estimator


def _must_scale(scaling: Scaling, num_features: int) -> None:
    """Are these units that numbers can be measured in?"""
    y_units = np.append(scaling.y_unit, scaling.y_scale)
    units = np.append(scaling.x_unit, y_units)
    centres = np.concatenate(
        [np.ravel(part) for part in (scaling.x_centre, scaling.y_centre, scaling.y_origin)]
    )
    if np.shape(scaling.x_unit) != (num_features,) or np.shape(scaling.x_centre) != (num_features,):
        raise ValueError(f"scaling must be that of {num_features} features")
    if not (np.isfinite(centres).all() and (units > 0).all() and np.isfinite(y_units).all()):
        raise ValueError("scaling must have finite centres and units above 0")


def last(particles: Particles, network: BayesianNetwork, count: int) -> Particles:
    """The last `count` networks of an earlier fit, to go on from."""
    try:
        must_fit(particles, network, at_least=count)
    except ValueError as error:
        raise ValueError(f"cannot go on from the last fit: {error}") from None
    return jax.tree.map(lambda leaf: leaf[-count:], particles)


def must_fit(particles: Particles, network: BayesianNetwork, at_least: int) -> None:
    """Are these particles of this network of dense layers, and enough of them?"""
    sizes = cast(Dense, network.network).sizes
    x = np.zeros((1, sizes[0]), np.float32)
    classes = network.likelihood.classes
    y = np.zeros(1, np.int32) if classes else np.zeros((1, sizes[-1] // 2), np.float32)
    one = jax.eval_shape(functools.partial(network.start, jax.random.key(0), 1), x, y)
    wanted, found = _forms(one), _forms(particles)
    if wanted != found:
        raise ValueError(f"particles must be of the network {network.network}, got {found}")
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(particles)):
        raise ValueError("particles must be finite numbers, got NaN or infinity among them")
    count = len(jax.tree.leaves(particles)[0])
    if count < at_least:
        raise ValueError(f"there must be at least {at_least} networks, got {count}")


def _forms(particles: Particles) -> Any:
    """Type and shape of every part of one particle."""
    return jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape[1:])}", particles)


def _settings(estimator: Any) -> dict[str, Any]:
    settings: dict[str, Any] = estimator.get_params(deep=False)
    if not isinstance(settings["random_state"], int | np.integer | None):
        settings["random_state"] = None  # a generator cannot be kept
    return settings
