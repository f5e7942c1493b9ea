"""What all experiments share: how one is run, timed, recorded, drawn and shown.

A module states its mathematics and does its own runs. The frame gives it a seed and a progress
line, and turns what it found into `DIR/NAME/record.json`, PNG figures and a table on the terminal.
"""

import dataclasses
import hashlib
import math
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import jax
import numpy as np

from spos.io import figures
from spos.io.files import make_writable, write_whole
from spos.io.html import Table
from spos.io.progress import Progress
from spos.result import versions
from spos_experiments import paper
from spos_experiments.frame import record
from spos_experiments.frame.record import Claim, Record

DEFAULT_OUT = Path("experiments/results")
CLEAR = 2.0  # standard errors that a difference must exceed to count as seen

Tick = Callable[..., None]  # so many done, of so many; and values to show, by name
T = TypeVar("T")


class Settings(Protocol):
    """A frozen dataclass of everything that shapes an experiment but the seed."""

    def quick(self) -> Self:
        """The same experiment in a few seconds: nothing can be concluded from it."""


@dataclass(frozen=True)
class Findings:
    """What a run measured: `numbers` as JSON can hold them, and all that figures need."""

    numbers: dict[str, Any]
    claims: Sequence[Claim]
    table: Table


@dataclass(frozen=True)
class Drawing:
    """A figure, or a moving one for a file `.gif`, and what it shows in words."""

    file: str
    figure: Any
    alt: str
    caption: str


class Estimate(NamedTuple):
    """A mean over independent repeats and its standard error."""

    mean: float
    se: float

    @classmethod
    def of(cls, repeats: Any) -> "Estimate":
        values = np.asarray(repeats, np.float64)
        return cls(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))

    def above(self, other: "Estimate") -> bool:
        """Larger by more than chance readily gives; the two are independent."""
        return self.mean - other.mean > CLEAR * float(np.hypot(self.se, other.se))

    def __str__(self) -> str:
        """To the first digit that is uncertain, and to no more than four decimals."""
        if not self.se >= 5e-5:
            return f"{self.mean:.4f} ± <0.0001"
        decimals = min(4, max(0, -math.floor(math.log10(self.se))))
        return f"{self.mean:.{decimals}f} ± {self.se:.{decimals}f}"


def perform(
    name: str,
    out: Path,
    seed: int = 0,
    quick: bool = False,
    changed: Mapping[str, Any] = MappingProxyType({}),
) -> Record:
    """Run an experiment, write its record and figures, and print its table.

    `changed` are settings that differ from the experiment's own. An experiment that takes hours has
    `grow` in place of `run`: it yields its findings again and again while there are more of them,
    keeps its state in the folder, and each time the record is written anew.
    """
    module = paper.find(name)
    folder = out / name
    make_writable(folder)
    settings = module.Settings().quick() if quick else module.Settings()
    settings = dataclasses.replace(settings, **changed)
    bar = Bar(name)
    began, busy = time.monotonic(), time.process_time()
    with bar:
        if hasattr(module, "grow"):
            growing = module.grow(settings, seed, bar.tick, folder)
        else:
            growing = iter([module.run(settings, seed, bar.tick)])
        for found in growing:
            made = Record(
                experiment=name,
                title=module.TITLE,
                about=module.ABOUT,
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
            made = _illustrated(module, made, folder)
            record.write(folder / record.FILE, made)
    print(summary(made, folder), flush=True)
    return made


def _illustrated(module: Any, made: Record, folder: Path) -> Record:
    """The record with its figures, which are drawn and written."""
    with figures.style():
        drawings: list[Drawing] = module.draw(made)
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
    words = ["spos", "paper", name]
    for option, value in changed.items():
        words += [f"--{option}", *map(str, value if isinstance(value, tuple) else (value,))]
    words += ["--quick"] if quick else []
    words += ["--out", str(out)] if out != DEFAULT_OUT else []
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


def mark(*settings: Any) -> str:
    """A few letters for a file's name, by which a run with other settings is another run."""
    return hashlib.sha256(repr(settings).encode()).hexdigest()[:8]


def compiled(function: Callable[..., Any], hasty: bool) -> Callable[..., Any]:
    """The function as a program. A hasty one is compiled with less care, for runs so short that
    compiling takes longest."""
    options = {"xla_backend_optimization_level": 0} if hasty else None
    return jax.jit(function, compiler_options=options)


def in_parallel(jobs: Sequence[Callable[[], T]], tick: Tick) -> list[T]:
    """The results of independent jobs, in their order, on all cores.

    Compiled programs and the compiler leave Python's lock alone, so threads are enough.
    """
    return list(_finished(jobs, tick))


def _finished(jobs: Sequence[Callable[[], T]], tick: Tick) -> Iterator[T]:
    tick(0, len(jobs))
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        for done, result in enumerate(pool.map(lambda job: job(), jobs), start=1):
            tick(done, len(jobs))
            yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def summary(made: Record, folder: Path) -> str:
    """The record for the terminal."""
    lines = [f"\n{made.title}", "", made.table.text(), ""]
    for claim in made.claims:
        lines += [f"  {claim.claim}", f"    measured: {claim.measured}", f"    → {claim.verdict}"]
    files = ", ".join(figure.file for figure in made.figures)
    busy = f" ({made.cpu_seconds:.0f} s of processor time)" if made.cpu_seconds else ""
    lines.append(f"\n{made.seconds:.0f} s{busy}. {folder / record.FILE}, beside {files}.")
    return "\n".join(lines)
