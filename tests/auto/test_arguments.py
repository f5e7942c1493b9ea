"""What cannot be fitted, or not like this, is said before anything is compiled."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import spos

START = jnp.asarray(np.random.default_rng(0).normal(size=(6, 2)), jnp.float32)


def log_prob(theta):
    return -0.5 * jnp.sum(theta**2)


def posterior(batch_size=None, data=None):
    data = np.arange(10, dtype=np.float32) if data is None else data
    return spos.posterior(lambda t, x: -0.5 * (x - t.sum()) ** 2, log_prob, data, batch_size)


def refused(model=log_prob, start=START, **options):
    return lambda: spos.fit(model, start=start, **options)


BROKEN = {"x": np.ones((4, 2)), "y": np.array([1.0, 2.0, np.nan, np.nan])}
CASES = {
    "no step": (lambda: spos.spos(log_prob, None), "step_size must be given.*spos.fit"),
    "memory": (refused(spos.saga(posterior(3))), "exact log-density.*minibatches"),
    "a budget": (refused(posterior(3), num_draws=9), "num_draws must be left out with minib"),
    "three": (refused(start=START[:3]), "at least 4 particles, got 3"),
    "count": (refused(num_particles=7), "num_particles must be left out or the 6.*got 7"),
    "imq": (refused(kernel=spos.imq()), "kernel must be spos.rbf.*IMQ"),
    "bandwidth": (refused(kernel=spos.rbf(2.0)), "kernel must be spos.rbf.*2.0"),
    "beta": (refused(beta=math.inf), "beta must be a number above 0.*inf"),
    "seconds": (refused(max_seconds=0), "max_seconds must be a number above 0, got 0"),
    "evaluations": (refused(max_evaluations=0), "max_evaluations must be at least 1, got 0"),
    "error": (refused(target_error=-1.0), "target_error must be a number above 0, got -1.0"),
    "draws": (refused(num_draws=0), "num_draws must be at least 1, got 0"),
    "seed": (refused(seed=-1), "seed must be at least 0"),
    "no start": (lambda: spos.fit(posterior()), "start must be given for the posterior"),
    "nan in the start": (refused(start=START.at[2, 1].set(jnp.nan)), r"nan in particle 2.*\[1\]"),
    "nan in the data": (
        refused(spos.posterior(lambda t, b: b["y"] - b["x"] @ t, log_prob, BROKEN)),
        r"In the posterior, data\.y\[2\] is nan \(and 1 more\)",
    ),
    "data of another form": (
        refused(posterior(), data=np.ones((10, 2))),
        "data must have the form",
    ),
    "file": (refused(checkpoint=__file__), "checkpoint must name a folder"),
}
TYPES = {
    "data": (refused(data=np.ones(3)), "data must be left out unless.*posterior"),
    "arguments": (
        lambda: spos.fit(log_prob, 1, start=START),
        "no arguments, got 1.*from_num",
    ),
    "for a target": (lambda: spos.fit(posterior(), 1, start=START), "a target takes no arguments"),
    "warm": (refused(warm_start=3), "warm_start must be what spos.fit returned, got 3"),
    "callback": (refused(callback=3), "callback must be a function"),
    "class": (refused(spos.Target), "model must be a NumPyro function"),
}


@pytest.mark.parametrize(("call", "words"), CASES.values(), ids=CASES)
def test_a_clear_error(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(("call", "words"), TYPES.values(), ids=TYPES)
def test_a_clear_error_about_a_type(call, words):
    with pytest.raises(TypeError, match=words):
        call()
