"""A run on disk, so that it can go on after an interruption and end in the same bits.

A folder holds at most two files, `step-<number>.npz`: the newest and the one before it. A damaged
file is set aside under the name `step-<number>.npz.damaged`, a warning names it, and the one before
it is used. A checkpoint knows the settings, the seed, the start and the data of its run and refuses
to continue another. One run at a time works in a folder (`spos.io.lock`).

A disk that is full must not cost the run: what cannot be saved is told once, and tried again the
next time.
"""

import contextlib
import itertools
import os
import re
import time
import warnings
import weakref
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from spos.io import archive
from spos.io.files import PART
from spos.io.lock import Lock
from spos.mesh.shards import mesh_of
from spos.types import PyTree, State

FORMAT = 2  # of what a run is known by
_NAME = re.compile(r"step-([0-9]+)\.npz")
_STATE, _RECORD = "state", "record "
DAMAGED = ".damaged"
TOLERANCE = 1e-2  # of a number, and a tenth of it of the largest in a list: rounding on another
# machine must not count
LONGEST = 2000  # characters of a setting in a message


class AnotherRunError(ValueError):
    """What was saved is whole, and belongs to another run."""


class Checkpoint:
    """Saves and restores one run in one folder, which it holds until it is closed.

    It is a context manager, whose end closes it.

    Args:
        folder: made if needed.
        every: so many seconds are at least between two saves that are `due`.
        identity: what a run must have in common with the one that was saved, as JSON.
        hold: False where another process of the same run holds the folder.

    Raises:
        FolderInUseError: another run works in the folder.
    """

    def __init__(
        self, folder: Any, every: float, identity: Mapping[str, Any], hold: bool = True
    ) -> None:
        self.folder = Path(folder)
        self.every = every
        self.identity = archive.plain({"format": FORMAT, **identity})
        self._next = time.monotonic() + every
        self._warned = False
        self._release: Callable[[], object] = lambda: None
        if not hold:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        # one that is forgotten instead of closed lets go of its folder all the same
        self._release = weakref.finalize(self, Lock(self.folder).release)
        for part in self.folder.glob(f".step-*{PART}"):  # of a process that was killed
            part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the next run have the folder. Closing twice is fine."""
        self._release()

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def save(self, state: State, recorded: Mapping[str, np.ndarray]) -> None:
        """Write the state and the records so far; then drop all but this file and the one before.

        What cannot be written is a warning, the first time.
        """
        began = time.monotonic()
        leaves = {f"{_STATE}{n}": np.asarray(leaf) for n, leaf in enumerate(jax.tree.leaves(state))}
        arrays = leaves | {f"{_RECORD}{name}": array for name, array in recorded.items()}
        path = self.folder / f"step-{int(state.step):09d}.npz"
        try:
            archive.write(path, arrays, self.identity)
        except OSError as error:
            self._complain(path, error, sum(array.nbytes for array in arrays.values()))
        else:
            for old in [file for file in self._files() if file != path][1:]:
                with contextlib.suppress(OSError):  # what stays is only in the way
                    old.unlink()
        ended = time.monotonic()
        # a slow disk or a long history must not eat the run: at most a tenth of the time is spent
        self._next = ended + max(self.every, 9.0 * (ended - began))

    def restore(
        self, like: State, needed: Collection[str] = ()
    ) -> tuple[State, dict[str, np.ndarray]] | None:
        """The newest good state, shaped like `like`, and its records; None in an empty folder.

        Args:
            needed: the records without which a file counts as damaged.

        Raises:
            ValueError: the newest good file belongs to another run.
        """
        for path in self._files():
            try:
                arrays, identity = self._read(path, needed)
            except archive.DamagedFileError as error:
                self._set_aside(path, error)
                continue
            self._must_match(path, identity)
            leaves, treedef = jax.tree.flatten(like)
            count = sum(name.startswith(_STATE) for name in arrays)
            then = [arrays[name] for n in range(count) if (name := f"{_STATE}{n}") in arrays]
            if [(a.shape, a.dtype) for a in then] != [(x.shape, x.dtype) for x in leaves]:
                raise AnotherRunError(
                    f"checkpoint {path} belongs to another run: its state has another form, as "
                    "with another optimizer. Use another folder, or delete this one."
                )
            stored = [
                jnp.asarray(a) if mesh_of(x) is None else jax.device_put(a, x.sharding)
                for a, x in zip(then, leaves, strict=True)
            ]
            records = {
                name.removeprefix(_RECORD): array
                for name, array in arrays.items()
                if name.startswith(_RECORD)
            }
            return jax.tree.unflatten(treedef, stored), records
        return None

    def _read(
        self, path: Path, needed: Collection[str]
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, identity = archive.read(path)
        if absent := [name for name in needed if _RECORD + name not in arrays]:
            raise archive.DamagedFileError(f"{path}: has no record {absent[0]!r}")
        return arrays, identity

    def _set_aside(self, path: Path, error: object) -> None:
        """Out of the way of later files, but not deleted: it was somebody's run."""
        names = (path.with_name(f"{path.name}{DAMAGED}{n or ''}") for n in itertools.count())
        aside = next(name for name in names if not os.path.lexists(name))
        with contextlib.suppress(OSError):
            os.replace(path, aside)
        warnings.warn(
            f"checkpoint skipped: {error}; it is set aside as {aside.name}",
            RuntimeWarning,
            stacklevel=4,
        )

    def _complain(self, path: Path, error: OSError, room: int) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"cannot save the run to {path}: {error.strerror or error}. It needs "
                f"{room / 1e6:.2f} MB. The run goes on, and tries again at the next save.",
                RuntimeWarning,
                stacklevel=4,
            )

    def _must_match(self, path: Path, identity: Mapping[str, Any]) -> None:
        for key, now in self.identity.items():
            then = identity.get(key, now)  # code under another Python cannot be compared
            if not agree(then, now):
                raise AnotherRunError(
                    f"checkpoint {path} belongs to another run: its {_difference(key, then, now)}. "
                    "Use another folder, or delete this one."
                )

    def _files(self) -> list[Path]:
        """Newest first."""
        found = [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        return sorted(found, key=lambda path: int(path.stem[5:]), reverse=True)


def _difference(name: str, then: Any, now: Any) -> str:
    """The first setting that two descriptions do not share, and what it was."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in (key for key in now if key in then):
            if not agree(then[key], now[key]):
                return _difference(f"{name}.{key}", then[key], now[key])
    if isinstance(now, list):
        return f"{name} were others"  # numbers that nobody would read
    return f"{name} was {str(then)[:LONGEST]}, now {str(now)[:LONGEST]}"


def agree(then: Any, now: Any) -> bool:
    """Equal, or lists of numbers, or lists of such lists, that differ by rounding."""
    if then == now:
        return True
    if isinstance(then, list) and isinstance(now, list) and isinstance((then or [0])[0], list):
        return len(then) == len(now) and all(map(agree, then, now))
    try:
        old, new = np.asarray(then, np.float64), np.asarray(now, np.float64)
    except (TypeError, ValueError, OverflowError):  # a forged file may say anything
        return False
    if old.ndim != 1 or old.shape != new.shape:
        return False
    room = 0.1 * TOLERANCE * np.abs(old[np.isfinite(old)]).max(initial=1e-12)
    return bool(np.allclose(old, new, rtol=TOLERANCE, atol=room, equal_nan=True))


def fingerprint(tree: PyTree) -> str:
    """A short name for the numbers in a pytree."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    arrays = {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}
    return archive.digest(arrays).hex()[:16]
