"""Reading the files of data sets, which may come from anywhere.

A file is read strictly (`spos.io.npz`), and each array in it must have the `Form` stated here.
Whatever else is wrong with it passes one door, `making_sense`, and is a `DataError` that names it.
"""

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spos.io import npz
from spos_experiments.data.catalogue import DataError, Entry

LEAST_ROOM = 2**26  # bytes that any compressed file may unfold to
DIGITS, SIDE = 10, 28
Splits = tuple[tuple[np.ndarray, np.ndarray], ...]


class Form(NamedTuple):
    """What an array must be: which kinds of numbers, by NumPy's letters, and how many axes."""

    kinds: str
    axes: int
    words: str


NUMBERS, ROWS = Form("fiu", 1, "a number for each row"), Form("iu", 1, "the numbers of rows")
IMAGES, LABELS = Form("u", 3, "images of bytes"), Form("u", 1, "a byte for each image")
FORMS = {  # by the name of the array, without the number of a split
    "X": Form("fiu", 2, "rows of numbers"),
    "y": NUMBERS,
    "n_splits": Form("fiu", 0, "one number"),
    "train_idx": ROWS,
    "test_idx": ROWS,
    "x_train": IMAGES,
    "y_train": LABELS,
    "x_test": IMAGES,
    "y_test": LABELS,
}
_NUMBER = re.compile(r"_[0-9]+$")


@contextlib.contextmanager
def making_sense(path: Path) -> Iterator[None]:
    """Inside, whatever goes wrong is the fault of the file: a `DataError` that names it."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path} cannot be used: {error}") from error


def table(path: Path, entry: Entry) -> tuple[np.ndarray, np.ndarray, Splits]:
    """Features, targets and the splits, if there are any."""
    found = _arrays(path, ("X", "y"), entry)
    X, y = _checked(path, found["X"], found["y"])
    if "n_splits" not in found:
        return X, y, ()
    count = found["n_splits"].item()
    if not 1 <= count <= len(found) or count != int(count):  # nor infinitely many
        raise DataError(f"{path} does not have the splits it promises: n_splits is {count}")
    return X, y, tuple(_split(path, found, k, len(y)) for k in range(int(count)))


def _split(
    path: Path, found: Mapping[str, np.ndarray], k: int, rows: int
) -> tuple[np.ndarray, np.ndarray]:
    names = f"train_idx_{k}", f"test_idx_{k}"
    if absent := [name for name in names if name not in found]:
        raise DataError(f"{path} does not have the splits it promises: it has no {absent[0]}")
    train, test = (found[name] for name in names)
    if not np.array_equal(np.sort(np.concatenate([train, test])), np.arange(rows)):
        raise DataError(f"{path}: split {k} must hold each of the {rows} rows exactly once")
    return both_sides(path, train, test)


def images(path: Path, entry: Entry) -> tuple[np.ndarray, np.ndarray, int]:
    """Images and labels, of which the first so many are for training."""
    found = _arrays(path, ("x_train", "y_train", "x_test", "y_test"), entry)
    for part in ("train", "test"):
        x, y = found[f"x_{part}"], found[f"y_{part}"]
        if x.dtype != np.uint8 or x.shape != (len(y), SIDE, SIDE) or (y >= DIGITS).any():
            raise DataError(
                f"{path} must hold uint8 images of {SIDE} × {SIDE} and a label from 0 to 9 for "
                f"each, got x_{part} as {x.dtype} of shape {x.shape} and {len(y)} labels"
            )
    X, y = (np.concatenate([found[f"{kind}_train"], found[f"{kind}_test"]]) for kind in "xy")
    return X, y, len(found["y_train"])


def both_sides(path: Path, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not (len(train) and len(test)):
        raise DataError(
            f"{path} must have rows to train and to test with, got {len(train)} and {len(test)}"
        )
    return train, test


def lines(path: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of an empty file, which is seen below
            found = np.loadtxt(path, delimiter=",", dtype=np.float32, ndmin=2)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not lines of numbers: {error}") from error
    return _checked(path, found[:, 1:], found[:, 0])


def _arrays(path: Path, needed: tuple[str, ...], entry: Entry) -> dict[str, np.ndarray]:
    """The arrays that have a form, each in it; others are left alone."""
    numbers = entry.rows * (entry.columns + 1 + entry.num_splits)
    try:
        found = npz.read(
            path, deflated=max(LEAST_ROOM, 2 * 8 * numbers), wanted=lambda name: bool(_form(name))
        )
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not a whole .npz file of numbers: {error}") from error
    if absent := [name for name in needed if name not in found]:
        raise DataError(f"{path} must hold {', '.join(needed)}, but has no {', '.join(absent)}")
    for name, array in found.items():
        form = _form(name)
        if form and (array.dtype.kind not in form.kinds or array.ndim != form.axes):
            raise DataError(
                f"{path}: {name} must be {form.words}, got {array.dtype} of shape {array.shape}"
            )
    return found


def _form(name: str) -> Form | None:
    return FORMS.get(_NUMBER.sub("", name))


def _checked(path: Path, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if y.shape != X.shape[:1] or len(y) < 2 or X.shape[1] == 0:
        raise DataError(
            f"{path} must hold at least two rows of features and a target for each, got shapes "
            f"{X.shape} and {y.shape}"
        )
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise DataError(f"{path} must hold finite numbers, got some that are not")
    native = X.dtype.newbyteorder("=") if X.dtype.kind == "f" else np.float64
    return X.astype(native, copy=False), y.astype(np.float64)
