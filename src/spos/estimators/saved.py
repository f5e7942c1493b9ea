"""A fitted estimator as one file of plain arrays and JSON (`spos.io.archive`): nothing is pickled.

The file names its estimator, and only that class reads it. What is read is checked against the
network that its settings describe.
"""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from spos.estimators.programs import Form, particle_form
from spos.estimators.rows import Scaling
from spos.io import archive
from spos.result import versions
from spos.types import Particles

FORMAT = 1
COUNTS = ("n_features_in_", "n_iter_", "n_rows_seen_")
LABEL_KINDS = "biufUO"  # of NumPy: truth values, whole and real numbers, strings, Python's own


def save(estimator: Any, path: Any) -> Path:
    path = Path(path)
    particles, structure = archive.pack(estimator.particles_, "particles")
    scaling = {f"scaling {name}": np.asarray(v) for name, v in estimator.scaling_._asdict().items()}
    meta = {
        "format": FORMAT,
        "estimator": type(estimator).__name__,
        "settings": _settings(estimator),
        "particles": structure,
        "counts": {name: getattr(estimator, name) for name in COUNTS},
        "versions": versions(),
    }
    for name in ("classes_", "feature_names_in_"):
        if hasattr(estimator, name):
            meta[name] = _labels(name, getattr(estimator, name))
    scores = {"validation_scores": np.asarray(getattr(estimator, "validation_scores_", []))}
    archive.write(path, {**particles, **scaling, **scores}, meta)
    return path


def load(kind: type, path: Any) -> Any:
    arrays, meta = archive.read(Path(path))
    if meta.get("estimator") != kind.__name__ or meta.get("format") != FORMAT:
        what = meta.get("estimator", "something else")
        raise ValueError(
            f"{path}: must be a saved {kind.__name__} of format {FORMAT}, "
            f"got {what} of format {meta.get('format')}"
        )
    try:
        settings = {**meta["settings"], "hidden": tuple(meta["settings"]["hidden"])}
        estimator = kind(**settings)
        for name in COUNTS:
            setattr(estimator, name, meta["counts"][name])
        for name in ("classes_", "feature_names_in_"):
            if name in meta:
                setattr(estimator, name, np.asarray(meta[name]["values"], meta[name]["dtype"]))
        x_centre, x_unit, y_centre, y_unit = (arrays[f"scaling {f}"] for f in Scaling._fields)
        estimator.scaling_ = Scaling(x_centre, x_unit, float(y_centre), float(y_unit))
        estimator.validation_scores_ = arrays["validation_scores"]
        particles = archive.unpack(arrays, meta["particles"])
        must_fit(particles, estimator._form(), at_least=1)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a {kind.__name__} of this version ({error})") from error
    estimator.particles_ = particles
    return estimator


def must_fit(particles: Particles, form: Form, at_least: int) -> None:
    """Are these networks of this form, and enough of them?"""
    wanted = particle_form(form)
    found = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), particles)
    if wanted != found:
        raise ValueError(f"networks must be of the form {form}, got {found}")
    count = len(jax.tree.leaves(particles)[0])
    if count < at_least:
        raise ValueError(f"there must be at least {at_least} networks, got {count}")


def _settings(estimator: Any) -> dict[str, Any]:
    settings = estimator.get_params(deep=False)
    if not isinstance(settings["random_state"], int | np.integer | None):
        settings["random_state"] = None  # a generator cannot be kept
    return settings


def _labels(name: str, labels: np.ndarray) -> dict[str, Any]:
    values = labels.tolist()
    if labels.dtype.kind not in LABEL_KINDS or not all(
        isinstance(value, bool | int | float | str) for value in values
    ):
        raise ValueError(f"{name} must be numbers or strings to be saved, got {values}")
    return {"dtype": labels.dtype.str, "values": values}
