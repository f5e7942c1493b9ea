"""The exponential of the RBF kernel: a float's worth of digits, its derivative, and its ends."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from spos.interaction import exponential
from spos.interaction.exponential import exp_minus

RELATIVE = 3e-7  # beside the rounding of x log₂ e, which grows with x
X = np.linspace(0.0, 87.0, 200_001, dtype=np.float32)


@pytest.fixture(autouse=True)
def _of_few_numbers_too(monkeypatch):
    monkeypatch.setattr(exponential, "MANY", 0)


def error(found):
    exact = np.exp(-X.astype(np.float64))
    return np.abs(np.asarray(found, np.float64) / exact - 1.0) / (1.0 + X / 4.0)


def test_it_is_the_exponential_to_the_rounding_of_floats(monkeypatch):
    assert error(jax.jit(exp_minus)(X)).max() < RELATIVE
    spoilt = (*exponential.POLYNOMIAL[:-2], 0.6931, 1.0)
    monkeypatch.setattr(exponential, "POLYNOMIAL", spoilt)
    assert error(exponential._by_bits(jnp.asarray(X))).max() > 10 * RELATIVE


def test_a_particle_has_the_kernel_one_with_itself_and_never_more():
    assert float(exp_minus(jnp.float32(0.0))) == 1.0
    tiny = jnp.geomspace(1e-30, 1.0, 10_001, dtype=jnp.float32)
    assert float(jnp.max(exp_minus(tiny))) <= 1.0


def test_what_is_too_far_away_does_not_count_and_what_is_no_number_stays_none():
    found = np.asarray(exp_minus(jnp.array([88.0, 1e30, np.inf, np.nan], jnp.float32)))
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.0, np.nan])


def test_it_can_be_differentiated_again_and_again():
    x = jnp.array([0.0, 0.3, 2.0, 40.0], jnp.float32)
    one = jax.vmap(jax.grad(exp_minus))
    two = jax.vmap(jax.grad(jax.grad(exp_minus)))
    np.testing.assert_allclose(one(x), -np.exp(-x), rtol=1e-5)
    np.testing.assert_allclose(two(x), np.exp(-x), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(lambda x: exp_minus(x) * exp_minus(x))(0.5), -2 / np.e)


def test_other_floats_take_the_exponential_of_jax():
    with jax.enable_x64(True):
        x = jnp.linspace(0.0, 700.0, 1001, dtype=jnp.float64)
        np.testing.assert_array_equal(exp_minus(x), jnp.exp(-x))
    half = jnp.linspace(0.0, 5.0, 11, dtype=jnp.bfloat16)
    assert exp_minus(half).dtype == jnp.bfloat16


def test_few_numbers_take_the_exponential_of_jax(monkeypatch):
    few = jnp.linspace(0.0, 5.0, 11, dtype=jnp.float32)
    monkeypatch.setattr(exponential, "MANY", few.size)
    assert "platform_index" in str(jax.make_jaxpr(lambda x: exp_minus(x) + 0)(few))
    monkeypatch.setattr(exponential, "MANY", few.size + 1)
    assert "platform_index" not in str(jax.make_jaxpr(lambda x: exp_minus(x) + 1)(few))
