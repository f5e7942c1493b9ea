"""Step sizes and batch sizes by step number."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from spos.dynamics import schedules

K = np.arange(50)


@pytest.mark.parametrize(
    ("schedule", "formula"),
    [
        (schedules.constant(0.3), 0.3 + 0 * K),
        (schedules.inverse(0.3), 0.3 / (K + 1)),
        (schedules.polynomial(0.3, 4.0, 0.7), 0.3 * (1 + K / 4.0) ** -0.7),
        (schedules.polynomial(0.3), 0.3 * (1 + K) ** -0.55),
    ],
    ids=["constant", "inverse", "polynomial", "polynomial by default"],
)
def test_schedules_are_their_formulas(schedule, formula):
    np.testing.assert_allclose(schedule(jnp.asarray(K)), formula, rtol=1e-6)


def test_a_number_becomes_a_schedule_and_a_function_stays_one():
    assert schedules.as_schedule("step_size", 0.2)(17) == 0.2
    cosine = optax.cosine_decay_schedule(0.1, 100)
    assert schedules.as_schedule("step_size", cosine)(50) == cosine(50)


def test_the_cosine_is_that_of_optax():
    ours, theirs = schedules.cosine(0.1, 100, 0.2), optax.cosine_decay_schedule(0.1, 100, 0.2)
    for k in (0, 1, 50, 99, 100, 500):
        assert float(ours(k)) == pytest.approx(float(theirs(k)), rel=1e-6)


def test_a_cyclic_step_is_a_cosine_that_begins_anew():
    cyclic, cosine = schedules.cyclic(0.1, 20, 0.2), schedules.cosine(0.1, 20, 0.2)
    np.testing.assert_array_equal(cyclic(jnp.asarray(K)), cosine(jnp.asarray(K % 20)))
    assert float(cyclic(19)) < 0.03
    assert float(cyclic(20)) == pytest.approx(0.1)


@pytest.mark.parametrize("initial", [1, 20])
def test_the_growing_batch_grows_by_a_power_of_the_logarithm(initial):
    batch = schedules.growing_batch(initial)
    steps = np.array([0, 1, 2, 10, 1000, 10**6])
    expected = initial + np.floor(np.log(steps + 1.0) ** (100 / 99))
    np.testing.assert_array_equal(batch.size(jnp.asarray(steps)), expected)
    assert batch.maximum >= int(batch.size(jnp.asarray(10**8)))


def test_the_growing_batch_stops_at_its_maximum():
    batch = schedules.growing_batch(4, maximum=6)
    np.testing.assert_array_equal(batch.size(jnp.array([0, 10, 10**6])), [4, 6, 6])
