"""Finding a data set and reading it.

A file is looked for in the folder that is given, or else in the folder of the environment variable
SPOS_DATA and then in the cache. Its forms:

* `NAME.npz`, also inside `uci/`, with `X`, `y` and perhaps the rows `train_idx_k`, `test_idx_k` of
  split k below `n_splits`. Without them the splits are made by the recipe of the published ones,

      p = RandomState(1).permutation(n), anew for each split;   train p[:e], test p[e:], e = 0.9 n

* `year.npz` or `YearPredictionMSD.txt`, a year and 90 features a line. The last 51,630 of 515,345
  rows are the test, so that no artist is on both sides; of a shorter file, the same share.
* `mnist.npz` with `x_train`, `y_train`, `x_test`, `y_test`.

Features and targets are raw, as in the file. What lies in the cache must have the checksum noted
when it was fetched, or the one in the catalogue; so must any file with a note of its checksum.
"""

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spos import checks
from spos.io.files import read_plain
from spos_experiments.data import reading
from spos_experiments.data.catalogue import (
    BUNDLED,
    FILES,
    MNIST,
    NAMES,
    UCI,
    YEAR,
    DataError,
    Entry,
)
from spos_experiments.data.reading import Splits

YEAR_TEXT = "YearPredictionMSD.txt"
YEAR_TRAIN = 463_715  # of all rows
MOST_NOTED = 1000  # bytes of a checksum and a name


class Table(NamedTuple):
    """`splits` holds pairs of train rows and test rows."""

    name: str
    X: np.ndarray
    y: np.ndarray
    splits: Splits


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Table:
    """The table of this name, with `X` (n, d), `y` (n,) and its splits.

    `mnist` has images as `X`, uint8 (n, 28, 28), and `digits` their flat pixels, (n, 64).
    """
    checks.one_of("name", name, NAMES)
    if name in BUNDLED:
        return _bundled(name)
    path = find(name, folder)
    if path is None:
        raise DataError(_missing(name, folder))
    _trust(path, FILES[name])
    with reading.making_sense(path):
        if name == "mnist":
            return _mnist(path)
        if path.suffix == ".txt":
            return _year(path, *reading.lines(path))
        X, y, splits = reading.table(path, FILES[name])
        if name == "year":
            return _year(path, X, y)
        return Table(name, X, y, splits or random_splits(len(y), UCI[name].num_splits))


def find(name: str, folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Where the file of a data set is."""
    forms = [f"{name}.npz"]
    forms += [f"uci/{name}.npz"] if name in UCI else [YEAR_TEXT] if name == "year" else []
    paths = (place / form for place in places(folder) for form in forms)
    return next((path for path in paths if path.is_file()), None)


def listing(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """A line for each data set: what it is, and where it was found."""
    lines = []
    for name, entry in {**FILES, **BUNDLED}.items():
        fetch = f"not found; spos data fetch {name}" if entry.openml else "not found"
        where = "with scikit-learn" if name in BUNDLED else str(find(name, folder) or fetch)
        lines.append(f"{name:<9} {entry.rows:>7,} × {entry.columns:<3}  {entry.title:<41} {where}")
    return lines


def places(folder: str | os.PathLike[str] | None = None) -> list[Path]:
    """The folders to look in."""
    if folder is not None:
        return [_folder("folder", folder)]
    named = os.environ.get("SPOS_DATA")
    return [*([_folder("SPOS_DATA", named)] if named else []), cache()]


def cache() -> Path:
    return _folder("SPOS_CACHE", os.environ.get("SPOS_CACHE") or "~/.cache/spos")


def _folder(name: str, value: str | os.PathLike[str]) -> Path:
    """A folder that is there or can be made, perhaps in somebody's home."""
    try:
        return checks.folder(name, checks.folder(name, value).expanduser())
    except ValueError as error:  # it is a file
        raise DataError(str(error)) from error
    except RuntimeError as error:  # nobody of this name has a home
        raise DataError(f"{name} must name a folder, got {value}: {error}") from error


def checksum_note(path: Path) -> Path:
    """The file beside a fetched one that holds its checksum."""
    return path.with_suffix(".sha256")


def random_splits(rows: int, num_splits: int) -> Splits:
    """The published splits, for rows in the published order."""
    random = np.random.RandomState(1)  # the generator they came from
    train = min(round(0.9 * rows), rows - 1)  # of very few rows, one is left for the test
    orders = [random.permutation(rows) for _ in range(num_splits)]
    return tuple((order[:train], order[train:]) for order in orders)


def _missing(name: str, folder: Any) -> str:
    looked = " or ".join(map(str, places(folder)))
    fetch = f", get it with `spos data fetch {name}`" if FILES[name].openml else ""
    spare = "digits" if name == "mnist" else "diabetes"
    return (
        f"{name} is not in {looked}. Name its folder with --data DIR or SPOS_DATA{fetch}, or use "
        f"{spare}, which comes with scikit-learn."
    )


def _trust(path: Path, entry: Entry) -> None:
    """Refuse a file that is not what was fetched. A folder of the user holds what it holds."""
    note = checksum_note(path)
    noted: list[str] = []
    if note.is_file():
        noted = read_plain(note, MOST_NOTED, links=True).decode("ascii", "replace").split()[:1]
    elif cache() not in path.parents or entry.sha256 is None:
        return
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found not in (*noted, entry.sha256):
        raise DataError(
            f"{path} is damaged: its checksum is not the one it was stored with. Delete it, and "
            "fetch or copy it again."
        )


def _year(path: Path, X: np.ndarray, y: np.ndarray) -> Table:
    if X.shape[1] != YEAR.columns:
        raise DataError(f"{path} must have {YEAR.columns} features, got {X.shape[1]}")
    rows, train = np.arange(len(y)), len(y) * YEAR_TRAIN // YEAR.rows
    return Table("year", X, y, (reading.both_sides(path, rows[:train], rows[train:]),))


def _mnist(path: Path) -> Table:
    X, y, train = reading.images(path, MNIST)
    rows = np.arange(len(y))
    return Table("mnist", X, y, (reading.both_sides(path, rows[:train], rows[train:]),))


def _bundled(name: str) -> Table:
    try:
        from sklearn.datasets import load_diabetes, load_digits
    except ImportError as error:
        raise ImportError(f"{name} needs scikit-learn: pip install 'spos[demo]'") from error
    bunch = load_diabetes(scaled=False) if name == "diabetes" else load_digits()
    splits = random_splits(len(bunch.target), BUNDLED[name].num_splits)
    return Table(name, bunch.data, bunch.target, splits)
