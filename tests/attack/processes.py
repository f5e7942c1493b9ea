"""Attacks on a run of several processes: one of them is killed, and the run begun again.

Two processes make one run, with a checkpoint that is written as often as can be. At a random time
after its first steps a random one of them, the first too, is killed (SIGKILL). The other must end
within half a minute and say why; then both are begun again in the same folder. After so many kills
the run is left alone, and must end in the bits of one that nobody disturbed.

    PYTHONPATH=tests python -m attack.processes 20
"""

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import spos
import started
from attack.table import Job, Score, report

SOON = 30.0  # seconds, in which the other process ends
START = 300.0  # seconds, in which both begin
LONGEST = 4.0  # seconds from the first steps to a kill
STEPS = 80  # a kill: more than there is time for until it
# ours, or those of JAX, which ends a process that hears no more of the first one
SAYS = ("another process of this run has ended", "another task died")


def main(
    coordinator: str, count: int, number: int, name: str, steps: int, hurried: bool = False
) -> None:
    """One of the processes; unless it is `hurried` it takes its time, and saves all the time."""
    jax.distributed.initialize(coordinator, count, number, heartbeat_timeout_seconds=20)
    folder, mesh = Path(name), spos.mesh.particle_mesh()

    def slowly(state: spos.State, info: spos.Info) -> None:
        (folder / f"began {number}").touch()
        time.sleep(0.2)

    result = spos.sample(
        spos.spos(lambda x: -0.5 * jnp.sum(x**2), 0.1),
        spos.mesh.shard(np.random.default_rng(0).normal(size=(8, 3)), mesh),
        steps,
        seed=1,
        history_every=50,
        callback=None if hurried else slowly,
        callback_every=5,
        checkpoint=folder / "run",
        checkpoint_every=30.0 if hurried else 1e-3,
    )
    whole = spos.mesh.gather({"particles": result.particles, "history": result.history})
    if number == 0:
        np.savez(folder / "end.npz", **whole)


def begin(folder: Path, steps: int, hurried: bool = False) -> list[BaseProcess]:
    """Both processes."""
    for path in folder.glob("began *"):
        path.unlink()
    return started.start("attack.processes", folder, 2, 1, str(folder), steps, hurried)


def wait_for_both(folder: Path, processes: list[BaseProcess]) -> str | None:
    """Until both have made steps; what is wrong, if they do not."""
    ends = time.monotonic() + START
    while len(list(folder.glob("began *"))) < 2:
        if time.monotonic() > ends or not all(each.is_alive() for each in processes):
            return f"did not begin: {started.words(folder, 0, 'err').read_text()[-300:]}"
        time.sleep(0.05)
    return None


def kill_one(folder: Path, steps: int, rng: random.Random) -> tuple[str | None, float]:
    """Begin, and kill one of both; what is wrong, and how long the other took to end."""
    processes = begin(folder, steps)
    try:
        if fault := wait_for_both(folder, processes):
            return fault, 0.0
        time.sleep(rng.uniform(0.0, LONGEST))
        victim = rng.randrange(2)
        other = processes[1 - victim]
        if not processes[victim].is_alive():
            return "the run ended before it was killed: give it more steps", 0.0
        processes[victim].kill()
        killed = time.monotonic()
        other.join(SOON)
        took, said = time.monotonic() - killed, started.words(folder, 1 - victim, "err").read_text()
        if other.is_alive():
            return f"process {1 - victim} was still there {SOON:.0f} s after the kill", took
        if other.exitcode == 0 or not any(words in said for words in SAYS):
            return f"process {1 - victim} ended with {other.exitcode}, said {said[-300:]!r}", took
        return None, took
    finally:
        for process in processes:
            process.kill()
            process.join()


def left_alone(folder: Path, steps: int) -> dict[str, np.ndarray] | None:
    """What the run gives in the end."""
    folder.mkdir(exist_ok=True)
    for process in begin(folder, steps, hurried=True):
        process.join()
    if not (folder / "end.npz").exists():
        return None
    with np.load(folder / "end.npz") as found:
        return dict(found)


def jobs(kills: int) -> Iterator[Job]:
    yield Job("two processes", lambda: attack(kills))


def attack(kills: int) -> Iterator[Score]:
    """One run, killed so many times."""
    rng, steps = random.Random(0), STEPS * max(kills, 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "killed"
        folder.mkdir()
        broken, times = [], [0.0]
        for _ in range(kills):
            fault, took = kill_one(folder, steps, rng)
            times.append(took)
            print(
                f"kill {len(times) - 1}: {fault or f'the other ended after {took:.1f} s'}",
                flush=True,
            )
            broken += [f"two processes, kill: {fault}"] * (fault is not None)
        found, whole = left_alone(folder, steps), left_alone(Path(name) / "whole", steps)
        if found is None or whole is None:
            broken.append("two processes: did not go on to the end")
        elif not all(np.array_equal(found[key], whole[key]) for key in whole):
            broken.append("two processes: went on to other bits")
    print(f"the other process ended {max(times):.1f} s after a kill, at the latest", flush=True)
    yield Score("two processes", "kill", kills, 0, kills - len(broken), broken)


if __name__ == "__main__":
    sys.exit(report(jobs(int(sys.argv[1]))))
