"""The Stein direction against a double loop in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.interaction import pairwise
from spos.interaction.stein_direction import stein
from standard_errors import disagreement

KEY = jax.random.key(0)
FORMULAS = {
    "rbf": lambda x, y, eta2: jnp.exp(-jnp.sum((x - y) ** 2) / eta2),
    "imq": lambda x, y, eta2: (1.0 + jnp.sum((x - y) ** 2) / eta2) ** -0.5,
}
KERNELS = {"rbf": spos.rbf, "imq": spos.imq}


def naive(formula, x, s, eta2):
    """(1/M) Σ_j [k_ij s_j + ∇_j k_ij], the gradient by automatic differentiation."""
    with jax.enable_x64(True):
        x, s = np.asarray(x, np.float64), np.asarray(s, np.float64)
        value_and_push = jax.jit(jax.value_and_grad(lambda y, x: formula(x, y, eta2)))
        total = np.zeros_like(x)
        for i in range(len(x)):
            for j in range(len(x)):
                k, push = value_and_push(x[j], x[i])
                total[i] += np.asarray(k) * s[j] + np.asarray(push)
    return total / len(x)


def state_at(particles, step=0, bandwidth=np.nan):
    return spos.State(particles, jnp.asarray(step), jnp.asarray(bandwidth, jnp.float32), ())


def cloud(mean=0.0, shape=(9, 4), seed=1):
    rng = np.random.default_rng(seed)
    x, s = mean + rng.normal(size=shape), rng.normal(size=shape)
    return jnp.asarray(x, jnp.float32), jnp.asarray(s, jnp.float32)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("mean", [0.0, 1e3])
def test_the_direction_is_the_double_sum(name, mean):
    x, s = cloud(mean)
    found, eta2 = stein(KERNELS[name](2.5), KEY, state_at(x), s)
    assert float(eta2) == 2.5
    np.testing.assert_allclose(found, naive(FORMULAS[name], x, s, 2.5), atol=2e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_pytrees_move_as_one_vector_each(name):
    x, s = cloud(shape=(7, 5))

    def tree(rows):
        return [{"w": rows[:, :4].reshape(7, 2, 2)}, rows[:, 4]]

    found, eta2 = stein(KERNELS[name](), KEY, state_at(tree(x)), tree(s))
    flat = np.concatenate([found[0]["w"].reshape(7, 4), found[1][:, None]], axis=1)
    np.testing.assert_allclose(flat, naive(FORMULAS[name], x, s, float(eta2)), atol=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_the_median_rule_sets_the_bandwidth(name):
    x, s = cloud(shape=(8, 3))
    i, j = np.triu_indices(8, k=1)
    expected = np.median(np.linalg.norm(x[i] - x[j], axis=1)) ** 2 / np.log(8)
    _, eta2 = stein(KERNELS[name](), KEY, state_at(x), s)
    assert float(eta2) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_without_scores_particles_are_pushed_apart(name):
    x = np.float32([[-1.0], [1.0]])
    push, _ = stein(KERNELS[name](1.0), KEY, state_at(x), np.zeros_like(x))
    assert push[0, 0] < 0 < push[1, 0]
    assert float(push[0, 0] + push[1, 0]) == pytest.approx(0.0, abs=1e-7)


def test_a_particle_alone_follows_its_score():
    x, s = cloud(shape=(1, 3))
    found, _ = stein(spos.rbf(), KEY, state_at(x), s)
    np.testing.assert_allclose(found, s, rtol=1e-6)


def test_the_bandwidth_stays_between_refreshes():
    sampler = spos.svgd(
        lambda theta: -0.5 * jnp.sum(theta**2), 0.3, kernel=spos.rbf(refresh_every=4)
    )
    info = jax.jit(lambda x: spos.run(sampler, KEY, x, 12)[1])(cloud(shape=(10, 2))[0] * 3)
    blocks = np.asarray(info.bandwidth).reshape(3, 4)
    assert (blocks == blocks[:, :1]).all()
    assert len(set(blocks[:, 0].tolist())) == 3


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dimension", [2, 9])
def test_tiles_give_the_direction_of_the_whole_matrix(name, dimension, monkeypatch):
    x, s = cloud(shape=(37, dimension))
    dense, dense_eta2 = stein(KERNELS[name](), KEY, state_at(x), s)
    monkeypatch.setattr(pairwise, "DENSE_PARTICLES", 10)
    monkeypatch.setattr(pairwise, "TILE_ENTRIES", 37 * 5)
    tiled, tiled_eta2 = stein(KERNELS[name](), KEY, state_at(x), s)
    np.testing.assert_allclose(tiled, dense, atol=1e-5)
    np.testing.assert_allclose(tiled_eta2, dense_eta2, rtol=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_random_groups_are_unbiased(name):
    x, s = cloud(shape=(11, 2))  # groups of 3 and 4
    dense, _ = stein(KERNELS[name](2.0), KEY, state_at(x), s)
    kernel = KERNELS[name](2.0)
    keys = jax.random.split(KEY, 4000)
    found = jax.jit(jax.vmap(lambda key: stein(kernel, key, state_at(x), s, group_size=3)[0]))(keys)
    assert disagreement(found, dense) <= 1
