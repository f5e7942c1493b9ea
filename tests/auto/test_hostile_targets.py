"""Targets that have no law, or one that is hard to find: refused, sampled or told; never NaN.

All of them are one program, which takes the number of the target.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos

START = jax.random.normal(jax.random.key(0), (100, 1))
SPIKE = 1e-3


def spike(x):
    """Half of the mass in a spike of deviation .001, half in a standard normal."""
    return jnp.logaddexp(-0.5 * x**2, -0.5 * (x / SPIKE) ** 2 - jnp.log(SPIKE))


TARGETS = {
    "flat": lambda x: 0.0 * x,
    "sum": lambda x: x,
    "softplus": jax.nn.softplus,
    "a step": lambda x: jnp.where(x > 0, 0.0, -5.0),
    "a scale of 1e-8": lambda x: -0.5 * (x / 1e-8) ** 2,
    "a scale of 1e8": lambda x: -0.5 * (x / 1e8) ** 2,
    "a box": lambda x: jnp.where(jnp.abs(x) < 3, 0.0, -jnp.inf),
    "a spike": spike,
}


def log_prob(number, theta):
    return jax.lax.switch(number, list(TARGETS.values()), theta[0])


def fit(name):
    number = jnp.asarray(list(TARGETS).index(name))
    return spos.fit(jax.tree_util.Partial(log_prob, number), start=START, progress=False)


@pytest.mark.parametrize("name", ["flat", "sum", "softplus", "a step"])
def test_a_target_without_a_law_is_refused_with_the_reason(name):
    with pytest.raises(ValueError, match="proper prior"):
        fit(name)


@pytest.mark.parametrize(
    ("name", "sd"), [("a scale of 1e-8", 1e-8), ("a scale of 1e8", 1e8), ("a box", 3**0.5)]
)
def test_any_scale_and_a_box_are_sampled(name, sd):
    found = fit(name)
    assert found.converged, found.report()
    draws = np.asarray(found.draws, np.float64)
    assert abs(draws.mean()) < 0.1 * sd
    assert draws.std() == pytest.approx(sd, rel=0.1)


@pytest.mark.filterwarnings("ignore::spos.ConvergenceWarning")
def test_a_spike_is_sampled_or_told():
    found = fit("a spike")
    draws = np.asarray(found.draws, np.float64)
    assert np.isfinite(draws).all()
    inside = (np.abs(draws) < 4 * SPIKE).mean()
    assert abs(inside - 0.5) < 0.1 or not found.converged
