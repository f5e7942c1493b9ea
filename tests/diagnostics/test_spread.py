"""Distances in a cloud, against a double loop and against clouds that are easy to see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.diagnostics import spread
from spos.interaction import pairwise


def by_hand(x, eta2):
    sq = ((x[:, None] - x[None]) ** 2).sum(-1)
    k = np.exp(-sq / eta2)
    away = np.sqrt(np.where(np.eye(len(x)), np.inf, sq).min(1))
    return np.sqrt(sq.sum()), away, np.mean(1 - np.diag(k) / k.sum(1))


@pytest.mark.parametrize("shape", [(30, 2), (30, 12)])
@pytest.mark.parametrize("tiled", [False, True])
def test_it_is_the_double_sum(shape, tiled, monkeypatch):
    if tiled:
        monkeypatch.setattr(pairwise, "DENSE_PARTICLES", 4)
        monkeypatch.setattr(pairwise, "TILE_ROWS", 7)
    x = 5.0 + np.random.default_rng(shape[1]).normal(size=shape)
    found = spread(x, spos.rbf(3.0))
    epd, nearest, weight = by_hand(x, 3.0)
    assert found.epd == pytest.approx(epd, rel=1e-5)
    assert found.distance == pytest.approx(epd / 30, rel=1e-5)
    assert found.kernel_weight == pytest.approx(weight, rel=1e-4)
    quantiles = np.quantile(nearest, list(found.nearest))
    np.testing.assert_allclose(list(found.nearest.values()), quantiles, rtol=1e-4)


def test_a_pytree_is_its_flat_matrix():
    x = jax.random.normal(jax.random.key(0), (9, 5))
    tree = {"w": x[:, :4].reshape(9, 2, 2), "z": x[:, 4]}
    assert spread(tree, spos.rbf(2.0)) == spread(x, spos.rbf(2.0))


def test_the_bandwidth_is_that_of_a_sampler():
    x = jax.random.normal(jax.random.key(1), (20, 3))
    kernel = spos.imq()
    sampler = spos.svgd(lambda theta: -jnp.sum(theta**2), 0.1, kernel=kernel)
    _, info = sampler.step(jax.random.key(0), sampler.init(x))
    assert spread(x, kernel).bandwidth == pytest.approx(float(info.bandwidth), rel=1e-6)


def test_copies_and_strangers_are_told_apart():
    x = jax.random.normal(jax.random.key(2), (20, 3))
    apart = spread(x, spos.rbf(1e-3))
    assert apart.kernel_weight < 0.01
    assert apart.nearest[0.0] > 0.05
    crowd = spread(1e-3 * x, spos.rbf(1.0))
    assert crowd.kernel_weight == pytest.approx(0.95, abs=1e-3)
    assert spread(jnp.concatenate([x, x]), spos.rbf(1.0)).nearest[1.0] == 0.0
    assert "kernel weight of the others 95.0%" in str(crowd)
    assert "20 particles in 3 dimensions" in str(crowd)


@pytest.mark.parametrize(
    ("particles", "kernel", "kind", "complaint"),
    [
        (np.ones((1, 2)), spos.rbf(), ValueError, "particles must hold at least 2.*got 1"),
        (np.ones((0, 2)), spos.rbf(), ValueError, r"particles must be an array.*\(0, 2\)"),
        (np.float32(1), spos.rbf(), ValueError, r"particles must be an array"),
        ({}, spos.rbf(), ValueError, r"particles must be an array.*\{\}"),
        (
            {"a": np.ones((2, 1)), "b": np.ones((3, 1))},
            spos.rbf(),
            ValueError,
            "particles must share one leading axis",
        ),
        (np.ones((3, 1), complex), spos.rbf(), TypeError, "particles must be real.*complex"),
        (
            {"w": np.array([[0.0, 1.0], [2.0, np.nan]])},
            spos.rbf(),
            ValueError,
            r"particles must be finite, got nan in particle 1, parameter w\[1\]",
        ),
        (np.ones((3, 2)), "rbf", TypeError, r"kernel must be spos\.rbf.*'rbf'"),
        (np.ones((3, 2)), spos.rbf(blocks="leaf"), ValueError, "kernel must not have blocks"),
    ],
)
def test_bad_input_is_named(particles, kernel, kind, complaint):
    with pytest.raises(kind, match=complaint):
        spread(particles, kernel)
