"""Attacks by interruption: a process is ended at a random time, and what it left must be whole.

A run is ended (SIGKILL, SIGTERM, SIGINT; the last two also twice in a row) at random times, begun
again in the same folder each time, and at last left alone: it must end in the bits of a run that
nobody disturbed. A process that writes a file again and again is ended: the file must be read as
what it was. A process must end soon after a signal, whatever it is doing: compiling or saving.

    PYTHONPATH=tests python -m attack.interruptions 200
"""

import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from attack import files, work
from attack.table import Score, report

SOON = 600.0  # seconds, on a machine with other things to do
SIGNALS = {
    "kill": [signal.SIGKILL],
    "term": [signal.SIGTERM],
    "int": [signal.SIGINT],
    "term, term": [signal.SIGTERM, signal.SIGTERM],
    "int, int": [signal.SIGINT, signal.SIGINT],
}
ENDINGS = 2  # of a run, before it is left alone


def begin(name: str, folder: Path) -> multiprocessing.process.BaseProcess:
    """A process that does the work; the modules are there already, and nothing is compiled."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["attack.work"])
    process = server.Process(target=work.do, args=(name, str(folder)), daemon=True)
    process.start()
    return process


def end(process: multiprocessing.process.BaseProcess, signals: list[int]) -> str | None:
    """Send the signals one after another; what is wrong, if anything is."""
    for each in signals:
        if process.is_alive() and process.pid is not None:
            os.kill(process.pid, each)
        time.sleep(0.01)
    process.join(SOON)
    if process.is_alive():
        process.kill()
        process.join()
        return f"still there {SOON:.0f} s after {signals}"
    return None


def undisturbed(name: str, folder: Path) -> tuple[work.Arrays | None, float]:
    """What the work gives, and how long it takes."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    process = begin(name, folder)
    process.join()
    return work.ended(folder), time.monotonic() - began


def attack_run(name: str, cases: int, folder: Path, rng: random.Random) -> list[Score]:
    """End a run so many times."""
    whole, seconds = undisturbed(name, folder / "whole")
    scores = {kind: Score(name, kind, 0, 0, 0, []) for kind in SIGNALS}
    if whole is None:
        return [Score(name, "alone", 1, 0, 0, [f"{name}: did not come to an end"])]
    done, tries = 0, 0
    while done < cases:
        tries += 1
        place = folder / str(tries)
        place.mkdir()
        kinds = [rng.choice(list(SIGNALS)) for _ in range(min(ENDINGS, cases - done))]
        broken = []
        for kind in kinds:
            process = begin(name, place)
            process.join(rng.uniform(0.0, seconds))
            if fault := end(process, SIGNALS[kind]):
                broken.append(f"{name}, {kind}: {fault}")
        found, _ = undisturbed(name, place)
        if found is None:
            broken.append(f"{name}, {kinds}: did not go on")
        elif not work.same(found, whole):
            broken.append(f"{name}, {kinds}: went on to other bits")
        for kind in kinds:
            old = scores[kind]
            scores[kind] = old._replace(cases=old.cases + 1, done=old.done + (not broken))
        scores[kinds[0]].broken.extend(broken)
        done += len(kinds)
    return [score for score in scores.values() if score.cases]


def attack_file(name: str, cases: int, folder: Path, rng: random.Random) -> Score:
    """End a process that writes a file again and again."""
    folder.mkdir(parents=True)
    (folder / "files").mkdir()
    victim = getattr(files, f"_{name}")(folder / "files")
    (folder / "path").write_text(str(victim.path))
    good, broken = victim.path.read_bytes(), []
    for _ in range(cases):
        process = begin(name, folder)
        process.join(rng.uniform(0.0, 0.5))
        if fault := end(process, [signal.SIGKILL]):
            broken.append(f"{name}: {fault}")
        if victim.path.read_bytes() != good:
            broken.append(f"{name}: the file is not whole")
    victim.read()
    return Score(f"{name} file", "kill", cases, 0, cases - len(broken), broken)


def everything(cases: int, names: Iterable[str] = (), seed: int = 0) -> Iterator[Score]:
    """So many ends in all, spread over all work."""
    rng = random.Random(seed)
    chosen = list(names) or [*work.RUNS, *work.FILES]
    rng.shuffle(chosen)
    with tempfile.TemporaryDirectory() as folder:
        for n, name in enumerate(chosen):
            share = cases * (n + 1) // len(chosen) - cases * n // len(chosen)
            place = Path(folder) / str(n)
            if not share:
                continue
            if name in work.FILES:
                yield attack_file(name, share, place, rng)
            else:
                yield from attack_run(name, share, place, rng)


if __name__ == "__main__":
    sys.exit(report(everything(int(sys.argv[1]), sys.argv[2:])))
