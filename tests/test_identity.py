"""By what a run is known: every way to change a function is seen, and nothing else is."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import spos
from spos.io.checkpoint import agree
from spos.loop.code import code_of
from spos.loop.identity import probe, rounded

CENTRE, TABLE = 1.0, {"s": 1.0}
calls = 0


def shifted(x):
    return x - CENTRE


def closing_over(held):
    return lambda theta: theta * held


def plain(theta, scale=1.0):
    return -scale * jnp.sum(theta**2)


def counting(theta):
    global calls
    calls += 1
    return theta


class Own(spos.Target):
    def log_prob(self, theta, batch=None):
        return theta


class Other(spos.Target):
    def log_prob(self, theta, batch=None):
        return -theta


Other.__qualname__ = Own.__qualname__

PAIRS = {
    "a constant": (lambda x: 2.0 * x, lambda x: 3.0 * x),
    "a sign": (lambda x: +x, lambda x: -x),
    "a tuple of constants": (lambda x: x * (1.0, 2.0), lambda x: x * (1.0, 3.0)),
    "a set of constants": (lambda x: x in {1, 2}, lambda x: x in {1, 3}),
    "a function inside": (lambda x: (lambda y: y + 1)(x), lambda x: (lambda y: y + 2)(x)),
    "a default": (lambda x, s=1.0: s * x, lambda x, s=2.0: s * x),
    "a default by name": (lambda x, *, s=1.0: s * x, lambda x, *, s=2.0: s * x),
    "a number of a closure": (closing_over(1.0), closing_over(2.0)),
    "an array of a closure": (closing_over(np.ones(3)), closing_over(np.arange(3.0))),
    "a key of a closure": (closing_over(jax.random.key(0)), closing_over(jax.random.key(1))),
    "a list of a closure": (closing_over([1.0]), closing_over([2.0])),
    "a dict of a closure": (closing_over({"s": 1.0}), closing_over({"s": 2.0})),
    "a function of a closure": (closing_over(jnp.sin), closing_over(jnp.cos)),
    "a partial function": (
        functools.partial(plain, scale=1.0),
        functools.partial(plain, scale=2.0),
    ),
    "a compiled function": (jax.jit(closing_over(1.0)), jax.jit(closing_over(2.0))),
    "a method": (closing_over(1.0).__get__(1), closing_over(2.0).__get__(1)),
    "an optimizer": (optax.adam(0.1), optax.adam(0.2)),
    "a class": (Own(), Other()),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_changed_function_has_another_name(name):
    one, other = PAIRS[name]
    assert code_of(one) == code_of(one)
    assert code_of(one) != code_of(other)


@pytest.mark.parametrize("name", ["CENTRE", "shifted"])
def test_what_a_function_reads_from_its_module_counts(monkeypatch, name):
    function = lambda theta: shifted(theta)  # noqa: E731
    before = code_of(function)
    monkeypatch.setitem(globals(), name, plain if name == "shifted" else 2.0)
    assert code_of(function) != before


def test_what_runs_change_by_themselves_does_not_count(monkeypatch):
    function = lambda theta: counting(theta) * TABLE["s"]  # noqa: E731
    before = code_of(function)
    counting(0.0)
    monkeypatch.setitem(TABLE, "s", 2.0)  # known by its scores
    assert code_of(function) == before


def test_the_same_text_has_the_same_name():
    assert code_of(closing_over(np.ones(3))) == code_of(closing_over(np.ones(3)))
    assert code_of(optax.adam(0.1)) == code_of(optax.adam(0.1))


START = jnp.linspace(-10.0, 10.0, 40).reshape(2, 20)


def probed(place=0, scale=1.0, rate=0.1):
    """Steps of 1 beside scores of 1e5; the numbers are leaves, so that code tells nothing."""
    sizes = jnp.full(20, 1e4).at[place].multiply(scale)
    log_prob = jax.tree_util.Partial(lambda sizes, x: -0.5 * jnp.sum(sizes * x**2), sizes)
    sampler = spos.svgd(log_prob, optimizer=optax.sgd(rate / 1e4))
    return rounded(probe(sampler, jax.random.key(0), sampler.init(START)))


@pytest.mark.parametrize("change", [{"place": 17, "scale": 3.0}, {"scale": -1.0}, {"rate": 0.2}])
def test_scores_and_steps_tell_what_code_does_not(change):
    assert agree(probed(), probed())
    assert not agree(probed(), probed(**change))


def test_rounding_is_no_change():
    numbers = np.asarray(probed())
    noise = np.random.default_rng(0).uniform(-1e-3, 1e-3, numbers.shape)
    assert agree(numbers.tolist(), (numbers * (1.0 + noise)).tolist())


@pytest.mark.parametrize("forged", [10**400, [10**400], ["x"], [[1.0], [1.0, 2.0]], {}, None])
def test_whatever_a_file_says_is_only_another_run(forged):
    assert not agree(forged, 1.0)
    assert not agree(forged, [1.0])
    assert not agree(forged, [[1.0], [2.0]])
