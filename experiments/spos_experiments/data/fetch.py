"""Getting a data set from OpenML into the form that `load` reads.

A fetched set is taken only if it is the known one: so many rows and features, the known mean of the
target, and the original order of rows where the standard split depends on it. It is stored with its
checksum beside it, which every later `load` compares.
"""

import hashlib
import io
import warnings
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from spos import checks
from spos.io.files import make_writable, write_whole
from spos_experiments.data.catalogue import BUNDLED, FILES, NAMES, DataError, Entry
from spos_experiments.data.tables import cache, checksum_note

MNIST_TRAIN = 60_000
FIRST_DIGITS = (5, 0, 4, 1, 9, 2, 1, 3, 1, 4)
FIRST_SONG = (2001, 49.94357, 21.47114)  # its year and first two features


def fetch(name: str, out: Path | None = None) -> Path:
    """Download a data set into a folder, the cache unless told; the path of its file."""
    checks.one_of("name", name, NAMES)
    if name in BUNDLED:
        raise DataError(f"{name} comes with scikit-learn: there is nothing to fetch.")
    entry = FILES[name]
    if entry.openml is None:
        raise DataError(
            f"{name} is not on OpenML: put {name}.npz with the arrays X and y into a folder and "
            "name that with --data DIR or SPOS_DATA."
        )
    folder = cache() if out is None else out
    make_writable(folder)
    return store(name, folder, convert(name, entry, *_download(name, entry.openml)))


def store(name: str, folder: Path, arrays: dict[str, np.ndarray]) -> Path:
    """Write the file and its checksum, each whole or not at all."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    content, path = buffer.getvalue(), folder / f"{name}.npz"
    # the checksum comes first: between the two, an older file is refused rather than believed
    note = f"{hashlib.sha256(content).hexdigest()}  {path.name}\n"
    write_whole(checksum_note(path), note.encode())
    write_whole(path, content)
    return path


def convert(name: str, entry: Entry, frame: Any, target: str | None) -> dict[str, np.ndarray]:
    """The arrays of a data frame, whose target is its last column unless it is named."""
    columns = {str(column): _numbers(name, str(column), frame[column]) for column in frame.columns}
    y = columns.pop(str(frame.columns[-1]) if target is None else target)
    if entry.other is not None:
        columns = {key: x for key, x in columns.items() if entry.other not in key.lower()}
    few = entry.columns - entry.constant
    if len(y) != entry.rows or not few <= len(columns) <= entry.columns:
        raise DataError(
            f"{name} has {entry.rows} rows and {entry.columns} features, but what came has "
            f"{len(y)} and {len(columns)}"
        )
    if entry.mean is not None and not np.isclose(y.mean(), entry.mean, rtol=1e-3):
        raise DataError(
            f"the target of {name} has a mean of {entry.mean}, but that of what came is "
            f"{y.mean():.6g}"
        )
    X = np.column_stack(list(columns.values()))
    if name == "mnist":
        return _images(X, y)
    if name == "year":
        _in_order(name, (y[0], *X[0, :2]), FIRST_SONG)
        X = X.astype(np.float32)
    return {"X": X, "y": y}


def _images(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    _in_order("mnist", y[: len(FIRST_DIGITS)], FIRST_DIGITS)
    pixels, labels = X.reshape(-1, 28, 28).astype(np.uint8), y.astype(np.uint8)
    parts = {"train": slice(None, MNIST_TRAIN), "test": slice(MNIST_TRAIN, None)}
    return {
        f"{kind}_{part}": array[rows]
        for part, rows in parts.items()
        for kind, array in (("x", pixels), ("y", labels))
    }


def _in_order(name: str, found: Any, expected: tuple[float, ...]) -> None:
    if not np.allclose(found, expected, atol=1e-4, rtol=1e-6):
        raise DataError(f"the rows of {name} are not in their order, which its split depends on")


def _numbers(name: str, column: str, values: Any) -> np.ndarray:
    try:
        numbers = np.asarray(values).astype(np.float64)  # the classes 0 and 1 come as text
    except (TypeError, ValueError) as error:
        raise DataError(f"the column {column} of {name} does not hold numbers: {error}") from error
    if not np.isfinite(numbers).all():
        raise DataError(f"the column {column} of {name} has values that are missing")
    return numbers


def _download(name: str, number: int) -> tuple[Any, str | None]:
    try:
        import pandas  # noqa: F401 (scikit-learn makes frames with it)
        from sklearn.datasets import fetch_openml
    except ImportError as error:
        raise ImportError(
            "fetching data needs scikit-learn and pandas: pip install 'spos[demo]' pandas"
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of retries, and of old versions of a set
            bunch = fetch_openml(data_id=number, as_frame=True, cache=False, n_retries=1)
    except (OSError, ValueError, EOFError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"cannot fetch {name} from OpenML (set {number}): {reason}") from error
    names = bunch.target_names or []
    return bunch.frame, names[0] if len(names) == 1 else None
