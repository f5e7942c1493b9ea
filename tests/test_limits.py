"""What SPOS becomes at the ends of its range."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos

START = {
    "w": jax.random.normal(jax.random.key(1), (30, 2, 2)),
    "b": jax.random.normal(jax.random.key(2), (30,)),
}


def log_prob(theta):
    return -0.5 * jnp.sum((theta["w"] - 1.0) ** 2) - jnp.cosh(theta["b"])


def end_of(sampler, steps=150, seed=4):
    return spos.sample(sampler, START, steps, seed=seed, progress=False).particles


def largest_difference(one, other):
    return max(
        float(jnp.max(jnp.abs(a - b)))
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": spos.imq(refresh_every=7), "preconditioner": spos.rmsprop()}],
    ids=["plain", "imq, rare refresh, rmsprop"],
)
def test_infinite_beta_is_svgd_bit_for_bit(options):
    one = end_of(spos.spos(log_prob, 0.02, math.inf, **options))
    other = end_of(spos.svgd(log_prob, 0.02, **options))
    jax.tree.map(np.testing.assert_array_equal, one, other)
    assert largest_difference(one, START) > 0.1  # it did go somewhere


@pytest.mark.parametrize(("beta", "preconditioner"), [(1.0, None), (7.0, spos.rmsprop())])
def test_no_kernel_is_sgld_bit_for_bit(beta, preconditioner):
    one = end_of(spos.spos(log_prob, 0.02, beta, kernel=None, preconditioner=preconditioner))
    other = end_of(spos.sgld(log_prob, 0.02, beta, preconditioner=preconditioner))
    jax.tree.map(np.testing.assert_array_equal, one, other)
    assert largest_difference(one, START) > 0.1


def test_huge_beta_is_close_to_svgd_and_moderate_beta_is_not():
    def ends(beta):
        sampler = spos.spos(log_prob, 0.02, beta)
        return spos.run(sampler, jax.random.key(4), START, 150)[0].particles

    both = jax.vmap(ends)(jnp.array([1e10, 1e4]))
    huge, moderate = (jax.tree.map(lambda leaf, n=n: leaf[n], both) for n in (0, 1))
    svgd = end_of(spos.svgd(log_prob, 0.02))
    # noise of size sqrt(2 · 150 · 0.02 / beta) and a drift of relative size 1/beta are left
    assert largest_difference(huge, svgd) < 2e-4
    assert largest_difference(moderate, svgd) > 5e-3
