"""A run of several processes on disk, by Orbax: every process writes what it has.

A folder holds at most two directories, `step-<number>.orbax`, on a file system that all processes
see. Orbax gives a directory its name when all of them have written their share, so that one with
that name is whole; what a killed run left half done is removed by the next. The run may go on with
another number of processes or devices: each then reads its new share. It is known by checksums that
do not depend on who has which part (`checksum`).
"""

import contextlib
import json
import re
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from spos.io.checkpoint import DAMAGED, AnotherRunError, Checkpoint, fingerprint
from spos.mesh.processes import Team, joined, own_part
from spos.mesh.shards import RECORDS
from spos.types import PyTree, State

_NAME = re.compile(r"step-([0-9]+)\.orbax")
HISTORY = "history"  # records whose name begins so have an axis of particles


def open_checkpoint(
    folder: Any,
    every: float,
    identity: Callable[[Callable[[PyTree], str]], Mapping[str, Any]],
    team: Team,
) -> Checkpoint:
    """The checkpoint that suits the run, and the folder; `identity` is told how to name numbers."""
    path = Path(folder)
    begun = path.is_dir() and any(_NAME.fullmatch(entry.name) for entry in path.iterdir())
    if team.several or begun:
        return ShardedCheckpoint(folder, every, identity(checksum), team)
    return Checkpoint(folder, every, identity(fingerprint))


class ShardedCheckpoint(Checkpoint):
    """`Checkpoint` for several processes, or for one that goes on with their run.

    All processes call every method, at the same place.
    """

    def __init__(self, folder: Any, every: float, identity: Mapping[str, Any], team: Team) -> None:
        self.team = team
        error = None
        try:
            super().__init__(folder, every, identity, hold=team.leads)
            if any(self.folder.glob("step-*.npz")):
                raise ValueError(
                    f"checkpoint {folder} was saved by one process: go on with one, or use "
                    "another folder"
                )
            if team.leads:
                for part in self.folder.glob("step-*.orbax?*"):  # of a run that was killed
                    if DAMAGED not in part.name:
                        shutil.rmtree(part, ignore_errors=True)
            self._orbax = _orbax()
        except Exception as failed:
            error = failed
        team.meet(error)
        handler = self._orbax.PyTreeCheckpointHandler()
        self._checkpointer = self._orbax.Checkpointer(handler)

    def save(self, state: State, recorded: Mapping[str, np.ndarray]) -> None:
        began = time.monotonic()
        path = self.folder.absolute() / f"step-{int(state.step):09d}.orbax"
        if not self.team.meet(there=path.exists())[0]["there"]:
            content = {
                "state": jax.tree.leaves(state),
                "records": {
                    name: self._whole(name, array)
                    for name, array in recorded.items()
                    if array.size  # Orbax takes no empty ones
                },
                "identity": np.frombuffer(json.dumps(self.identity).encode(), np.uint8),
            }
            self._checkpointer.save(path, content)
            if self.team.leads:
                for old in [each for each in self._files() if each.name != path.name][1:]:
                    with contextlib.suppress(OSError):
                        shutil.rmtree(old)
        ended = time.monotonic()
        self._next = ended + max(self.every, 9.0 * (ended - began))

    def restore(
        self, like: State, needed: Collection[str] = ()
    ) -> tuple[State, dict[str, np.ndarray]] | None:
        names = self.team.meet(names=[path.name for path in self._files()])[0]["names"]
        for name in names:
            path, error, found = self.folder.absolute() / name, None, None
            try:
                found = self._read_shards(path, like)
            except AnotherRunError:
                raise
            except Exception as failed:  # Orbax has many ways to say that a file is damaged
                error = failed
            if all(each["whole"] for each in self.team.meet(whole=error is None)):
                assert found is not None
                self._must_match(path, found[2])
                nothing = {record: np.empty(0, np.float32) for record in needed}
                return found[0], nothing | found[1]
            if self.team.leads:
                self._set_aside(path, f"{path}: {str(error or 'in another process')[:300]}")
        return None

    def _read_shards(
        self, path: Path, like: State
    ) -> tuple[State, dict[str, np.ndarray], dict[str, Any]]:
        form = self._checkpointer.metadata(path).item_metadata.tree
        leaves, treedef = jax.tree.flatten(like)
        if [(x.shape, x.dtype) for x in form["state"]] != [(x.shape, x.dtype) for x in leaves]:
            raise AnotherRunError(
                f"checkpoint {path} belongs to another run: its state has another form, as "
                "with another optimizer. Use another folder, or delete this one."
            )
        plain = self._orbax.RestoreArgs(restore_type=np.ndarray)
        wanted = {
            "state": [self._orbax.ArrayRestoreArgs(sharding=leaf.sharding) for leaf in leaves],
            "records": {
                name: self._sharded() if name.startswith(HISTORY) else plain
                for name in form["records"]
            },
            "identity": plain,
        }
        found = self._checkpointer.restore(
            path, args=self._orbax.args.PyTreeRestore(restore_args=wanted)
        )
        records = {
            name: own_part(array, RECORDS) if isinstance(array, jax.Array) else np.asarray(array)
            for name, array in found["records"].items()
        }
        identity = json.loads(np.asarray(found["identity"]).tobytes())
        return jax.tree.unflatten(treedef, found["state"]), records, identity

    def _sharded(self) -> Any:
        if self.team.mesh is None:
            return self._orbax.RestoreArgs(restore_type=np.ndarray)
        return self._orbax.ArrayRestoreArgs(sharding=NamedSharding(self.team.mesh, RECORDS))

    def _whole(self, name: str, array: np.ndarray) -> Any:
        if name.startswith(HISTORY) and self.team.several and self.team.mesh is not None:
            return joined(array, self.team.mesh, RECORDS)
        return np.asarray(array)

    def _files(self) -> list[Path]:
        found = [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        return sorted(found, key=lambda path: path.name, reverse=True)


def checksum(tree: PyTree) -> str:
    """A short name for the numbers in a pytree, wherever they are: the sum of all words, each times
    an odd number of its own, modulo 2³², which no order of adding can change."""
    return "-".join(f"{int(_checksum(leaf)):08x}" for leaf in jax.tree.leaves(tree))


@jax.jit
def _checksum(leaf: jax.Array) -> jax.Array:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    size = min(leaf.dtype.itemsize, 4)
    words = leaf if leaf.dtype != jnp.bool_ else leaf.astype(jnp.uint8)
    words = jax.lax.bitcast_convert_type(words, jnp.dtype(f"uint{8 * size}")).astype(jnp.uint32)
    places = jnp.zeros(words.shape, jnp.uint32)
    for axis in range(words.ndim):
        places = places * jnp.uint32(0x9E3779B1) + jax.lax.broadcasted_iota(
            jnp.uint32, words.shape, axis
        )
    mixed = (places ^ (places >> 15)) * jnp.uint32(0x2C1B3C6D)
    return jnp.sum((words ^ (mixed >> 7)) * (mixed | 1), dtype=jnp.uint32)


def _orbax() -> Any:
    try:
        import orbax.checkpoint as orbax
    except ImportError as error:
        raise ImportError(
            "a checkpoint of several processes needs Orbax: pip install 'spos[hosts]'"
        ) from error
    return orbax
