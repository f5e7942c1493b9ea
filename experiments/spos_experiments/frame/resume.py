"""Long runs: one that has ended is a file, and the same command goes on where it stopped.

The outcome of a run is a named tuple. Its arrays and all else, which JSON can hold, go into one
file. A run that has not ended may keep what it likes in a folder of the same name without the
`.npz`, which is removed when the outcome is written.
"""

import functools
import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from spos.io import archive
from spos_experiments.frame.experiment import Tick

Outcome = TypeVar("Outcome", bound=tuple)
Job = TypeVar("Job")


def store(folder: Path, *parts: str) -> Path:
    """The folder of an experiment's runs, which is made."""
    made = folder.joinpath("runs", *parts)
    made.mkdir(parents=True, exist_ok=True)
    return made


def mark(*settings: Any) -> str:
    """A few letters for a file's name, by which a run with other settings is another run."""
    return hashlib.sha256(repr(settings).encode()).hexdigest()[:8]


def state(place: Path) -> Path:
    """The folder of a run that has not ended."""
    return place.with_suffix("")


def outcome(
    place: Path, kind: type[Outcome], make: Callable[[], Outcome], trees: Sequence[str] = ()
) -> Outcome:
    """The outcome in that file, which is made if it is not there.

    Args:
        place: The file.
        kind: The named tuple.
        make: Does the run.
        trees: The fields that are not arrays but pytrees of them.

    Returns:
        What is in the file, also when it has just been made.
    """
    if not place.exists():
        write(place, make(), trees)
        shutil.rmtree(state(place), ignore_errors=True)
    return read(place, kind, trees)


def in_turn(
    places: Mapping[Job, Path],
    kind: type[Outcome],
    make: Callable[[Job, Path, Tick], Outcome],
    length: Callable[[Job], int],
    tick: Tick,
) -> Iterator[tuple[Job, Outcome]]:
    """Jobs and their outcomes, one after another.

    Args:
        places: The file of each job.
        kind: The named tuple.
        make: Does a run, given the job, its `state` and a tick for how much of its length is done.
        length: Of a job, in any unit.
        tick: Told of what has to be made, and not of what is there.
    """
    total = sum(length(job) for job, place in places.items() if not place.exists())
    done = 0
    tick(0, total)
    for job, place in places.items():
        own = functools.partial(_later, tick, done, total)
        done += 0 if place.exists() else length(job)
        found = outcome(place, kind, functools.partial(make, job, state(place), own))
        tick(done, total)
        yield job, found


def _later(tick: Tick, before: int, total: int, done: int, **values: float) -> None:
    tick(before + done, total, **values)


def write(place: Path, made: Any, trees: Sequence[str] = ()) -> None:
    arrays: dict[str, np.ndarray] = {}
    rest: dict[str, Any] = {}
    for name, value in made._asdict().items():
        if name in trees:
            leaves, rest[name] = archive.pack(value, name)
            arrays |= leaves
        else:
            (arrays if isinstance(value, np.ndarray) else rest)[name] = value
    archive.write(place, arrays, rest)


def read(place: Path, kind: type[Outcome], trees: Sequence[str] = ()) -> Outcome:
    arrays, rest = archive.read(place)
    names = kind._fields  # type: ignore[attr-defined]
    with archive.making_sense(place):
        fields: dict[str, Any] = {name: arrays[name] for name in names if name in arrays} | rest
        return kind(**fields | {name: archive.unpack(arrays, rest[name]) for name in trees})
