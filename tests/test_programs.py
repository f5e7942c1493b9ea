"""Programs: compiled once for a structure, and fast where that is asked for."""

import jax
import jax.numpy as jnp
import pytest

import spos
from spos import programs


@pytest.fixture
def double():
    @programs.compiled()
    def double(x):
        return 2.0 * x

    return double


def new_programs(function):
    """How many new programs a call needs."""
    before = function.programs.cache_info().currsize
    assert float(function(jnp.ones(()))) == 2.0
    return function.programs.cache_info().currsize - before


def test_a_brief_program_is_another_one(double):
    assert new_programs(double) == 1
    assert new_programs(double) == 0
    with programs.brief():
        assert new_programs(double) == 1
        assert new_programs(double) == 0
    assert new_programs(double) == 0  # outside, it is the first again


def test_brief_ends_with_an_error(double):
    with pytest.raises(RuntimeError), programs.brief():
        raise RuntimeError
    assert new_programs(double) == 1
    with programs.brief():
        assert new_programs(double) == 1


def test_options_that_xla_no_longer_has_are_left_out():
    assert programs._known((("xla_of_yesterday", True),)) is None
    assert programs._known(()) is None
    assert programs._known(programs.BRIEF) == dict(programs.BRIEF)


def test_a_step_that_is_compiled_fast_writes_beside_what_it_reads():
    """Elsewhere one more branch would cost more than it brings. The particles are the same."""
    sampler = spos.spos(lambda x: -0.5 * jnp.sum(x**2), 0.1, preconditioner=spos.rmsprop())
    key, state = jax.random.key(0), sampler.init(jnp.ones((5, 3)))

    def seen():
        program = jax.jit(lambda state: sampler.step(key, state)[0])
        return program.lower(state).as_text().count("stablehlo.case"), program(state).particles

    branches, plain = seen()
    with programs.brief():
        more, beside = seen()
    assert more == branches + 1
    assert jnp.allclose(beside, plain, rtol=1e-6)


def test_what_the_form_of_arguments_tells_is_found_once():
    asked = []

    @programs.by_form
    def size(tree):
        asked.append(jax.tree.map(lambda leaf: leaf.shape, tree))
        return sum(leaf.size for leaf in jax.tree.leaves(tree))

    assert size({"a": jnp.ones((2, 3))}) == 6
    assert size({"a": jnp.zeros((2, 3))}) == 6
    assert asked == [{"a": (2, 3)}]
    assert size({"a": jnp.zeros(4)}) == 4
    assert size({"b": jnp.zeros(4)}) == 4
    assert len(asked) == 3
