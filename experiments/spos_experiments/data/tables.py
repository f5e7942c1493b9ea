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
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spos import checks
from spos.io.archive import UNREADABLE
from spos_experiments.data.catalogue import BUNDLED, FILES, NAMES, UCI, YEAR, DataError, Entry

YEAR_TEXT = "YearPredictionMSD.txt"
YEAR_TRAIN = 463_715  # of all rows
Splits = tuple[tuple[np.ndarray, np.ndarray], ...]


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
    if name == "mnist":
        return _mnist(path)
    if path.suffix == ".txt":
        return _year(path, *_text(path))
    X, y, splits = _npz(path)
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
        return [checks.folder("folder", folder).expanduser()]
    named = os.environ.get("SPOS_DATA")
    return [*([Path(named).expanduser()] if named else []), cache()]


def cache() -> Path:
    return Path(os.environ.get("SPOS_CACHE") or "~/.cache/spos").expanduser()


def checksum_note(path: Path) -> Path:
    """The file beside a fetched one that holds its checksum."""
    return path.with_suffix(".sha256")


def random_splits(rows: int, num_splits: int) -> Splits:
    """The published splits, for rows in the published order."""
    random, train = np.random.RandomState(1), round(0.9 * rows)  # the generator they came from
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
    noted = note.read_text(encoding="utf-8").split()[:1] if note.is_file() else []
    if not note.is_file() and (cache() not in path.parents or entry.sha256 is None):
        return
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found not in (*noted, entry.sha256):
        raise DataError(
            f"{path} is damaged: its checksum is not the one it was stored with. Delete it, and "
            "fetch or copy it again."
        )


def _npz(path: Path) -> tuple[np.ndarray, np.ndarray, Splits]:
    """Features, targets and the splits, if there are any."""
    found = _arrays(path, ("X", "y"))
    X, y = _checked(path, found["X"], found["y"])
    if "n_splits" not in found:
        return X, y, ()
    try:
        splits = tuple(
            (found[f"train_idx_{k}"], found[f"test_idx_{k}"]) for k in range(int(found["n_splits"]))
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} does not have the splits it promises: {error}") from error
    for k, split in enumerate(splits):
        if not np.array_equal(np.sort(np.concatenate(split, axis=None)), np.arange(len(y))):
            raise DataError(f"{path}: split {k} must hold each of the {len(y)} rows exactly once")
    return X, y, splits


def _text(path: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of an empty file, which is seen below
            lines = np.loadtxt(path, delimiter=",", dtype=np.float32, ndmin=2)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not lines of numbers: {error}") from error
    return _checked(path, lines[:, 1:], lines[:, 0])


def _year(path: Path, X: np.ndarray, y: np.ndarray) -> Table:
    if X.shape[1] != YEAR.columns:
        raise DataError(f"{path} must have {YEAR.columns} features, got {X.shape[1]}")
    rows, train = np.arange(len(y)), len(y) * YEAR_TRAIN // YEAR.rows
    return Table("year", X, y, ((rows[:train], rows[train:]),))


def _mnist(path: Path) -> Table:
    forms = {"x_train": (28, 28), "x_test": (28, 28), "y_train": (), "y_test": ()}
    found = _arrays(path, tuple(forms))
    for part, form in forms.items():
        array, partner = found[part], found["y" + part[1:]]
        if array.dtype != np.uint8 or array.shape != (*partner.shape[:1], *form):
            raise DataError(
                f"{path} must hold uint8 images of 28 × 28 and a label for each, got {part} as "
                f"{array.dtype} of shape {array.shape}"
            )
    X, y = (np.concatenate([found[f"{kind}_train"], found[f"{kind}_test"]]) for kind in "xy")
    rows, train = np.arange(len(y)), len(found["y_train"])
    return Table("mnist", X, y, ((rows[:train], rows[train:]),))


def _bundled(name: str) -> Table:
    try:
        from sklearn.datasets import load_diabetes, load_digits
    except ImportError as error:
        raise ImportError(f"{name} needs scikit-learn: pip install 'spos[demo]'") from error
    bunch = load_diabetes(scaled=False) if name == "diabetes" else load_digits()
    splits = random_splits(len(bunch.target), BUNDLED[name].num_splits)
    return Table(name, bunch.data, bunch.target, splits)


def _arrays(path: Path, needed: tuple[str, ...]) -> dict[str, np.ndarray]:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except UNREADABLE as error:
        raise DataError(f"{path} is not a whole .npz file of numbers: {error}") from error
    if absent := [name for name in needed if name not in found]:
        raise DataError(f"{path} must hold {', '.join(needed)}, but has no {', '.join(absent)}")
    return found


def _checked(path: Path, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if X.ndim != 2 or y.shape != X.shape[:1] or len(y) < 2 or X.shape[1] == 0:
        raise DataError(
            f"{path} must hold at least two rows of features and a target for each, got shapes "
            f"{X.shape} and {y.shape}"
        )
    if X.dtype.kind not in "fiu" or y.dtype.kind not in "fiu":
        raise DataError(f"{path} must hold numbers, got {X.dtype} and {y.dtype}")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise DataError(f"{path} must hold finite numbers, got some that are not")
    return X if X.dtype.kind == "f" else X.astype(np.float64), y.astype(np.float64)
