"""Work that is interrupted: runs that are saved and go on, and files that are written again and
again. Each leaves arrays by which two endings are compared, bit by bit.

A short chunk makes a run look at its folder often, so that signals meet it while it saves.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax.numpy as jnp
import numpy as np

import spos
from algorithm_table import ALGORITHMS
from attack import files
from spos.io import archive
from spos.io.files import write_whole
from spos.loop import sample as loop

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
    if result.interrupted:
        sys.exit(130)
    return {"particles": result.particles, "history": result.history, **result.info}


def fitted(folder: Path) -> Arrays:
    found = spos.fit(
        log_prob,
        start=np.repeat(START, 4, 0) + 0.1 * np.arange(24, dtype=np.float32)[:, None],
        seed=3,
        progress=False,
        checkpoint=folder / "run",
        checkpoint_every=1e-3,
    )
    if found.interrupted:
        sys.exit(130)
    return {"particles": found.particles, "draws": np.asarray(found.draws)}


def trained(folder: Path) -> Arrays:
    run = spos.rl.train(
        "cartpole",
        num_iterations=12,
        num_particles=2,
        num_episodes=2,
        hidden=[3],
        seed=3,
        progress=False,
        checkpoint=folder / "run",
        checkpoint_every=1e-3,
    )
    if run.interrupted:
        sys.exit(130)
    return {"returns": run.returns}


def rewritten(kind: str, folder: Path) -> NoReturn:
    """A file of `attack.files` written for ever; it must be whole whenever the writer ends."""
    place = folder / "files"
    place.mkdir(exist_ok=True)
    if not any(place.iterdir()):
        victim = getattr(files, f"_{kind}")(place)
        (folder / "path").write_text(str(victim.path))
    path = Path((folder / "path").read_text())
    content = path.read_bytes()
    while True:
        write_whole(path, content)


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
    "rl.train": trained,
}
FILES = ("estimator", "policies", "record", "result")


def do(name: str, folder: str) -> None:
    """The work of that name, to its end, in a process of its own."""
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
    place = Path(folder)
    if name in FILES:
        rewritten(name, place)
    arrays = {key: np.asarray(value) for key, value in RUNS[name](place).items()}
    archive.write(place / END, arrays, {})


def ended(folder: Path) -> Arrays | None:
    """What the work has left; None before it has come to its end."""
    path = folder / END
    return archive.read(path)[0] if path.exists() else None


def same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[key], other[key], equal_nan=True) for key in one
    )
