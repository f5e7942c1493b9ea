"""Attacks by interruption: a process is ended at a random time, and what it left must be whole.

A run is ended (SIGKILL, SIGTERM, SIGINT; the last two also twice in a row), begun again in the same
folder each time, and at last left alone: it must end in the bits of a run that nobody disturbed. A
process that saves a file again and again is ended: the file must be read as what it was. A process
must end soon after a signal, whatever it is doing.

Times are random; some are aimed at a moment: while a process that finds no compiled programs has
not saved anything yet, and while a file is half written. What is told is what was seen when the
signal was sent.

    PYTHONPATH=tests python -m attack.interruptions 200
"""

import itertools
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from attack import work
from attack.haste import sharing_programs
from attack.table import Job, Score, report
from attack.victims import made

Process = multiprocessing.process.BaseProcess

SOON = 600.0  # seconds, on a machine with other things to do
SIGNALS = {
    "kill": [signal.SIGKILL],
    "term": [signal.SIGTERM],
    "int": [signal.SIGINT],
    "term, term": [signal.SIGTERM, signal.SIGTERM],
    "int, int": [signal.SIGINT, signal.SIGINT],
}
POLITE = [kind for kind in SIGNALS if kind != "kill"]
COMPILING, SAVING, RUNNING = "compiling", "saving", "running"
MOMENTS = (COMPILING, SAVING, RUNNING)
ENDINGS = 5  # of a run, before it is left alone


class End(NamedTuple):
    """How work is to be ended, and while it does what."""

    signals: str
    moment: str


def begin(name: str, folder: Path, cold: bool = False) -> Process:
    """A process that does the work; the modules are there already."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["attack.work"])
    process = server.Process(target=work.do, args=(name, str(folder), cold), daemon=True)
    process.start()
    return process


def saved(folder: Path) -> bool:
    return any(folder.rglob("step-*")) or any(folder.glob("*.npz"))


def half_written(folder: Path) -> bool:
    return any(folder.rglob(".*.part"))


def seen(folder: Path) -> str:
    """What a process is doing, as its folder shows it."""
    if half_written(folder):
        return SAVING
    return RUNNING if saved(folder) else COMPILING


def wait(process: Process, folder: Path, moment: str, seconds: float) -> None:
    """Until the moment, or for that random time."""
    ends = time.monotonic() + seconds
    if moment != SAVING:
        process.join(seconds)
        return
    while process.is_alive() and not (half_written(folder) and time.monotonic() > ends):
        pass  # a file is half written for a millisecond


def end(process: Process, folder: Path, signals: list[int]) -> tuple[str | None, str | None]:
    """Send the signals one after another: what was seen then (None if it had come to its end), and
    what is wrong if anything is."""
    if not process.is_alive() or process.pid is None:
        return None, None
    moment = seen(folder)
    for each in signals:
        if process.is_alive():
            os.kill(process.pid, each)
        time.sleep(0.01)
    process.join(SOON)
    if process.is_alive():
        process.kill()
        process.join()
        return moment, f"still there {SOON:.0f} s after {signals}"
    return moment, None


def undisturbed(name: str, folder: Path) -> tuple[work.Arrays | None, float]:
    """What the work gives, and how long it takes."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    process = begin(name, folder)
    process.join()
    return work.ended(folder), time.monotonic() - began


def attack_run(name: str, ends: list[End], folder: Path, rng: random.Random) -> Iterator[Score]:
    """End a run in these ways, some of them one after another."""
    whole, cold = undisturbed(name, folder / "whole")
    if whole is None:
        yield Score(name, "alone", 1, 0, 0, [f"{name}: did not come to an end"])
        return
    left, warm = list(ends), 0.8 * cold  # with its programs at hand it is quicker
    for number in range(10 * len(ends)):
        if not left:
            return
        place = folder / str(number)
        place.mkdir()
        kinds: list[str] = []
        broken: list[str] = []
        while left and len(kinds) < ENDINGS and work.ended(place) is None:
            signals, aim = left[-1]
            process = begin(name, place, cold=aim == COMPILING)
            wait(process, place, aim, rng.uniform(0.0, cold if aim == COMPILING else warm))
            moment, fault = end(process, place, SIGNALS[signals])
            if moment is None:  # too late: it is tried again
                warm *= 0.9
                break
            left.pop()
            kinds.append(f"{signals}, {moment}")
            broken += [f"{name}, {kinds[-1]}: {fault}"] if fault else []
        found, _ = undisturbed(name, place)
        if found is None:
            broken.append(f"{name}, {kinds}: did not go on")
        elif not work.same(found, whole):
            broken.append(f"{name}, {kinds}: went on to other bits")
        for kind in kinds:
            yield Score(name, kind, 1, 0, int(not broken), broken)
            broken = []
    yield Score(name, "alone", 1, 0, 0, [f"{name}: always ends before it is ended"])


def attack_file(name: str, ends: list[End], folder: Path, rng: random.Random) -> Iterator[Score]:
    """End a process that saves a file again and again."""
    (folder / "good").mkdir(parents=True)
    victim = made(name, folder / "good")
    victim.read()
    place = folder / "killed"
    path = place / victim.path.relative_to(folder / "good")
    for each in ends:
        place.mkdir(exist_ok=True)
        process = begin(name, place)
        wait(process, place, SAVING, rng.uniform(0.0, 0.5))
        moment, fault = end(process, place, SIGNALS[each.signals])
        broken = [f"{name}: {fault}"] if fault else []
        if moment is None:
            broken.append(f"{name}: the writer ended by itself")
        if path.exists() and path.read_bytes() != victim.path.read_bytes():
            broken.append(f"{name}: the file is not whole")
        for part in place.rglob(".*.part"):
            part.unlink()
        yield Score(f"{name} file", f"{each.signals}, file", 1, 0, 1 - len(broken), broken)


def plan(kills: int, rng: random.Random) -> list[End]:
    """So many kills at random times, a few of them aimed; and a quarter as many other signals."""
    aims = (RUNNING, RUNNING, RUNNING, COMPILING, SAVING)
    ends = [End("kill", rng.choice(aims)) for _ in range(kills)]
    polite = itertools.cycle(itertools.product(POLITE, MOMENTS))
    ends += [End(*each) for each in itertools.islice(polite, kills // 4)]
    rng.shuffle(ends)
    return ends


def jobs(kills: int, names: Iterable[str] = (), seed: int = 0) -> Iterator[Job]:
    """So many kills in all, spread over all work, and the other signals."""
    chosen = list(names) or [*work.RUNS, *work.FILES]
    ends = plan(kills, random.Random(seed))
    for n, name in enumerate(chosen):
        if share := ends[n :: len(chosen)]:
            rng = random.Random(f"{seed} {name}")
            yield Job(f"interruptions, {name}", partial(_attack, name, share, rng))


@cache
def _programs() -> tempfile.TemporaryDirectory[str]:
    """One folder as long as this process lives: those that are started know no other."""
    return tempfile.TemporaryDirectory()


def _attack(name: str, ends: list[End], rng: random.Random) -> Iterator[Score]:
    attack = attack_file if name in work.FILES else attack_run
    os.environ.update(sharing_programs(_programs().name))
    with tempfile.TemporaryDirectory() as folder:
        yield from attack(name, ends, Path(folder) / "work", rng)


if __name__ == "__main__":
    sys.exit(report(jobs(int(sys.argv[1]), sys.argv[2:])))
