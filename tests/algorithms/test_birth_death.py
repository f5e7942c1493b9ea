"""Births and deaths weigh two modes that no particle crosses between, and leave one mode as it is.

Numbers are means over 8 replicas and the last quarter of their paths, with a standard error of
about 0.01; what is allowed on top is the bias of 100 particles.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.algorithms.birth_death import crowding, successors

M, SIZE, STEPS, REPLICAS, H = 100, 2, 1000, 8, 0.05
SIDE = jnp.where(jnp.arange(M) % 2 == 0, 1.0, -1.0)[:, None]


def two_modes(theta):
    """Weights .8 and .2, twelve standard deviations apart in both directions."""
    return jnp.logaddexp(
        jnp.log(0.8) - 0.5 * jnp.sum((theta - 6.0) ** 2),
        jnp.log(0.2) - 0.5 * jnp.sum((theta + 6.0) ** 2),
    )


def normal(theta):
    return -0.5 * jnp.sum(theta**2)


def averaged(sampler, apart, see):
    """`see` of the particles over the last quarter of the replicas' paths, from half and half."""

    def one(key):
        start = apart * SIDE + jax.random.normal(key, (M, SIZE))
        observed = spos.run(sampler, key, start, STEPS, observe=lambda s, _: see(s.particles))[1]
        return jnp.mean(observed[-STEPS // 4 :])

    keys = jax.random.split(jax.random.key(1), REPLICAS)
    return float(jax.jit(lambda keys: jax.lax.map(one, keys))(keys).mean())


def share(sampler):
    return averaged(sampler, 6.0, lambda particles: jnp.mean(particles[:, 0] > 0))


def test_two_modes_get_their_weights():
    assert share(spos.birth_death(spos.sgld(two_modes, H))) == pytest.approx(0.8, abs=0.04)


def test_without_it_they_stay_half_and_half():
    assert share(spos.sgld(two_modes, H)) == 0.5


def test_one_gaussian_stays_as_it_is():
    """The variance of Langevin steps is 1/(1 - h/2)."""
    found = averaged(spos.birth_death(spos.sgld(normal, H)), 0.0, lambda p: jnp.mean(p**2))
    assert found == pytest.approx(1.0 / (1.0 - H / 2.0), abs=0.05)


def test_the_density_of_the_particles_is_known_up_to_a_constant():
    """Three of four particles in one of two modes of one shape, in log units."""
    many = jnp.arange(400) < 300
    z = jnp.where(many, 30.0, 0.0)[:, None] + jax.random.normal(jax.random.key(0), (400, 2))
    found = np.asarray(crowding(z))
    gap = np.median(found[np.asarray(many)]) - np.median(found[~np.asarray(many)])
    assert gap == pytest.approx(np.log(3.0), abs=0.2)


def test_who_is_lost_is_replaced_and_who_is_wanted_is_doubled():
    luck = np.random.default_rng(0).random((3, 100))
    lost = np.where(np.arange(100) < 50, 50.0, -1e-9)
    place = successors(lost, luck, np)
    assert (place >= 50).all()
    assert (place[50:] == np.arange(50, 100)).all()
    wanted = np.where(np.arange(100) == 7, -50.0, 0.0)
    place = successors(wanted, luck, np)
    assert (place == 7).sum() == 2
    assert (successors(np.zeros(100), luck, np) == np.arange(100)).all()
    np.testing.assert_array_equal(successors(jnp.asarray(lost), luck), successors(lost, luck, np))


def test_a_copy_takes_its_memory_along():
    sampler = spos.birth_death(spos.psgld(two_modes, 0.01), every=1, rate=50.0)
    start = 6.0 * SIDE + jax.random.normal(jax.random.key(0), (M, SIZE))
    state, _ = jax.jit(sampler.step)(jax.random.key(1), sampler.init(start))
    _, first, inverse = np.unique(
        np.asarray(state.particles[:, 0]), return_index=True, return_inverse=True
    )
    assert len(first) < M
    for leaf in jax.tree.leaves(state.memory.square):
        np.testing.assert_array_equal(np.asarray(leaf), np.asarray(leaf)[first][inverse])


def test_a_run_of_named_parameters_goes_on_from_its_checkpoint(tmp_path):
    """In the same bits, and along the path of the flat matrix."""

    def named(theta):
        return two_modes(jnp.stack([theta["a"], theta["b"]]))

    start = 6.0 * SIDE + jax.random.normal(jax.random.key(0), (M, SIZE))
    tree = {"a": start[:, 0], "b": start[:, 1]}
    sampler = spos.birth_death(spos.sgld(named, H), every=3, rate=2.0)
    spos.sample(sampler, tree, 7, checkpoint=tmp_path, progress=False)
    resumed = spos.sample(sampler, tree, 20, checkpoint=tmp_path, progress=False).particles
    whole = spos.sample(sampler, tree, 20, progress=False).particles
    np.testing.assert_array_equal(resumed["a"], whole["a"])
    flat = spos.birth_death(spos.sgld(two_modes, H), every=3, rate=2.0)
    path = spos.sample(flat, start, 20, progress=False).particles
    np.testing.assert_allclose(path[:, 1], whole["b"], atol=1e-4)
