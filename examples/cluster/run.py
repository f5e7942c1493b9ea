"""One run of SPOS over all processes that start this script; see docs/scale.md for how to start it.

    python run.py --folder /shared/folder [--num-particles 4096] [--num-steps 2000]

Every process runs the same lines. Started again, it goes on from its last checkpoint, with any
number of processes.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

import spos

parser = argparse.ArgumentParser()
parser.add_argument("--folder", required=True, help="on a file system that all processes see")
parser.add_argument("--num-particles", type=int, default=4096)
parser.add_argument("--num-steps", type=int, default=2000)
parser.add_argument("--detect", help="how peers are found: mpi4py under mpirun, else left out")
options = parser.parse_args()

# Slurm, TPU pods and Kubernetes are found by JAX itself; mpirun by mpi4py
jax.distributed.initialize(cluster_detection_method=options.detect, heartbeat_timeout_seconds=20)

rng = np.random.default_rng(0)
x = rng.normal(size=(1000, 20)).astype(np.float32)
y = (rng.random(1000) < 1 / (1 + np.exp(-x @ np.linspace(-1, 1, 20)))).astype(np.float32)


def log_likelihood(theta, batch):
    logits = batch[0] @ theta
    return batch[1] * logits - jax.nn.softplus(logits)


posterior = spos.posterior(log_likelihood, lambda t: -0.5 * jnp.sum(t**2), (x, y), batch_size=100)
mesh = spos.mesh.particle_mesh()
start = spos.mesh.shard(
    lambda: jax.random.normal(jax.random.key(0), (options.num_particles, 20)), mesh
)
result = spos.sample(
    spos.spos(posterior, step_size=1e-3),
    start,
    options.num_steps,
    seed=1,
    checkpoint=f"{options.folder}/checkpoint",
    progress=True,
)
summary = result.summary()  # all processes gather, process 0 prints
if jax.process_index() == 0:
    print(summary)
result.save(f"{options.folder}/result.npz")  # process 0 alone writes
