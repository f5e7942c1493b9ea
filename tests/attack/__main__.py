"""The whole campaign: every attack, and a table of what was tried and what broke.

make attack
PYTHONPATH=tests python -m attack --files 1000 --calls 60 --ends 40 --densities 60 --fits 20
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from attack.haste import hasty

os.environ.update(hasty())  # before JAX is imported

from attack import arguments, files, floats, interruptions, processes, soak, surroundings
from attack.table import Job, Journal, Score, summary

NAMES = ("files", "arguments", "interruptions", "processes", "surroundings", "numbers", "soak")
Group = Callable[[Score], str]  # the row of the table that a score counts in


def rooms(score: Score) -> str:
    """`spos.diagnostics.mmd` is in `spos.diagnostics`."""
    parts = score.victim.split(".")
    return ".".join(parts[:2]) if len(parts) > 2 and parts[1].islower() else "spos"


def attacks(chosen: argparse.Namespace) -> dict[str, tuple[Group, Iterable[Job]]]:
    """Every attack: how its scores are grouped, and what makes them."""
    return {
        "files": (lambda score: score.victim, files.jobs(chosen.files)),
        "arguments": (rooms, arguments.jobs(chosen.calls)),
        "interruptions": (lambda score: score.kind, interruptions.jobs(chosen.ends)),
        "processes": (lambda score: score.victim, processes.jobs(chosen.kills)),
        "surroundings": (lambda score: score.victim, surroundings.jobs()),
        "numbers": (lambda score: score.kind, floats.jobs()),
        "soak": (
            lambda score: score.victim,
            soak.jobs(chosen.densities, chosen.fits),
        ),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    for name, count in {
        "files": 10_000, "calls": 100, "ends": 200, "kills": 20, "densities": 200, "fits": 50,
    }.items():  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=count)
    told = "what was found is kept in this file, and a campaign that was ended goes on"
    parser.add_argument("--journal", type=Path, metavar="FILE", help=told)
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES)
    chosen = parser.parse_args()
    found: dict[str, dict[str, list[Score]]] = {}
    broken: list[str] = []
    journal = Journal(chosen.journal)
    for name, (group, jobs) in attacks(chosen).items():
        if name not in chosen.only:
            continue
        began = time.process_time()
        for score in (score for job in jobs for score in journal.scores(job)):
            found.setdefault(name, {}).setdefault(group(score), []).append(score)
            broken += score.broken
            print(*score.broken, sep="\n", end="\n" if score.broken else "", flush=True)
        print(f"{name}: {time.process_time() - began:.0f} s of processor time", flush=True)
    print(summary(found))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
