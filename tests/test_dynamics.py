"""One step with known noise, to the last term."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import spos

KEY = jax.random.key(0)
X = np.float32([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.1]])
XI = np.float32([[1.0, 2.0], [-1.0, 0.5], [3.0, -2.0]])
CURVATURE = np.float32([1.0, 4.0])


def log_prob(theta):
    return -0.5 * jnp.sum(CURVATURE * theta**2)


@pytest.fixture(autouse=True)
def known_noise(monkeypatch):
    monkeypatch.setattr(
        "spos.dynamics.moves.standard_normal", lambda key, particles: jnp.asarray(XI)
    )


def steps(sampler, count):
    state = sampler.init(X)
    for _ in range(count):
        state, info = sampler.step(KEY, state)
    return np.asarray(state.particles), info


@pytest.mark.parametrize("beta", [1.0, 4.0])
def test_drift_and_noise_are_weighed_by_one_over_beta(beta):
    h = 0.1
    expected = X - (h / beta) * CURVATURE * X + np.sqrt(2 * h / beta) * XI
    found, info = steps(spos.sgld(log_prob, h, beta), 1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert float(info.step_size) == pytest.approx(h)


@pytest.mark.parametrize(
    ("preconditioner", "keep", "add", "epsilon"),
    [(spos.rmsprop(0.8, 0.1), 0.8, 0.2, 0.1), (spos.adagrad(0.2), 1.0, 1.0, 0.2)],
    ids=["rmsprop", "adagrad"],
)
def test_preconditioners_scale_drift_by_p_and_noise_by_its_root(preconditioner, keep, add, epsilon):
    h, beta = 0.1, 2.0
    x, v = X.astype(np.float64), None
    for _ in range(3):
        drift = -CURVATURE * x / beta
        v = np.mean(drift**2, axis=0) if v is None else v  # all particles' first drifts
        v = keep * v + add * drift**2
        p = 1 / (epsilon + np.sqrt(v))
        x = x + h * p * drift + np.sqrt(2 * h * p / beta) * XI
    found, _ = steps(spos.sgld(log_prob, h, beta, preconditioner=preconditioner), 3)
    np.testing.assert_allclose(found, x, rtol=1e-5)


@pytest.mark.parametrize(
    "schedule", [spos.schedules.inverse(0.2), optax.exponential_decay(0.2, 1, 0.5)]
)
def test_drift_and_noise_follow_the_step_size_of_the_step(schedule):
    x = X
    for k in range(4):
        h = float(schedule(k))
        x = x - h * CURVATURE * x + np.sqrt(2 * h) * XI
    found, info = steps(spos.sgld(log_prob, schedule), 4)
    np.testing.assert_allclose(found, x, rtol=1e-5)
    assert float(info.step_size) == pytest.approx(float(schedule(3)))


def test_an_optimizer_climbs_along_the_stein_direction():
    by_hand, _ = steps(spos.svgd(log_prob, 0.1), 3)
    by_optax, info = steps(spos.svgd(log_prob, optimizer=optax.sgd(0.1)), 3)
    np.testing.assert_allclose(by_optax, by_hand, rtol=1e-5)
    assert np.isnan(info.step_size)


def test_an_optimizer_keeps_its_memory():
    with_momentum, _ = steps(spos.svgd(log_prob, optimizer=optax.sgd(0.1, momentum=0.9)), 3)
    without, _ = steps(spos.svgd(log_prob, optimizer=optax.sgd(0.1)), 3)
    assert np.abs(with_momentum - without).max() > 0.01


def test_the_info_is_what_it_says():
    _, info = steps(spos.sgld(log_prob, 0.1, 2.0), 1)
    scores = CURVATURE * X
    assert float(info.score_norm) == pytest.approx(np.sqrt(np.mean(np.sum(scores**2, 1))))
    assert float(info.drift_norm) == pytest.approx(float(info.score_norm) / 2)
    distances = np.sum((X[:, None] - X[None]) ** 2)
    assert float(info.epd) == pytest.approx(np.sqrt(distances), rel=1e-5)
    assert np.isnan(info.bandwidth)
