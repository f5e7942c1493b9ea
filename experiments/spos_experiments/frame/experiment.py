"""What an experiment is, and what all of them use.

An experiment states its mathematics, does its own runs and draws its own figures; `perform` gives
it a seed and a progress line, and turns what it found into a record.
"""

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import Field, dataclass
from math import floor, log10
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import jax
import numpy as np

from spos.io.html import Table
from spos_experiments.frame.record import Claim, Record

CLEAR = 2.0  # standard errors that a difference must exceed to count as seen

Tick = Callable[..., None]  # so many done, of so many; and values to show, by name
T = TypeVar("T")
S = TypeVar("S")


def quiet(done: int, total: int = 0, **values: float) -> None:
    """A tick that nobody sees."""


class Adjustable(Protocol):
    """A frozen dataclass of everything that shapes an experiment but the seed. Fields made by
    `options.option` are options of the command line."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

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


class Experiment(Protocol):
    """A module or package of `paper/`."""

    TITLE: str
    ABOUT: str
    Settings: Callable[[], Adjustable]

    def results(self, settings: Any, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
        """The findings, again and again while there are more of them: the record is written anew
        each time. What must outlast an interruption is kept in the folder, see `resume`."""

    def draw(self, record: Record) -> list[Drawing]:
        """The figures, from the record alone."""

    # One with long runs has two more, for `sweep`: `parts(settings, seed)`, a list of tuples, and
    # `make(settings, seed, part, folder)`, which leaves a part where `results` looks for it.


def once(
    run: Callable[[S, int, Tick], Findings],
) -> Callable[[S, int, Tick, Path], Iterator[Findings]]:
    """Makes `results` of a function that gives all findings at once and keeps nothing."""

    @functools.wraps(run)
    def results(settings: S, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
        yield run(settings, seed, tick)

    return results


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
        decimals = min(4, max(0, -floor(log10(self.se))))
        return f"{self.mean:.{decimals}f} ± {self.se:.{decimals}f}"


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
