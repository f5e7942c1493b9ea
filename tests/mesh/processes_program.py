"""One process of several that make runs together: started by test_processes.py as

    python processes_program.py COORDINATOR NUM_PROCESSES PROCESS FOLDER CASE…

It runs the cases over all processes, provokes what can go wrong, and ends with an error in the last
process that nobody catches. Process 0 writes what came out to FOLDER.
"""

import os
import signal
import sys
from pathlib import Path

import jax
import numpy as np
from mesh_cases import IN_PROCESSES, NUM_STEPS, SEED

import spos

coordinator, count, number, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
jax.distributed.initialize(coordinator, count, number)
mesh = spos.mesh.particle_mesh()
last = count - 1
SPOS, CLOUD = IN_PROCESSES["spos"]()


def go(sampler, start, seed=SEED, **options):
    particles = spos.mesh.shard(start, mesh)
    return spos.sample(sampler, particles, NUM_STEPS, seed=seed, history_every=3, **options)


found = {}
for name in sys.argv[5:]:
    result = go(*IN_PROCESSES[name](), progress=True)
    assert not jax.tree.leaves(result.particles)[0].is_fully_addressable
    kept = {"particles": result.particles, "history": result.history}
    for path, leaf in jax.tree.leaves_with_path(spos.mesh.gather(kept)):
        found[name + jax.tree_util.keystr(path)] = leaf
result.save(Path(folder) / "result.npz")  # process 0 alone writes
print(result.summary().title)


def error_of(**options):
    """What a run of SPOS ends with, without a start of its own to compile."""
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
if number == 0:
    np.savez(Path(folder) / "found.npz", **found)
print("done", flush=True)
if number == last:
    raise ZeroDivisionError("nobody caught me")
go(SPOS, CLOUD)  # the others wait here, and must not for ever
