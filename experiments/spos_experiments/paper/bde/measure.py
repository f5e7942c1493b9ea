"""The tables with their rows, and a fit of either library in a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spos.cli import UsageError
from spos_experiments.data import DataError, load
from spos_experiments.paper.bde import alone

VARIABLE = "SPOS_BDE"
INSTALL = "python -m venv DIR && DIR/bin/pip install sklearn-contrib-bde"
FIND = "import importlib.util as u; print(*u.find_spec('bde').submodule_search_locations)"
BIKES = (*range(2, 14), 16)  # columns; not the date, nor the two parts of the count
SHIPPED = {"airfoil": ("airfoil.csv", None), "bike": ("bike_sharing_dataset/hour.csv", BIKES)}
OURS = "SPOSRegressor()"
README = {
    "hidden_layers": [16, 16],
    "n_members": 8,
    "epochs": 200,
    "patience": 10,
    "validation_split": 0.15,
    "lr": 1e-3,
    "weight_decay": 1e-4,
    "warmup_steps": 5000,
    "n_samples": 2000,
    "n_thinning": 2,
}
PAPER = {  # by their script
    **README,
    "hidden_layers": [16, 16, 16, 16],
    "n_members": 10,
    "epochs": 1200,
    "patience": 20,
    "warmup_steps": 50_000,
    "n_samples": 1000,
    "n_thinning": 10,
}
BY_README = "bde, README"
RIVALS: dict[str, dict[str, Any]] = {"BdeRegressor()": {}, BY_README: README, "bde, paper": PAPER}
DEEP: dict[str, Any] = {  # the best of twelve, by a fifth of the training rows of airfoil's split 0
    "hidden": [16, 16, 16, 16],
    "num_steps": 80_000,
    "noise": "heteroscedastic",
    "target_transform": "none",
    "n_particles": 10,
    "average": 10,
    "beta": 50.0,
}
OWN: dict[str, dict[str, Any]] = {OURS: {}, "SPOSRegressor, deep": DEEP}


class Job(NamedTuple):
    """What is done at a time."""

    table: str
    split: int
    method: str


class Outcome(NamedTuple):
    """What `alone.measured` found, and the numbers of rows."""

    rmse: float
    nll: float
    gaussian_nll: float
    seconds: float
    wall: float
    versions: dict[str, str]
    rows: int
    judged: int


def settings_of(method: str, ours: dict[str, Any]) -> dict[str, Any]:
    """Those of an estimator; `ours` are of `SPOSRegressor()`, and none but to try things out."""
    return ours if method == OURS else (OWN | RIVALS)[method]


def python(environment: str | None) -> str:
    """The Python of the environment with bde."""
    folder = environment or os.environ.get(VARIABLE)
    if folder is None:
        raise UsageError(f"bde needs --environment DIR or {VARIABLE}, made by: {INSTALL}")
    places = (Path(folder) / "bin" / "python", Path(folder) / "Scripts" / "python.exe")
    for place in places:
        if place.exists():
            return str(place.absolute())
    raise UsageError(f"there is no Python in the environment {folder}; make one: {INSTALL}")


def _shipped(file: str, columns: tuple[int, ...] | None, environment: str | None) -> np.ndarray:
    """A table that comes with bde, the target last."""
    command = [python(environment), "-c", FIND]
    ran = subprocess.run(command, capture_output=True, text=True, env=_env(False), check=False)
    if ran.returncode:
        raise UsageError(f"bde is not in the environment: {INSTALL}")
    path = Path(ran.stdout.strip()) / "data" / file
    if not path.exists():
        raise DataError(f"the installed bde comes without {file}")
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=columns)


def standardised(
    name: str, split: int, data: str | None, environment: str | None
) -> dict[str, np.ndarray]:
    """Training and test rows of a split, standardised by the training rows.

    Tables of bde are split by the call of its authors' script, of which split 0 is the one that
    they print; others as `data.load` has it.
    """
    if name in SHIPPED:
        from sklearn.model_selection import train_test_split

        whole = _shipped(*SHIPPED[name], environment)
        X, y = whole[:, :-1], whole[:, -1]
        learnt, judged = train_test_split(np.arange(len(y)), test_size=0.2, random_state=split)
    else:
        table = load(name, data)
        X, y = table.X, table.y
        learnt, judged = table.splits[split]
    mean, sd = X[learnt].mean(axis=0), X[learnt].std(axis=0) + 1e-8
    center, scale = y[learnt].mean(), y[learnt].std()
    return {
        "x": (X[learnt] - mean) / sd,
        "y": (y[learnt] - center) / scale,
        "new_x": (X[judged] - mean) / sd,
        "new_y": (y[judged] - center) / scale,
    }


def outcome(
    rows: dict[str, np.ndarray],
    method: str,
    seed: int,
    environment: str | None,
    ours: dict[str, Any],
) -> Outcome:
    """A fit in a new process."""
    own, settings = method in OWN, settings_of(method, ours)
    told = {"library": "spos" if own else "bde", "settings": settings, "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / file for file in ("rows.npz", "settings.json", "found.json")]
        np.savez(places[0], **rows)  # type: ignore[arg-type]
        places[1].write_text(json.dumps(told))
        program = sys.executable if own else python(environment)
        command = [program, alone.__file__, *map(str, places)]
        ran = subprocess.run(command, capture_output=True, text=True, env=_env(own), check=False)
        if ran.returncode:
            last = (ran.stderr.strip() or "it said nothing").splitlines()[-1]
            raise UsageError(f"{method} did not end: {last}")
        found = json.loads(places[2].read_text())
    return Outcome(**found, rows=len(rows["y"]), judged=len(rows["new_y"]))


def _env(own: bool) -> dict[str, str]:
    """For the rival none of our packages, and a device for each core, as its README has it."""
    if own:
        return dict(os.environ)
    devices = f"--xla_force_host_platform_device_count={os.cpu_count() or 1}"
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "XLA_FLAGS": devices, "TQDM_DISABLE": "1"}
