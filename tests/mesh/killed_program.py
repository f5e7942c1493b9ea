"""A run with a checkpoint, over however many processes: started by test_killed.py as

    python killed_program.py COORDINATOR NUM_PROCESSES PROCESS FOLDER SECONDS

Each step takes a while, so that there is time to kill it. SECONDS is the pause of a callback.
"""

import sys
import time

import jax
import numpy as np
from mesh_cases import CLOUD, normal

import spos

coordinator, count, number, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if count > 1:
    jax.distributed.initialize(coordinator, count, number)
mesh = spos.mesh.particle_mesh()
pause = float(sys.argv[5])


def wait(state, info):
    print(int(state.step), flush=True)
    time.sleep(pause)


result = spos.sample(
    spos.spos(normal, 0.1),
    spos.mesh.shard(CLOUD[:16, :3], mesh),
    40,
    seed=3,
    history_every=5,
    callback=wait,
    callback_every=2,
    checkpoint=folder,
    checkpoint_every=1e-3,
)
whole = spos.mesh.gather((result.particles, result.history))
if number == 0:
    np.savez(f"{folder}.npz", particles=whole[0], history=whole[1], drift=result.info["drift_norm"])
print("done", flush=True)
