"""Work that is interrupted: runs that are saved and go on, and files that are written again and
again. Each leaves arrays by which two endings are compared, bit by bit.

A short chunk makes a run look at its folder often, so that signals meet it while it saves.
"""

import os
import signal
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

import spos
from algorithm_table import ALGORITHMS
from attack.victims import MAKERS
from spos.io import archive
from spos.loop import sample as loop
from spos_experiments.frame import resume

END = "end.npz"
STEPS = 240
START = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(6, 2)
DATA = np.linspace(-2.0, 2.0, 20, dtype=np.float32)

Arrays = dict[str, np.ndarray]


def log_prob(theta: Any) -> Any:
    return -0.5 * jnp.sum(theta**2)


def log_likelihood(theta: Any, batch: Any) -> Any:
    return -0.5 * (batch - jnp.sum(theta)) ** 2


def posterior() -> Any:
    return spos.posterior(log_likelihood, log_prob, DATA, 5)


MEMORIES: dict[str, Callable[[], Any]] = {
    "svrg": lambda: spos.svrg(posterior(), every=7),
    "saga": lambda: spos.saga(posterior()),
    "control_variate": lambda: spos.control_variate(posterior(), np.zeros(2, np.float32)),
}


def sampled(make: Callable[[], Any], folder: Path) -> Arrays:
    """A run of a sampler, in short chunks."""
    loop.CHUNK_STEPS = 8
    saved = {"checkpoint": folder / "run", "checkpoint_every": 1e-3}
    result = spos.sample(make(), START, STEPS, seed=3, history_every=40, progress=False, **saved)
    return {"particles": result.particles, "history": result.history, **result.info}


class Outcome(NamedTuple):
    particles: np.ndarray


def experiment(folder: Path) -> Arrays:
    """Two runs as experiments do them: what has ended is a file, what has not a folder."""

    def make(beta: float, place: Path, tick: Any) -> Outcome:
        return Outcome(sampled(lambda: spos.sgld(log_prob, 0.01, beta), place)["particles"])

    places = {beta: folder / f"run-{beta}.npz" for beta in (1.0, 2.0)}
    ended = resume.in_turn(places, Outcome, make, lambda beta: STEPS, lambda *_, **__: None)
    return {str(beta): found.particles for beta, found in ended}


def fitted(folder: Path) -> Arrays:
    found = spos.fit(
        log_prob,
        start=np.repeat(START, 4, 0) + 0.1 * np.arange(24, dtype=np.float32)[:, None],
        seed=3,
        max_evaluations=6000,
        progress=False,
        checkpoint=folder / "run",
        checkpoint_every=1e-3,
    )
    return {"particles": found.particles, "draws": np.asarray(found.draws)}


def trained(outside: bool, folder: Path) -> Arrays:
    run = spos.rl.train(
        spos.rl.gymnasium("CartPole-v1") if outside else "cartpole",
        num_iterations=12,
        num_particles=2,
        num_episodes=2,
        hidden=[3],
        seed=3,
        progress=False,
        checkpoint=folder / "run",
        checkpoint_every=1e-3,
    )
    return {"returns": run.returns}


def rewritten(kind: str, folder: Path) -> NoReturn:
    """A file that is written for ever; it must be whole whenever the writer ends."""
    victim = MAKERS[kind](folder)
    while True:
        victim.write()


RUNS: dict[str, Callable[[Path], Arrays]] = {
    **{
        f"sample, {name}": lambda folder, make=make: sampled(lambda: make(log_prob), folder)
        for name, make in ALGORITHMS.items()
    },
    **{
        f"sample, {name}": lambda folder, make=make: sampled(
            lambda: spos.sgld(make(), 0.01), folder
        )
        for name, make in MEMORIES.items()
    },
    "fit": fitted,
    "rl.train": partial(trained, False),
    "rl.train, outside": partial(trained, True),
    "experiment": experiment,
}
FILES = tuple(name for name in MAKERS if name != "data")  # which is fetched, not written


def do(name: str, folder: str, cold: bool) -> None:
    """The work of that name, to its end, in a process of its own; `cold` compiles all anew."""
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
    if cold:
        jax.config.update("jax_enable_compilation_cache", False)
    warnings.filterwarnings("error", "checkpoint skipped")  # no end may leave a damaged file
    place = Path(folder)
    # what a shell starts in the background ignores it, and so do the processes it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if name in FILES:
        rewritten(name, place)
    interrupts: list[int] = []

    def interrupt(number: int, _: Any) -> NoReturn:
        interrupts.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    arrays = {key: np.asarray(value) for key, value in RUNS[name](place).items()}
    if not interrupts:  # else it has returned what there was
        archive.write(place / END, arrays, {})


def ended(folder: Path) -> Arrays | None:
    """What the work has left; None before it has come to its end."""
    path = folder / END
    return archive.read(path)[0] if path.exists() else None


def same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[key], other[key], equal_nan=True) for key in one
    )
