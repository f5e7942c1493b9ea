"""Adam as a preconditioner: optax's path without noise, a known law with it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import spos
from spos.dynamics.moves import standard_normal

CURVATURE = 25.0  # of the Gaussian: its variance is 0.04
STEP, MOMENTUM = 2e-3, 0.9


def log_prob(theta):
    return -0.5 * CURVATURE * jnp.sum(theta**2)


def test_without_noise_it_is_the_adam_of_optax_but_for_a_step_before_the_first():
    """Optax's own Adam, whose second moment has seen the mean of all particles' first squares."""
    start = jax.random.normal(jax.random.key(0), (5, 3))
    sampler = spos.svgd(log_prob, 0.05, preconditioner=spos.adam())
    found = spos.run(sampler, jax.random.key(1), start, 40)[0].particles

    theirs, drift = optax.adam(0.05), jax.jit(lambda x: _drift(sampler, x))
    memory, x = theirs.init(start), start
    for n in range(40):
        v = drift(x)
        if n == 0:
            mean = jnp.broadcast_to((v**2).mean(0), v.shape)
            (own, *rest) = memory
            memory = (own._replace(nu=(1 - 0.999) * mean), *rest)
        # optax corrects the second moment for n steps, here it has seen n + 1
        factor = (1 - 0.999 ** (n + 2)) / (1 - 0.999 ** (n + 1))
        move, memory = theirs.update(-v, memory)
        x = x + move * factor**0.5
    assert np.abs(found - start).min() > 0.01
    np.testing.assert_allclose(found, x, rtol=1e-4, atol=1e-5)


def _drift(sampler, particles):
    state = sampler.init(particles)
    return sampler.drift(jax.random.key(0), state, sampler.target.score(particles)).direction


def test_no_particle_is_thrown_out_by_its_first_steps():
    """As `rmsprop` in `test_psgld.py`, where the bound is explained. A particle whose first score
    happens to be small would otherwise get a step of its own for it, and end beyond 20."""
    start = jax.random.normal(jax.random.key(4), (1000, 20))
    sampler = spos.sgld(lambda x: -0.5 * jnp.sum(x**2), 0.03, preconditioner=spos.adam())
    state, _ = spos.run(sampler, jax.random.key(5), start, 20)
    assert np.abs(state.particles - start).max() < 7.0


def expected_variance(momentum):
    """Of x with m ← μ m + (1 - μ) c x and x ← x - h P m + sqrt(2 h P) ξ, where P = 1/(c sd(x)).

    Were m = c x, it would be 1/c but for h: the lag of the running mean adds to it.
    """
    variance = 1 / CURVATURE
    for _ in range(50):
        rate = STEP / (CURVATURE * variance**0.5)
        now = (1 - momentum) * CURVATURE
        move = np.asarray([[1 - rate * now, -rate * momentum], [now, momentum]])
        noise = np.zeros(4)
        noise[0] = 2 * rate
        variance = np.linalg.solve(np.eye(4) - np.kron(move, move), noise)[0]
    return variance


def measured():
    """600 independent chains; the last 2000 of 3000 steps, each chain 20 relaxation times long. The
    mean has a standard error of about 1 %."""
    sampler = spos.sgld(log_prob, STEP, preconditioner=spos.adam(MOMENTUM, decay=0.9999))
    start = jax.random.normal(jax.random.key(0), (600, 1)) / CURVATURE**0.5
    _, squares = spos.run(
        sampler,
        jax.random.key(2),
        start,
        3000,
        observe=lambda state, info: jnp.mean(state.particles**2),
    )
    return float(jnp.mean(squares[1000:]))


def test_with_noise_a_gaussian_has_the_variance_of_the_linear_recursion():
    """Within 5 %: chance, and the fluctuations of P, which the recursion does not know."""
    found = measured()
    assert found == pytest.approx(expected_variance(MOMENTUM), rel=0.05)
    assert 1.0 < found * CURVATURE < 1.2


def test_noise_that_ignores_the_preconditioner_is_rejected(monkeypatch):
    """P is about 1/5 here, so that noise without its root is sqrt(5) times as strong."""
    strong = lambda key, like: 5.0**0.5 * standard_normal(key, like)  # noqa: E731
    monkeypatch.setattr("spos.dynamics.moves.standard_normal", strong)
    assert measured() > 2 * expected_variance(MOMENTUM)
