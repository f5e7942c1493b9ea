"""A program of its own: one fit of one library, in the Python that has it.

    python alone.py rows.npz settings.json found.json

Both libraries are measured by it, each in a fresh process: seconds begin after the imports, and
have all that a first fit and its predictions compile. It needs NumPy and the library alone.

A library's prediction is a mixture of S Gaussians. `nll` is that of the mixture, and `gaussian_nll`
that of one Gaussian with its mean and standard deviation, which is what the authors of bde print.
"""

import importlib
import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS = 500  # predicted at a time: all networks' answers to all rows would not fit the memory
Said = tuple[np.ndarray, np.ndarray, np.ndarray]  # mean, standard deviation, log-density of y
Fit = Callable[[Any, dict[str, np.ndarray], dict[str, Any], int], Said]


def spos(library: Any, rows: dict[str, np.ndarray], settings: dict[str, Any], seed: int) -> Said:
    model = library.SPOSRegressor(random_state=seed, progress=False, **settings)
    model.fit(rows["x"], rows["y"])
    mean, sd = model.predict(rows["new_x"], return_std=True)
    return mean, sd, model.log_predictive(rows["new_x"], rows["new_y"])


def bde(library: Any, rows: dict[str, np.ndarray], settings: dict[str, Any], seed: int) -> Said:
    model = library.BdeRegressor(seed=seed, **settings).fit(rows["x"], rows["y"])
    parts = [
        mixture(np.asarray(model.predict(rows["new_x"][at : at + ROWS], raw=True)), y)
        for at in range(0, len(rows["new_y"]), ROWS)
        for y in [rows["new_y"][at : at + ROWS]]
    ]
    mean, sd, log_density = (np.concatenate(each) for each in zip(*parts, strict=True))
    return mean, sd, log_density


def mixture(raw: np.ndarray, y: np.ndarray) -> Said:
    """Of the outputs (members, draws, rows, 2): a mean, and what softplus makes a width."""
    raw = raw.reshape(-1, *raw.shape[2:]).astype(np.float64)
    mean, sd = raw[..., 0], np.logaddexp(0.0, raw[..., 1]) + 1e-6
    each = -0.5 * ((y - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
    log_density = np.logaddexp.reduce(each, axis=0) - np.log(len(each))
    spread = np.sqrt((sd**2).mean(axis=0) + mean.var(axis=0))
    return mean.mean(axis=0), spread, log_density


LIBRARIES: dict[str, tuple[Fit, str]] = {
    "spos": (spos, "spos"),
    "bde": (bde, "sklearn-contrib-bde"),
}


def measured(library: str, rows: dict[str, np.ndarray], settings: dict[str, Any], seed: int) -> Any:
    """The measures of a fit, what it took, and by which versions."""
    fit, distribution = LIBRARIES[library]
    loaded = importlib.import_module(library)
    began, busy = time.perf_counter(), time.process_time()
    mean, sd, log_density = fit(loaded, rows, settings, seed)
    wall, seconds = time.perf_counter() - began, time.process_time() - busy
    away = rows["new_y"] - mean
    gaussian = 0.5 * (away / sd) ** 2 + np.log(sd) + 0.5 * np.log(2.0 * np.pi)
    return {
        "rmse": float(np.sqrt((away**2).mean())),
        "nll": float(-log_density.mean()),
        "gaussian_nll": float(gaussian.mean()),
        "seconds": seconds,
        "wall": wall,
        "versions": {name: importlib.metadata.version(name) for name in (distribution, "jax")},
    }


if __name__ == "__main__":
    data, told, found = map(Path, sys.argv[1:])
    with np.load(data, allow_pickle=False) as archive:
        made = measured(rows=dict(archive), **json.loads(told.read_text()))
    found.write_text(json.dumps(made))
