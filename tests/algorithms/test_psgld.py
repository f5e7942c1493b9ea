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
