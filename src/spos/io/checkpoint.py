"""A run on disk, so that it can go on after an interruption and end in the same bits.

A folder holds at most two files, `step-<number>.npz`: the newest and the one before it. A damaged
file is named in a warning and the one before it is used. A checkpoint knows the settings, the seed,
the start and the data of its run and refuses to continue another.
"""

import re
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.io import archive
from spos.types import PyTree, State

FORMAT = 1
_NAME = re.compile(r"step-(\d+)\.npz")


class Checkpoint:
    """Saves and restores one run in one folder."""

    def __init__(self, folder: Any, every: float, identity: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.every = every
        self.identity = archive.plain({"format": FORMAT, **identity})
        self.folder.mkdir(parents=True, exist_ok=True)
        for part in self.folder.glob(".step-*.part"):  # of a process that was killed
            part.unlink(missing_ok=True)
        self._next = time.monotonic() + every

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def save(self, state: State, recorded: Mapping[str, np.ndarray]) -> None:
        """Write the state and the records so far; then drop all but the two newest files."""
        began = time.monotonic()
        leaves = {f"state{n}": np.asarray(leaf) for n, leaf in enumerate(jax.tree.leaves(state))}
        records = {f"record {name}": array for name, array in recorded.items()}
        path = self.folder / f"step-{int(state.step):09d}.npz"
        archive.write(path, {**leaves, **records}, self.identity)
        for old in self._files()[2:]:
            old.unlink()
        ended = time.monotonic()
        # a slow disk or a long history must not eat the run: at most a tenth of the time is spent
        self._next = ended + max(self.every, 9.0 * (ended - began))

    def restore(self, like: State) -> tuple[State, dict[str, np.ndarray]] | None:
        """The newest good state, shaped like `like`, and its records; None in an empty folder."""
        for path in self._files():
            try:
                arrays, identity = archive.read(path)
            except archive.DamagedFileError as error:
                warnings.warn(f"checkpoint skipped: {error}", RuntimeWarning, stacklevel=3)
                continue
            self._must_match(path, identity)
            leaves, treedef = jax.tree.flatten(like)
            then = [array for name, array in arrays.items() if name.startswith("state")]
            if [(a.shape, a.dtype) for a in then] != [(x.shape, x.dtype) for x in leaves]:
                raise ValueError(
                    f"checkpoint {path} belongs to another run: its state has another form, as "
                    "with another optimizer. Use another folder, or delete this one."
                )
            stored = [jnp.asarray(array) for array in then]
            records = {
                name.removeprefix("record "): array
                for name, array in arrays.items()
                if name.startswith("record ")
            }
            return jax.tree.unflatten(treedef, stored), records
        return None

    def _must_match(self, path: Path, identity: Mapping[str, Any]) -> None:
        for key, now in self.identity.items():
            then = identity.get(key)
            if then != now:
                raise ValueError(
                    f"checkpoint {path} belongs to another run: its {key} was {then}, now {now}. "
                    "Use another folder, or delete this one."
                )

    def _files(self) -> list[Path]:
        """Newest first."""
        found = [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        return sorted(found, key=lambda path: int(path.stem[5:]), reverse=True)


def fingerprint(tree: PyTree) -> str:
    """A short name for the numbers in a pytree."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    arrays = {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}
    return archive.digest(arrays).hex()[:16]
