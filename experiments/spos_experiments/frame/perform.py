"""How an experiment is run, timed, recorded, drawn and shown.

It leaves `DIR/NAME/record.json` and figures beside it, and a table on the terminal.
"""

import dataclasses
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from spos.cli import UsageError
from spos.io import figures
from spos.io.files import make_writable, write_whole
from spos.io.progress import Progress
from spos.result import versions
from spos_experiments import paper
from spos_experiments.frame import options, record, sweep
from spos_experiments.frame.experiment import Experiment
from spos_experiments.frame.record import Record


def perform(
    name: str,
    out: Path,
    seed: int = 0,
    quick: bool = False,
    changed: Mapping[str, Any] = MappingProxyType({}),
    executor: str | None = None,
) -> Record:
    """Run an experiment, write its record and figures, and print its table.

    `changed` are settings that differ from the experiment's own, and `executor` makes its runs
    (`sweep`).
    """
    experiment = paper.find(name)
    folder = out / name
    make_writable(folder)
    settings = sweep.adjusted(name, quick, changed)
    if executor is not None:
        with sweep.executor(executor, folder) as elsewhere, Bar(f"{name}, runs") as bar:
            sweep.make_all(name, folder, seed, quick, changed, elsewhere, bar.tick)
    bar = Bar(name)
    began, busy = time.monotonic(), time.process_time()
    made = None
    with bar:
        for found in experiment.results(settings, seed, bar.tick, folder):
            made = Record(
                experiment=name,
                title=experiment.TITLE,
                about=experiment.ABOUT,
                command=command(name, out, seed, quick, changed),
                quick=quick,
                seed=seed,
                seconds=round(time.monotonic() - began, 1),
                settings=dataclasses.asdict(settings),
                versions=versions(),
                claims=found.claims,
                table=found.table,
                figures=(),
                numbers=found.numbers,
                cpu_seconds=round(time.process_time() - busy, 1),
            )
            made = _illustrated(experiment, made, folder)
            record.write(folder / record.FILE, made)
    if made is None:
        raise UsageError(
            f"{name} has nothing to run: no run has all of the options that were given"
        )
    print(summary(made, folder), flush=True)
    return made


def _illustrated(experiment: Experiment, made: Record, folder: Path) -> Record:
    """The record with its figures, which are drawn and written."""
    with figures.style():
        drawings = experiment.draw(made)
        for drawing in drawings:
            moves = isinstance(drawing.figure, figures.Moving)
            content = figures.gif(drawing.figure) if moves else figures.png(drawing.figure)
            write_whole(folder / drawing.file, content)
    shown = [record.Illustration(d.file, d.alt, d.caption) for d in drawings]
    return dataclasses.replace(made, figures=shown)


def command(
    name: str,
    out: Path,
    seed: int,
    quick: bool,
    changed: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """The line that makes a record again."""
    words = ["spos", "paper", name, *options.words(changed)]
    words += ["--quick"] if quick else []
    words += ["--out", str(out)] if out != record.FOLDER else []
    return shlex.join([*words, "--seed", str(seed)])


class Bar:
    """A progress line that begins with the first tick and always ends its line."""

    def __init__(self, label: str) -> None:
        self.label, self._line = label, None  # type: str, Progress | None

    def tick(self, done: int, total: int, **values: float) -> None:
        if self._line is None:
            self._line = Progress(self.label, total, done=done)
        self._line.update(done, **values)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.close()


def summary(made: Record, folder: Path) -> str:
    """The record for the terminal."""
    lines = [f"\n{made.title}", "", made.table.text(), ""]
    for claim in made.claims:
        lines += [f"  {claim.claim}", f"    measured: {claim.measured}", f"    → {claim.verdict}"]
    files = ", ".join(figure.file for figure in made.figures)
    busy = f" ({made.cpu_seconds:.0f} s of processor time)" if made.cpu_seconds else ""
    lines.append(f"\n{made.seconds:.0f} s{busy}. {folder / record.FILE}, beside {files}.")
    return "\n".join(lines)
