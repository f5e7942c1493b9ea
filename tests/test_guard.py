"""A run that does not do what it is for says so: it stops, or warns once, with the reason."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.loop import sample as loop

START = jax.random.normal(jax.random.key(0), (6, 2))


def normal(theta):
    return -0.5 * jnp.sum(theta**2)


def sample(sampler, particles=START, num_steps=20, **options):
    return spos.sample(sampler, particles, num_steps, progress=False, **options)


@pytest.mark.parametrize("name", ["adam", "adagrad", "rmsprop"])
def test_a_drift_whose_square_overflows_stops_the_run(name):
    steep = spos.svgd(lambda x: 1e20 * jnp.sum(x), 0.1, preconditioner=getattr(spos, name)())
    with pytest.raises(spos.NonFiniteError, match=r"step 0: the drift.*square overflows.*x64") as e:
        sample(steep)
    np.testing.assert_array_equal(e.value.state.particles, START)
    assert e.value.result.num_steps == 0


def test_a_norm_that_overflows_is_told_once_where_the_particles_move():
    steep = spos.sgld(lambda x: 1e20 * jnp.sum(x), 1e-21)
    with pytest.warns(RuntimeWarning, match=r"step 0: drift_norm is too large for float32") as seen:
        result = sample(steep)
    assert len(seen) == 1
    assert result.num_steps == 20


def half_line(theta):
    """-inf below 0, with a gradient of -1 everywhere: nothing in the score tells."""
    return jnp.where(theta[0] > 0, 0.0, -jnp.inf) - jnp.sum(theta)


@pytest.mark.parametrize(
    ("log_prob", "value"),
    [(half_line, "-inf"), (lambda x: jnp.where(x[0] > 0, 0.0, jnp.nan) - jnp.sum(x), "nan")],
    ids=["-inf", "nan"],
)
def test_a_region_without_mass_is_named(log_prob, value):
    sampler = spos.sgld(log_prob, 0.05)
    expected = rf"step (8|20): log_prob is {value} at \d of 6 particles, first at particle \d"
    with pytest.warns(RuntimeWarning, match=expected) as seen:
        sample(sampler, 0.5 + jnp.abs(START))
    assert len(seen) == 1


def test_the_look_at_log_densities_comes_ever_more_rarely_and_at_the_end(monkeypatch):
    monkeypatch.setattr(loop, "CHUNK_STEPS", 1)
    asked = []
    advance_to = loop.advance_to
    monkeypatch.setattr(
        loop, "advance_to", lambda *given: (asked.append(given[-3]), advance_to(*given))[1]
    )
    sample(spos.sgld(normal, 0.05), num_steps=11)
    assert [k for k, each in enumerate(asked, start=1) if each] == [1, 2, 4, 8, 11]


def test_steps_lost_to_rounding_are_told():
    far = 1e8 + START
    with pytest.warns(RuntimeWarning, match=r"no particle moved in 20 steps.*rounding"):
        sample(spos.sgld(lambda x: 0.0 * jnp.sum(x), 1e-6), far)


def test_a_drift_of_zero_everywhere_is_told():
    with pytest.warns(RuntimeWarning, match=r"no particle moved in 20 steps: the drift is 0"):
        sample(spos.svgd(normal, 0.1), jnp.zeros((1, 2)))


def test_a_step_size_that_fails_between_the_steps_that_were_asked_stops_there(tmp_path):
    """The run before it is kept, in the error and in the folder."""
    sampler = spos.svgd(normal, lambda k: jnp.where(k == 7, -0.1, 0.1))
    message = r"step 7: step_size\(7\) is -0\.1.*above 0"
    with pytest.raises(spos.NonFiniteError, match=message) as e:
        sample(sampler, checkpoint=tmp_path / "run")
    assert e.value.result.num_steps == 7
    expected = sample(spos.svgd(normal, lambda k: jnp.where(k == 7, 0.2, 0.1)), num_steps=7)
    np.testing.assert_array_equal(e.value.state.particles, expected.particles)
    assert (tmp_path / "run" / "step-000000007.npz").exists()


def test_an_ordinary_run_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample(spos.spos(normal, 0.05))


@pytest.mark.parametrize("batch_size", [None, 5])
def test_a_number_that_is_missing_in_the_data_is_named(batch_size):
    y = np.ones(10, np.float32)
    y[3] = np.nan
    target = spos.posterior(
        lambda theta, rows: -0.5 * (rows["y"] - theta[0]) ** 2, normal, {"y": y}, batch_size
    )
    with pytest.raises(spos.NonFiniteError, match=r"score is nan\. data\.y\[3\] is nan, which may"):
        sample(spos.sgld(target, 0.01))


def test_a_score_that_is_not_finite_without_such_data_is_told_as_before():
    target = spos.posterior(lambda theta, y: jnp.sqrt(theta[0]) * y, normal, np.ones(4, np.float32))
    with pytest.raises(spos.NonFiniteError, match=r"score is nan\. Check log_prob there"):
        sample(spos.sgld(target, 0.01), -jnp.abs(START))
