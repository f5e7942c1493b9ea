"""Particles on four devices: the same answer, and they stay there."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import spos
from spos.mesh import particle_mesh, shard

# The number of devices is fixed when JAX starts, hence a process of its own.
PROGRAM = """
import jax
jax.config.update("jax_num_cpu_devices", 4)
import jax.numpy as jnp, numpy as np, spos, spos.mesh
from spos.targets import target as score
from spos.interaction import pairwise

score.TURN = 1          # networks take turns even when tiny
pairwise.DENSE_PARTICLES = 50
mesh = spos.mesh.particle_mesh()

def normal(x):
    return -0.5 * jnp.sum(x**2)

def network(theta, batch):
    x, y = batch
    return -((jnp.tanh(x @ theta["w"]) @ theta["v"] - y) ** 2)

data = (jax.random.normal(jax.random.key(1), (30, 3)), jnp.ones(30))
def log_prior(theta):
    return -jnp.sum(theta["w"] ** 2) - jnp.sum(theta["v"] ** 2)

posterior = spos.posterior(network, log_prior, data, batch_size=10)
weights = {"w": jax.random.normal(jax.random.key(2), (8, 3, 5)), "v": jnp.ones((8, 5))}
cloud = jax.random.normal(jax.random.key(3), (64, 6))
dense, tiled, grouped = (normal, cloud[:40], None), (normal, cloud, None), (normal, cloud, 8)
for target, start, size in (dense, tiled, grouped, (posterior, weights, None)):
    def run(target, start):
        sampler = spos.spos(target, 0.01, group_size=size)
        return spos.sample(sampler, start, 20, seed=4).particles
    alone = run(target, start)
    shared = run(spos.mesh.shard_target(target, mesh), spos.mesh.shard(start, mesh))
    for a, b in zip(jax.tree.leaves(alone), jax.tree.leaves(shared)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        assert not b.sharding.is_fully_replicated and len(b.sharding.device_set) == 4, b.sharding
print("same and spread")
"""


def test_four_devices_give_the_answer_of_one_and_keep_their_particles():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert "same and spread" in done.stdout, done.stderr[-2000:]


def test_particles_that_do_not_divide_are_refused():
    class Three:
        size = 3

    with pytest.raises(ValueError, match="particles must divide evenly among the 3 devices, got 4"):
        shard(jnp.ones((4, 2)), Three())


def test_one_device_is_a_mesh_too():
    start = jax.random.normal(jax.random.key(0), (6, 2))
    sampler = spos.svgd(lambda x: -jnp.sum(x**2), 0.1)
    there = spos.sample(sampler, shard(start, particle_mesh()), 5).particles
    assert jnp.array_equal(there, spos.sample(sampler, start, 5).particles)


def test_a_target_that_remembers_is_refused():
    flat = spos.posterior(lambda t, b: -((b - t) ** 2), lambda t: 0.0, jnp.arange(10.0), 2)
    with pytest.raises(ValueError, match="target must not remember"):
        spos.mesh.shard_target(spos.svrg(flat), spos.mesh.particle_mesh())
