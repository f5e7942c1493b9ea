"""Four devices of one process against one: started once, by test_devices.py."""

import jax
from mesh_cases import ON_DEVICES, worst

import spos
from spos.interaction import pairwise
from spos.loop.run import begin
from spos.mesh import shards
from spos.targets import target

target.TURN = 1  # networks take turns even when tiny
pairwise.DENSE_PARTICLES = 100  # 128 particles are tiled on one device, 64 are not
pairwise.TILE_ROWS = 24  # tiles on four devices, too, the last one not full
MESH = spos.mesh.particle_mesh()
KEY = jax.random.key(4)

for name, case in ON_DEVICES.items():
    sampler, start = case()
    alone, _ = spos.run(sampler, KEY, start, 4)
    shared, _ = spos.run(sampler, KEY, spos.mesh.shard(start, MESH), 4)
    for leaf in jax.tree.leaves(shared.particles):
        assert leaf.sharding.spec[0] == "particles", (name, leaf.sharding)
    for leaf in jax.tree.leaves((shared.memory, shared.score_memory)):
        assert leaf.ndim == 0 or not leaf.sharding.is_fully_replicated, (name, leaf.shape)
    print(f"{name}: {worst(alone.particles, shared.particles)}")

for name in ("rbf", "network"):  # nothing brings all particles together
    sampler, start = ON_DEVICES[name]()
    particles = spos.mesh.shard(start, MESH)
    with shards.over(particles):
        state = begin(sampler, particles)
        text = jax.jit(spos.advance).lower(sampler, KEY, state).compile().as_text()
    assert "collective-permute" in text, name
    assert "all-gather" not in text, name
    assert "all-to-all" not in text, name
print("no gathering")
