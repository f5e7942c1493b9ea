"""One process of several that make runs together: started by test_processes.py as

    python processes_program.py COORDINATOR NUM_PROCESSES PROCESS FOLDER PHASE…

A phase is the name of a case of `mesh_cases`, which is run over all processes, or a function below.
Process 0 writes what came out to FOLDER.
"""

import os
import signal
import sys
from pathlib import Path

import jax
import numpy as np
from mesh_cases import IN_PROCESSES, NUM_STEPS, SEED, checkpointed, same_bits

import spos

coordinator, count, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
folder, phases = Path(sys.argv[4]), sys.argv[5:]
jax.distributed.initialize(coordinator, count, number)
mesh = spos.mesh.particle_mesh()
last = count - 1
SPOS, CLOUD = IN_PROCESSES["spos"]()


def go(sampler, start, seed=SEED, **options):
    particles = spos.mesh.shard(start, mesh)
    return spos.sample(sampler, particles, NUM_STEPS, seed=seed, history_every=3, **options)


def keep(name, result):
    kept = {"particles": result.particles, "history": result.history}
    whole = spos.mesh.gather(kept)
    if number == 0:
        found = {
            jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(whole)
        }
        np.savez(folder / f"{name}.npz", **found)
    return whole


def case(name):
    result = go(*IN_PROCESSES[name](), progress=True)
    assert not jax.tree.leaves(result.particles)[0].is_fully_addressable
    keep(name, result)
    result.save(folder / "result.npz")  # process 0 alone writes
    print(result.summary().title)


def errors():
    """What can go wrong in one of them, and what one of them decides."""
    print("seeds:", error_of(seed=number))
    print("callback:", error_of(callback=fail_in_last))
    print("bad argument:", error_of(callback_every=number))
    print("stopped by the last:", stops(last).num_steps)
    print("stopped by the first:", stops(0).num_steps)
    ended = go(SPOS, CLOUD, callback=terminate_last, callback_every=2)
    print("terminated:", ended.interrupted, ended.num_steps < NUM_STEPS)
    try:
        go(spos.spos(SPOS.target, 1e30), CLOUD)
    except spos.NonFiniteError as error:
        print("not finite:", error, int(error.state.step))


def error_of(**options):
    try:
        go(SPOS, CLOUD, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def stops(process):
    return go(SPOS, CLOUD, callback=lambda *_: number == process, callback_every=2)


def fail_in_last(*_):
    if number == last:
        raise KeyError("lost it")


def terminate_last(*_):
    if number == last:
        os.kill(os.getpid(), signal.SIGTERM)


def uncaught():
    """An error in the last process, while the others wait for it."""
    if number == last:
        raise ZeroDivisionError("nobody caught me")
    go(SPOS, CLOUD)


def half():
    """A run that is stopped, and saved."""
    checkpointed(folder / "half", mesh, lambda state, info: int(state.step) == 20)


def killed():
    """A run of which the last process is killed, some time after a checkpoint."""

    def kill(state, info):
        if number == last and int(state.step) >= 20:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpointed(folder / "killed", mesh, kill)


def resumed():
    """Both of these go on; the killed one was of as many processes, and ends in the same bits."""
    steps = []
    for name in ("half", "killed"):
        here = checkpointed(folder / name, mesh, lambda state, info: steps.append(int(state.step)))
        keep(name, here)
    assert min(steps) > 4, steps  # none began anew
    whole = checkpointed(None, mesh)
    print(
        "same bits:",
        same_bits(
            keep("whole", whole),
            spos.mesh.gather({"particles": here.particles, "history": here.history}),
        ),
    )


for phase in phases:
    case(phase) if phase in IN_PROCESSES else globals()[phase]()
    print(f"{phase} is done", flush=True)
