"""Kernels by blocks: the direction, what it saves in many dimensions, and what it does not see."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.interaction import pairwise
from spos.interaction.diffusion import correlate
from spos.interaction.stein_direction import stein
from spos.targets.analytic import gaussian

KEY = jax.random.key(0)


def state_at(particles):
    return spos.State(particles, jnp.asarray(0), jnp.asarray(np.nan, jnp.float32), ())


@functools.partial(jax.jit, static_argnames=("group_size",))
def direction(kernel, state, scores, group_size=None):
    return stein(kernel, KEY, state, scores, group_size)


def normal(shape, seed):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def end_of(log_prob, kernel, start, steps, h):
    sampler = spos.svgd(log_prob, h, kernel=kernel)
    return np.asarray(jax.jit(lambda x: spos.run(sampler, KEY, x, steps)[0].particles)(start))


@pytest.mark.parametrize("make", [spos.rbf, spos.imq])
@pytest.mark.parametrize("group_size", [None, 4])
def test_each_leaf_moves_as_if_it_were_alone(make, group_size):
    tree = {"a": normal((9, 3), 1), "b": normal((9, 2, 2), 2) * 5}
    scores = {"a": normal((9, 3), 3), "b": normal((9, 2, 2), 4)}
    together, eta2 = direction(make(blocks="leaf"), state_at(tree), scores, group_size)
    widths = []
    for name, leaf in tree.items():
        alone, width = direction(make(), state_at(leaf), scores[name], group_size)
        np.testing.assert_allclose(together[name], alone, rtol=1e-5, atol=1e-6)
        widths.append(width)
    np.testing.assert_allclose(eta2, np.sqrt(widths[0] * widths[1]), rtol=1e-5)


@pytest.mark.parametrize("at_once", [3, 100])
def test_each_entry_moves_as_if_it_were_alone(at_once, monkeypatch):
    monkeypatch.setattr(pairwise, "BLOCK_ENTRIES", 81 * at_once)
    x, s = normal((9, 5), 1) * jnp.arange(1.0, 6.0), normal((9, 5), 2)
    together, eta2 = direction(spos.rbf(blocks="entry"), state_at(x), s)
    single = functools.partial(direction, spos.rbf())
    alone = [single(state_at(x[:, n : n + 1]), s[:, n : n + 1]) for n in range(5)]
    np.testing.assert_allclose(together, np.hstack([a for a, _ in alone]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(eta2, np.exp(np.mean(np.log([w for _, w in alone]))), rtol=1e-5)


def test_the_noise_of_a_block_has_the_kernel_of_the_block():
    x, xi = normal((7, 3), 1), normal((7, 3), 2)
    together = jax.jit(correlate)(spos.rbf(1.5, blocks="entry"), x, xi)
    single = functools.partial(jax.jit(correlate), spos.rbf(1.5))
    for n in range(3):
        alone = single(x[:, n : n + 1], xi[:, n : n + 1])
        np.testing.assert_allclose(together[:, n : n + 1], alone, rtol=1e-4, atol=1e-5)


def test_entries_keep_the_variance_of_many_dimensions_and_one_kernel_does_not():
    """SVGD on N(0, I_100) with 50 particles, from draws of the target."""

    def log_prob(theta):
        return -0.5 * jnp.sum(theta**2)

    start = normal((50, 100), 0)
    plain = np.mean(end_of(log_prob, spos.rbf(), start, 300, 1.0) ** 2)
    entry = np.var(end_of(log_prob, spos.rbf(blocks="entry"), start, 100, 0.3), axis=0)
    print(f"plain {plain:.3f}, entry mean {entry.mean():.3f} worst {entry.min():.3f}")
    assert 0.03 < plain < 0.05
    assert 0.85 < entry.mean() < 1.0
    assert entry.min() > 0.8
    assert entry.max() < 1.05


def test_the_scalar_product_of_kernels_sees_nobody():
    """Π_b k_b is the plain kernel of coordinates over their bandwidths, with η² = 1."""
    x = normal((50, 100), 0)
    i, j = np.triu_indices(50, k=1)
    width = np.median(np.abs(x[i] - x[j]), axis=0) / np.sqrt(np.log(50))
    product = jnp.exp(-jnp.sum((x[i] - x[j]) ** 2 / width**2, axis=1))
    assert float(product.max()) == 0.0  # below 1e-45
    scaled = end_of(
        lambda theta: -0.5 * jnp.sum((width * theta) ** 2), spos.rbf(1.0), x / width, 300, 10.0
    )
    assert np.mean((scaled * width) ** 2) < 0.02


def test_entries_do_not_see_correlation():
    """Two coordinates with correlation .9: the end depends on the start, as the docstring says."""
    covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    log_prob = gaussian(np.zeros(2), covariance)
    z = normal((100, 2), 0)
    found = {}
    for kernel in (spos.rbf(), spos.rbf(blocks="entry")):
        for start in (z, z @ jnp.asarray(np.linalg.cholesky(covariance).T, jnp.float32)):
            end = end_of(log_prob, kernel, start, 1500, 0.1)
            found.setdefault(kernel.blocks, []).append(np.cov(end.T, bias=True))
    print({blocks: np.round(ends, 2).tolist() for blocks, ends in found.items()})
    for end in found[None]:
        np.testing.assert_allclose(end, covariance, atol=0.12)
    apart, along = found["entry"]
    assert apart[0, 0] < 0.4
    assert apart[0, 1] / apart[0, 0] < 0.5
    assert along[0, 0] > 0.9
