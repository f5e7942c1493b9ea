"""The curves of a run as a CSV file, while it goes on.

    spos.rl.train("swing_up", callback=spos.rl.csv_log("swing-up.csv"))

A row is an iteration. All columns follow from the memory of the run, so that the file of a run that
was interrupted and taken up again is the same, byte by byte, as that of one that was not.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from spos import checks
from spos.io.files import whole
from spos.targets.policy import Memory
from spos.types import PathLike, State

COLUMNS = ("iteration", "mean", "sd", "worst", "median", "best", "coverage")


def csv_log(path: PathLike) -> Callable[[State, Any], None]:
    """A callback of `train` that writes the returns of every iteration.

    Args:
        path: of the file. One that is there is written anew.

    Returns:
        The callback.

    Example:
        >>> log = spos.rl.csv_log("returns.csv")
        >>> spos.rl.train(
        ...     "cartpole", num_iterations=2, num_particles=2, num_episodes=2, callback=log
        ... ).num_iterations
        2
        >>> import pathlib
        >>> pathlib.Path("returns.csv").read_text().splitlines()[0]
        'iteration,mean,sd,worst,median,best,coverage'
    """
    place, written = checks.as_path("path", path), 0

    def log(state: State, info: Any) -> None:
        nonlocal written
        memory: Memory = state.score_memory
        done = int(memory.iteration)
        rows = _rows(memory, written, done)
        if not written:  # also what a run that is taken up again did before
            with whole(place) as file:
                file.write((",".join(COLUMNS) + "\n" + rows).encode())
        else:
            with place.open("a", encoding="utf-8") as more:
                more.write(rows)
        written = done

    return log


def _rows(memory: Memory, first: int, last: int) -> str:
    returns, coverage = (np.asarray(part)[first:last] for part in (memory.returns, memory.coverage))
    lines = []
    for n, (row, share) in enumerate(zip(returns, coverage, strict=True), first + 1):
        told = row.mean(), row.std(), row.min(), np.median(row), row.max(), share
        lines.append(",".join([str(n), *(f"{number:.6g}" for number in told)]) + "\n")
    return "".join(lines).replace("nan", "")
