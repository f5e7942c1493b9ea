"""Preconditioned Langevin chains: SGLD's own code, and the bias that its docstring admits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos


def log_normal(theta):
    return -0.5 * jnp.sum(theta**2)


def test_it_is_sgld_with_that_preconditioner_bit_for_bit():
    start = jax.random.normal(jax.random.key(0), (5, 3))
    scale = jnp.array([1.0, 10.0, 100.0])
    ends = [
        spos.run(sampler, jax.random.key(1), start, 30)[0].particles
        for sampler in (
            spos.psgld(lambda t: log_normal(scale * t), 0.01),
            spos.sgld(lambda t: log_normal(scale * t), 0.01, preconditioner=spos.rmsprop(0.99)),
        )
    ]
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize(("decay", "variance"), [(0.0, 1.615), (0.9999, 1.0)])
def test_the_memory_of_the_preconditioner_decides_the_law(decay, variance):
    """Both limits are stated in the module: without memory the density is ∝ (ε + |θ|) exp(-θ²/2),
    and ∫ θ² of that at ε = 1/2 is (sqrt(2π)/2 + 4) / (sqrt(2π)/2 + 2). They hold as h → 0; the band
    of 4 % leaves room for the step and four standard errors of 1 % or less."""
    sampler = spos.psgld(log_normal, 0.02, preconditioner=spos.rmsprop(decay, 0.5))
    start = jax.random.normal(jax.random.key(2), (1000, 1))
    squares = jax.jit(
        lambda: spos.run(
            sampler,
            jax.random.key(3),
            start,
            2500,
            observe=lambda state, info: jnp.mean(state.particles**2),
        )[1]
    )()
    found = np.asarray(squares)[700:].reshape(6, -1).mean(axis=1)
    assert found.std(ddof=1) / np.sqrt(6) < 0.01 * variance
    assert found.mean() == pytest.approx(variance, rel=0.04)


def test_no_particle_is_thrown_out_by_its_first_steps():
    """A particle whose first score happens to be small is not given a step of its own for it.

    1000 particles of N(0, I) in 20 dimensions have first scores down to 1e-4 or so. With a step of
    .03 the noise of the first step has a deviation of .25, and in 20 steps a particle walks about
    1.1: six of these are the bound. From V = 0 the farthest coordinate ends beyond 50.
    """
    start = jax.random.normal(jax.random.key(4), (1000, 20))
    for decay in (0.9, 0.99):
        sampler = spos.psgld(log_normal, 0.03, preconditioner=spos.rmsprop(decay))
        state, _ = spos.run(sampler, jax.random.key(5), start, 20)
        assert np.abs(state.particles - start).max() < 7.0
