"""What a fitted network needs to predict, in NumPy alone.

This file imports nothing else, so that a model that was exported predicts where neither JAX nor
scikit-learn is installed: copy it, and `Exported.load("model.npz").predict(X)`.

A column of X beyond `x_limit` units grows like a logarithm, so that an outlier stays one without
ruling the network. Outcomes may be bent by Yeo and Johnson's transform before they are scaled: with
z = (y - origin) / scale,

    t = sign(z) ((1 + |z|)^a - 1) / a,    a = λ where z >= 0 and 2 - λ below,

which is log(1 + |z|) for a = 0, and z itself for λ = 1. With λ in [0, 2] every t has a y.
"""

import json
import math
import os
from typing import Any, NamedTuple

import numpy as np

FARTHEST = 12.0  # units that an input is away from its centre, at most
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
FORMAT = "spos export 2"
Number = Any  # a float, or an array with an entry for each outcome


class Scaling(NamedTuple):
    """From a table to the networks' units and back."""

    x_centre: np.ndarray
    x_unit: np.ndarray
    x_limit: float = math.inf
    y_centre: np.ndarray = np.float64(0.0)  # type: ignore[assignment]
    y_unit: np.ndarray = np.float64(1.0)  # type: ignore[assignment]
    y_power: np.ndarray = np.float64(1.0)  # type: ignore[assignment]
    y_origin: np.ndarray = np.float64(0.0)  # type: ignore[assignment]
    y_scale: np.ndarray = np.float64(1.0)  # type: ignore[assignment]
    y_low: np.ndarray = np.float64(-math.inf)  # type: ignore[assignment]
    y_high: np.ndarray = np.float64(math.inf)  # type: ignore[assignment]

    def inputs(self, x: np.ndarray) -> np.ndarray:
        """X in the networks' units.

        The unit of a column that never varied is infinite: nothing is known of what another value
        of it would do, so that it is left out of account.
        """
        with np.errstate(over="ignore"):  # what is infinitely far is as far as can be
            scaled = (x - self.x_centre) / self.x_unit
            beyond = np.abs(scaled) - self.x_limit
            if (beyond > 0).any():
                far = np.minimum(self.x_limit + np.log1p(np.maximum(beyond, 0.0)), FARTHEST)
                scaled = np.where(beyond > 0, np.sign(scaled) * far, scaled)
            return _finite("X", x, scaled.astype(np.float32))

    def targets(self, y: np.ndarray) -> np.ndarray:
        """y in the networks' units."""
        with np.errstate(over="ignore"):
            bent = bend((y - self.y_origin) / self.y_scale, self.y_power)
            return _finite("y", y, ((bent - self.y_centre) / self.y_unit).astype(np.float32))

    def outcomes(self, scaled: np.ndarray) -> np.ndarray:
        """What `targets` was made of, in float64."""
        z = straighten(scaled * self.y_unit + self.y_centre, self.y_power)
        back: np.ndarray = z * self.y_scale + self.y_origin
        return back

    def log_slope(self, y: np.ndarray) -> np.ndarray:
        """log dt/dy: what turns a log-density of `targets` into one of y."""
        z = (y - self.y_origin) / self.y_scale
        bent = (self.y_power - 1.0) * np.sign(z) * np.log1p(np.abs(z))
        slope: np.ndarray = bent - np.log(self.y_scale) - np.log(self.y_unit)
        return slope if slope.ndim < 2 else slope.sum(axis=1)

    @property
    def straight(self) -> bool:
        """Is y standardised and no more?"""
        return bool(np.all(np.equal(self.y_power, 1.0)))

    def moments(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of y where `targets` has these.

        Through a bend, by the nodes of Gauss and Hermite. They stay near the outcomes that were
        seen: what an exponential makes of a node beyond all of them is no prediction.
        """
        if self.straight:
            unit = self.y_unit * self.y_scale
            return self.outcomes(mean), variance * unit**2
        deviation = np.sqrt(variance)
        first = np.zeros_like(mean)
        second = np.zeros_like(mean)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            value = self.outcomes(np.clip(mean + node * deviation, self.y_low, self.y_high))
            first, second = first + weight * value, second + weight * value**2
        return first, np.maximum(second - first**2, 0.0)


def _finite(name: str, values: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    if not np.isfinite(scaled).all():
        place = tuple(int(n) for n in np.argwhere(~np.isfinite(scaled))[0])
        raise ValueError(
            f"{name} must be nearer to the training set, got {values[place]} in row {place[0]}, "
            "which is too far away for float32"
        )
    return scaled


def bend(z: np.ndarray, power: Number) -> np.ndarray:
    """The transform of Yeo and Johnson, for powers in [0, 2]."""
    return _signed(z, power, lambda a, u: np.expm1(a * np.log1p(u)) / a, np.log1p)


def straighten(t: np.ndarray, power: Number) -> np.ndarray:
    """The inverse of `bend`."""
    return _signed(t, power, lambda a, u: np.expm1(np.log1p(a * u) / a), np.expm1)


def _signed(z: np.ndarray, power: Number, curved: Any, at_zero: Any) -> np.ndarray:
    if np.all(np.equal(power, 1.0)):
        return z
    a, size = np.where(z >= 0, power, 2.0 - power), np.abs(z)
    safe = np.where(a < 1e-9, 1.0, a)
    with np.errstate(over="ignore"):
        bent = np.where(a < 1e-9, at_zero(size), curved(safe, size))
    result: np.ndarray = np.sign(z) * bent
    return result


class Exported:
    """A fitted network as arrays.

    Args:
        arrays: those of the file.
        about: its description.
    """

    def __init__(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        if about.get("format") != FORMAT:
            raise ValueError(f"the file must be of format {FORMAT!r}, got {about.get('format')!r}")
        for name, array in arrays.items():
            if np.iscomplexobj(array):
                raise ValueError(f"{name} must be real numbers, got {array.dtype}")
        self.arrays, self.about = arrays, about
        fields: dict[str, Any] = {name: arrays[f"scaling.{name}"] for name in Scaling._fields}
        self.scaling = Scaling(**fields)
        weights = [f"{kind}{n}" for n in range(about["layers"]) for kind in "wb"]
        for name in [*weights, *(["linear"] if about["linear"] else [])]:
            if not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name} has numbers that are not finite")
        self._must_predict()

    @classmethod
    def load(cls, path: Any) -> "Exported":
        """Read what `export` of an estimator wrote; nothing in a file is ever run.

        Args:
            path: of the file.

        Returns:
            The model.

        Raises:
            TypeError: if `path` is no path.
            ValueError: if it is no such file, or its arrays do not fit together.
            FileNotFoundError: if there is none.
        """
        if not isinstance(path, str | os.PathLike):  # a number is an open file: it would be shut
            raise TypeError(f"path must name a file, got {path!r}")
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no file {path}")
        try:
            return cls(*_read(path))
        except Exception as error:
            told = f"path must name a file of export, got {str(path)!r}: {error}"
            raise ValueError(told) from error

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of y, or the most probable class.

        Args:
            X: features, (n, n_features).
            return_std: give the standard deviation of y too.

        Returns:
            As the estimator's own `predict`.
        """
        if self.about["classes"] is not None:
            return np.asarray(self.about["classes"])[self.predict_proba(X).argmax(1)]
        outputs = self._outputs(X)
        place, log_variance = np.split(outputs, 2, axis=2)
        bounds = self.about["log_variance"]
        log_variance = self.about["slope"] * log_variance - self.arrays["log_precision"][:, None]
        log_variance = capped(log_variance, *bounds)
        variance = np.exp(log_variance) / (1.0 - 2.0 * self.arrays["heaviness"][:, None])
        if place.shape[2] == 1:
            place, variance = place[:, :, 0], variance[:, :, 0]
        each, noise = self.scaling.moments(place, variance)
        mean = each.mean(0)
        return (mean, np.sqrt(noise.mean(0) + each.var(0))) if return_std else mean

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class.

        Args:
            X: features, (n, n_features).

        Returns:
            Probabilities (n, k).
        """
        outputs = self._outputs(X)
        chances = np.exp(outputs - outputs.max(axis=2, keepdims=True))
        mean: np.ndarray = (chances / chances.sum(axis=2, keepdims=True)).mean(0)
        return mean

    def _must_predict(self) -> None:
        """In the middle of the table it was fitted to, whatever its arrays are."""
        X, classes = self.scaling.x_centre[None], self.about["classes"]
        told = self.predict_proba(X) if classes is not None else np.stack(self.predict(X, True))
        if not np.isfinite(told).all() or (classes is not None and told.shape != (1, len(classes))):
            raise ValueError("its arrays do not fit together")

    def _outputs(self, X: Any) -> np.ndarray:
        """Of every network for every row: (S, n, k)."""
        X = np.asarray(X, np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.scaling.x_centre):
            wanted = f"(n, {len(self.scaling.x_centre)})"
            raise ValueError(f"X must have the shape {wanted}, got {X.shape}")
        layers = self.about["layers"]
        inputs = x = self.scaling.inputs(X)[None]
        for n in range(layers):
            x = x @ self.arrays[f"w{n}"][:, : x.shape[2]] + self.arrays[f"b{n}"][:, None]
            x = np.maximum(x, 0.0) if n < layers - 1 else x
        if self.about["linear"]:
            x = x + inputs @ self.arrays["linear"][:, : inputs.shape[2]]
        result: np.ndarray = x.astype(np.float64)
        return result


def _read(path: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    if not os.path.isfile(path):
        raise ValueError("it is not a regular file")
    # opened here: NumPy leaves a file open that is no archive
    with open(path, "rb") as whole, np.load(whole, allow_pickle=False) as file:
        # sizes are compared with the file before room is made for them
        if sum(each.file_size for each in file.zip.infolist()) > os.path.getsize(path):
            raise ValueError("it is compressed")
        arrays = {name: file[name] for name in file.files}
    return arrays, json.loads(arrays.pop("about").tobytes().decode())


def capped(log_variance: np.ndarray, lowest: float, highest: float, bend: float) -> np.ndarray:
    """Kept between bounds, smoothly; the same as in `spos.targets.likelihoods`."""
    below = highest - bend * np.logaddexp(0.0, (highest - log_variance) / bend)
    bounded: np.ndarray = lowest + bend * np.logaddexp(0.0, (below - lowest) / bend)
    return bounded
