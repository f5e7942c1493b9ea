"""An experiment's runs as jobs of an executor.

An experiment with long runs says which `parts` it has, each a tuple of names and numbers, and how
to `make` one. A job makes one part and leaves it in the file that the experiment looks for: what is
there is not made again, and the experiment itself then only reads. All jobs need the folder, which
on a cluster is one that all machines share.

    processes:4          so many processes of this machine
    dask://host:port     the workers of a Dask scheduler
    slurm                jobs of Slurm, by submitit
"""

import contextlib
import dataclasses
import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from spos.cli import UsageError
from spos.executors import outcomes
from spos_experiments import paper
from spos_experiments.frame.experiment import Tick

PATIENCE = "10s"  # with a scheduler that does not answer


def make_all(
    name: str,
    folder: Path,
    seed: int,
    quick: bool,
    changed: Mapping[str, Any],
    executor: Any,
    tick: Tick,
) -> None:
    """Make all parts of an experiment."""
    experiment = paper.find(name)
    if not hasattr(experiment, "parts"):
        raise UsageError(f"--executor is for experiments with long runs, which {name} has not")
    parts = experiment.parts(adjusted(name, quick, changed), seed)
    jobs = [(name, str(folder.resolve()), seed, quick, dict(changed), part) for part in parts]
    tick(0, len(jobs))
    for done, _ in enumerate(outcomes(executor, make, jobs), start=1):
        tick(done, len(jobs))


def make(
    name: str, folder: str, seed: int, quick: bool, changed: dict[str, Any], part: tuple[Any, ...]
) -> None:
    """One job."""
    experiment: Any = paper.find(name)
    experiment.make(adjusted(name, quick, changed), seed, part, Path(folder))


def adjusted(name: str, quick: bool, changed: Mapping[str, Any]) -> Any:
    """The settings of an experiment."""
    settings = paper.find(name).Settings()
    return dataclasses.replace(settings.quick() if quick else settings, **changed)


@contextlib.contextmanager
def executor(words: str, folder: Path) -> Iterator[Any]:
    """The executor of that name, until the end of the block.

    Args:
        words: `processes:4`, `dask://host:port` or `slurm`.
        folder: where Slurm's own files go.

    Raises:
        UsageError: There is none of that name, or its scheduler cannot be reached.
    """
    kind, _, rest = words.partition(":")
    if kind == "processes" and rest.isdecimal() and int(rest) > 0:
        # a process that was forked from one with JAX's threads may hang
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(int(rest), mp_context=context) as pool:
            yield pool
    elif kind == "dask" and rest.startswith("//"):
        with _dask_client(f"tcp:{rest}") as client:
            yield client.get_executor()
    elif words == "slurm":
        yield _slurm(folder / "slurm")
    else:
        raise UsageError(
            f"--executor must be processes:N, dask://HOST:PORT or slurm, got {words!r}"
        )


def _dask_client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("--executor dask://… needs Dask: pip install distributed") from error
    try:
        return Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler can be reached at {address}: {error}") from error


def _slurm(folder: Path) -> Any:
    try:
        import submitit
    except ImportError as error:
        raise UsageError("--executor slurm needs submitit: pip install submitit") from error
    try:
        return submitit.SlurmExecutor(folder=folder)
    except RuntimeError as error:
        raise UsageError(f"no Slurm can be reached from here: {error}") from error
