"""Four devices of one process against one: `started.start` calls `main`, once."""

import re

import jax
import numpy as np
from mesh_cases import DATA, ON_DEVICES, TREE, network, normal, posterior, worst

import spos
from spos.interaction import pairwise
from spos.loop.run import begin
from spos.mesh import shards
from spos.mesh.traffic import bytes_sent
from spos.targets import target


def main(*_):
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

    # rows over two devices, particles over the other two
    GRID = spos.mesh.particle_mesh(num_data_shards=2)
    rows = spos.mesh.shard_data(DATA, GRID)
    theta = spos.mesh.shard(TREE, GRID)
    plain = posterior()
    halves = spos.posterior(network, normal, rows, batch_size=10)
    exact = plain.score(TREE)
    print(f"two axes, all rows: {worst(exact, halves.score(theta))}")

    @jax.jit
    def first_scores(target, keys, theta):
        """Those of one number of one particle, for many minibatches."""
        return jax.lax.map(lambda key: target.score(theta, target.draw(key))["v"][0, 0], keys)

    def off(target):
        """How far the mean score of minibatches is from that of all rows, in standard errors."""
        seen = np.asarray(first_scores(target, jax.random.split(KEY, 400), theta))
        return (seen.mean() - float(exact["v"][0, 0])) / (seen.std() / 20)

    half = jax.tree.map(lambda leaf: leaf[:15], DATA)  # the mutant forgets the other shard
    blind = spos.posterior(
        network, normal, jax.tree.map(lambda a: np.concatenate([a, a]), half), 10
    )
    print(f"two axes, unbiased: {off(halves)}")
    print(f"two axes, one shard alone: {off(blind)}")
    moved = spos.sample(spos.spos(halves, 0.01), theta, 3, seed=1)
    assert moved.particles["w"].sharding.spec[0] == "particles"

    compiled = {name: ON_DEVICES[name] for name in ("rbf", "network", "few")}
    for name, case in compiled.items():  # nothing brings all particles together
        sampler, start = case()
        particles = spos.mesh.shard(start, MESH)
        with shards.over(particles):
            state = begin(sampler, particles)
            program = jax.jit(spos.advance).lower(sampler, KEY, state).compile()
        text = program.as_text()
        print(f"bytes of {name}: {bytes_sent(text)}")
        if name == "few":
            rows = [int(n) for n in re.findall(rf"\[(\d+),{start.shape[1]}\]", text)]
            print(f"most rows of {name}: {max(rows)}")
        assert "collective-permute" in text, name
        assert "all-gather" not in text, name
        assert "all-to-all" not in text, name
    print("no gathering")
