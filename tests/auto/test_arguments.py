"""What goes with an automatic step size and what does not is said before anything is compiled."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos

START = jnp.asarray(np.random.default_rng(0).normal(size=(6, 2)), jnp.float32)
KEY = jax.random.key(0)


def log_prob(theta):
    return -0.5 * jnp.sum(theta**2)


def minibatches():
    data = np.arange(10, dtype=np.float32)
    return spos.posterior(lambda t, x: -0.5 * (x - t.sum()) ** 2, log_prob, data, 3)


AUTOMATIC = spos.spos(log_prob)
CASES = {
    "init": (lambda: AUTOMATIC.init(START), "step_size must be given here; spos.sample chooses"),
    "step": (lambda: spos.sgld(log_prob).step(KEY, None), "step_size must be given here"),
    "run": (lambda: spos.run(AUTOMATIC, KEY, START, 3), "step_size must be given here"),
    "steps": (lambda: spos.sample(AUTOMATIC, START, 10), "num_steps must be left out.*10"),
    "no steps": (lambda: spos.sample(spos.spos(log_prob, 0.1), START), "num_steps must be given"),
    "history": (lambda: spos.sample(AUTOMATIC, START, history_every=2), "history_every.*left out"),
    "checkpoint": (lambda: spos.sample(AUTOMATIC, START, checkpoint="x"), "checkpoint.*left out"),
    "minibatches": (lambda: spos.sample(spos.spos(minibatches()), START), "exact log-density"),
    "three": (lambda: spos.sample(AUTOMATIC, START[:3]), "particles must be at least 4.*got 3"),
    "kernel": (lambda: spos.spos(log_prob, kernel=spos.imq()), "kernel must be .*imq"),
    "groups": (lambda: spos.spos(log_prob, group_size=2), "group_size must be None.*2"),
    "beta": (lambda: spos.spos(log_prob, beta=math.inf), "beta must be a number above 0.*inf"),
    "svgd": (lambda: spos.svgd(log_prob), "step_size must be given unless an optimizer"),
    "scaled": (
        lambda: spos.sgld(log_prob, preconditioner=spos.rmsprop()),
        "preconditioner must be None",
    ),
}


@pytest.mark.parametrize(("call", "words"), CASES.values(), ids=CASES)
def test_a_clear_error(call, words):
    with pytest.raises(ValueError, match=words):
        call()
