"""Particles on four devices: the answer of one, and they stay there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mesh_cases import ON_DEVICES

import spos
from spos.interaction import bandwidth, pairwise, ring
from spos.mesh import particle_mesh, shard
from started import Ended


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The number of devices is fixed when JAX starts, hence a process of its own: one for all."""
    ended = Ended("devices_program", tmp_path_factory.mktemp("devices"), 1, 4)
    assert ended.codes == [0], ended.errors[0][-3000:]
    return ended.out[0]


@pytest.mark.parametrize("name", ON_DEVICES)
def test_four_devices_give_the_answer_of_one(found, name):
    assert value(found, name) < 1e-5


def value(found, name):
    (line,) = [line for line in found.splitlines() if line.startswith(f"{name}: ")]
    return float(line.split(": ")[1])


def test_scores_are_summed_over_the_shards_of_the_data(found):
    assert value(found, "two axes, all rows") < 1e-5


def test_minibatches_of_shards_are_unbiased(found):
    """False alarm: 7e-6. A mutant that draws from one shard alone is rejected."""
    assert abs(value(found, "two axes, unbiased")) < 4.5
    assert abs(value(found, "two axes, one shard alone")) > 4.5


def test_no_device_gathers_all_particles(found):
    assert "no gathering" in found


def test_the_model_of_the_cost_knows_the_bytes_that_the_program_sends(found, monkeypatch):
    """The program also sums a few numbers: the median's distances, norms and means."""
    few = spos.theory.cost(64, 600, 4, bytes_per_second=1.0, flops=1.0)
    beside = 4 * (bandwidth.pairs(64)[0].size + 64 + 2 * 600)  # the mean also for what is reported
    assert few.bytes_sent + beside == pytest.approx(value(found, "bytes of few"), rel=0.01)
    monkeypatch.setattr(pairwise, "DENSE_PARTICLES", 100)  # as in the program
    model = spos.theory.cost(128, 6, 4, bytes_per_second=1.0, flops=1.0)
    beside = 4 * bandwidth.pairs(128)[0].size
    assert model.bytes_sent + beside == pytest.approx(value(found, "bytes of rbf"), rel=0.05)


def test_no_matrix_has_a_row_for_each_pair_of_wide_particles(found):
    """A device has 16 of 64 particles, which make 2016 pairs. With twenty networks such a matrix
    took ten times as long as their scores."""
    assert value(found, "most rows of few") <= 32


def test_particles_that_do_not_divide_are_named():
    class Three:
        shape = {"particles": 3}

    with pytest.raises(ValueError, match=r"among the 3 devices, got 4 .* take 3 or 6"):
        spos.mesh._must_divide(jnp.ones((4, 2)), Three())


def test_num_data_shards_must_divide_the_devices():
    with pytest.raises(ValueError, match="num_data_shards must divide the 1 devices"):
        particle_mesh(num_data_shards=2)


def test_one_device_is_a_mesh_too():
    start = jax.random.normal(jax.random.key(0), (6, 2))
    sampler = spos.svgd(lambda x: -jnp.sum(x**2), 0.1)
    there = spos.sample(sampler, shard(start, particle_mesh()), 5).particles
    assert jnp.array_equal(there, spos.sample(sampler, start, 5).particles)


def test_starts_can_be_made_where_they_live():
    made = shard(lambda: jax.random.normal(jax.random.key(0), (6, 2)), particle_mesh())
    assert jnp.allclose(made, jax.random.normal(jax.random.key(0), (6, 2)))


@pytest.mark.parametrize(("block", "count"), [(3, 4), (100, 3)])
def test_every_pair_of_the_median_is_compared_once(block, count):
    plan = ring._plan(block, count)
    mine, theirs, slot = plan.pairs
    first, second = bandwidth.pairs(block * count)
    seen = np.zeros(plan.total, int)
    for p in range(count):
        for q in range(count):
            real = slot[p, q] < plan.total
            n = slot[p, q][real]
            seen[n] += 1
            assert np.array_equal(mine[p, q][real] + p * block, first[n])
            assert np.array_equal(plan.chosen[q][theirs[p, q][real]] + q * block, second[n])
    assert (seen == 1).all()
