"""Momentum: one step to the last term, and the law on a Gaussian, which is exact for every step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.dynamics.moves import standard_normal
from standard_errors import disagreement

X = np.float32([[1.0, -2.0], [0.5, 3.0]])
XI = np.float32([[1.0, 2.0], [-1.0, 0.5]])
CELLS = [(0.5, 0.4, 1.0), (1.0, 0.2, 1.2), (1.5, 1.0, 0.8)]  # step size, friction, precision


def test_a_step_is_a_kick_half_the_way_friction_and_the_other_half(monkeypatch):
    monkeypatch.setattr(
        "spos.dynamics.moves.standard_normal", lambda key, particles: jnp.asarray(XI)
    )
    schedule = spos.schedules.inverse(0.3)
    sampler = spos.sghmc(lambda theta: -0.5 * jnp.sum(theta**2), schedule, 0.25)
    state = sampler.init(X)
    np.testing.assert_array_equal(state.memory, np.zeros_like(X))
    x, v = X.astype(np.float64), np.zeros_like(X)
    for k in range(3):
        h = 0.3 / (k + 1)
        v = v - np.sqrt(2 * h) * x
        x = x + np.sqrt(h / 2) * v
        v = 0.75 * v + np.sqrt(1 - 0.75**2) * XI
        x = x + np.sqrt(h / 2) * v
        state, _ = sampler.step(jax.random.key(0), state)
    np.testing.assert_allclose(state.particles, x, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(state.memory, v, rtol=1e-5, atol=1e-5)


def moments(target_of, cells=CELLS, repeats=48, steps=1000):
    """Per repeat and cell: E θ², E v² and E θv over the last three quarters of a run at M = 2."""

    def one(key, cell):
        h, friction, precision = cell

        def seen(state, info):
            x, v = state.particles, state.memory
            return jnp.stack([jnp.mean(x * x), jnp.mean(v * v), jnp.mean(x * v)])

        sampler = spos.sghmc(target_of(precision), h, friction)
        start_key, run_key = jax.random.split(key)
        start = jax.random.normal(start_key, (2, 1)) / jnp.sqrt(precision)
        return spos.run(sampler, run_key, start, steps, observe=seen)[1][steps // 4 :].mean(0)

    keys = jax.random.split(jax.random.key(4), (repeats, len(cells)))
    runs = jax.jit(jax.vmap(jax.vmap(one), in_axes=(0, None)))
    return np.asarray(runs(keys, jnp.asarray(cells)))


def gaussian(precision):
    return lambda theta: -0.5 * precision * jnp.sum(theta**2)


def law():
    h, _, precision = np.transpose(CELLS)
    exact = np.stack([1 / precision, np.ones_like(h), np.sqrt(h / 2)], axis=-1)
    return disagreement(moments(gaussian), exact)


def test_on_a_gaussian_positions_and_velocities_have_their_exact_law():
    assert law() <= 1


def test_noise_in_the_scores_widens_the_cloud_as_stated():
    """Observations ±1, of which one is drawn: the score -2θ has noise of variance 4, shared by all
    particles of a step."""
    size, cells = 2, [(0.1, 0.3, 2.0), (0.3, 0.8, 2.0)]
    target = spos.posterior(
        lambda theta, batch: -0.5 * (batch - theta[0]) ** 2,
        lambda theta: 0.0,
        jnp.array([1.0, -1.0]),
        batch_size=1,
    )
    h, f, precision = np.transpose(cells)
    wider = h * size**2 * (2 - f) / (f * (2 - h * precision))
    found = moments(lambda precision: target, cells, steps=1000)[..., 0]
    assert disagreement(found, (1 + wider) / precision) <= 1
    assert disagreement(found, (1 + 1.5 * wider) / precision) > 1


@pytest.mark.parametrize(
    "noise",
    [lambda xi: 0.0 * xi, lambda xi: 1.1 * xi],
    ids=["missing", "a tenth too much"],
)
def test_the_law_rejects_wrong_friction_noise(noise, monkeypatch):
    monkeypatch.setattr(
        "spos.dynamics.moves.standard_normal", lambda key, x: noise(standard_normal(key, x))
    )
    assert not law() <= 1
