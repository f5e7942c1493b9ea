"""N(0, I) in growing dimension, M = 50, median rule: SVGD loses its variance, SPOS keeps it.

The number is the mean of θ² over parameters, particles, repeats and the second half of the run,
which is 1 under the target. Bands: 10 % for SVGD, which is deterministic but for its start, and
0.06 for SPOS, more than five standard errors in every case.
"""

import jax
import jax.numpy as jnp
import pytest

import spos

M = 50


def log_normal(theta):
    return -0.5 * jnp.sum(theta**2)


def second_moment(sampler, dimension, steps, repeats):
    def one(key):
        start_key, run_key = jax.random.split(key)
        start = jax.random.normal(start_key, (M, dimension))
        _, seen = spos.run(
            sampler,
            run_key,
            start,
            steps,
            observe=lambda state, info: jnp.mean(state.particles**2),
        )
        return jnp.mean(seen[steps // 2 :])

    keys = jax.random.split(jax.random.key(7), repeats)
    return float(jnp.mean(jax.jit(jax.vmap(one))(keys)))


@pytest.mark.parametrize(("dimension", "left"), [(2, 0.87), (20, 0.18), (100, 0.039)])
def test_svgd_collapses_as_the_dimension_grows(dimension, left):
    found = second_moment(spos.svgd(log_normal, 1.0), dimension, steps=800, repeats=2)
    assert found == pytest.approx(left, rel=0.1)


@pytest.mark.parametrize(
    ("beta", "dimension", "kept", "steps"),
    [
        (1.0, 2, 1.01, 1500),
        (1.0, 20, 1.00, 800),
        (1.0, 100, 1.00, 600),
        (10.0, 2, 0.90, 3000),
        (10.0, 20, 0.85, 1500),
        (10.0, 100, 0.84, 1200),
    ],
)
def test_spos_keeps_its_variance_in_every_dimension(beta, dimension, kept, steps):
    sampler = spos.spos(log_normal, 0.03, beta)
    repeats = 16 if dimension == 2 else 3
    assert second_moment(sampler, dimension, steps, repeats) == pytest.approx(kept, abs=0.06)
