"""How long the rounds of an automatic run are, by what is found of them, and which program makes
them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.auto import controller, engine, moving
from spos.auto.bend import Points
from spos.auto.budget import Budget
from spos.auto.judge import Round
from spos.auto.verdict import Check

START = jax.random.normal(jax.random.key(0), (20, 2))


def density(x):
    return -0.5 * (x**2).sum()


@pytest.fixture
def lengths(monkeypatch):
    """Of the rounds that are judged, in those of the first, when particles differ so much, at most
    as much as given."""

    def made(*mixing):
        rounds, told = [], iter(mixing)

        def measure(*_):
            value, limit = next(told, (0.0, 1.0))
            return [Check("mixing", value, limit, value <= limit, "", "")], 1e3

        def judge(run, *given):
            rounds.append((run.asked, run.stage))
            return kept(run, *given)

        kept = controller.AutomaticRun._judge
        monkeypatch.setattr(controller, "measure", measure)
        monkeypatch.setattr(controller, "arviz_checks", lambda *_: [])
        monkeypatch.setattr(controller.AutomaticRun, "_judge", judge)
        monkeypatch.setattr(controller.AutomaticRun, "_learn", lambda *_: rounds.append("anew"))
        spos.fit(density, start=START, progress=False)
        return rounds

    return made


def test_a_round_that_is_too_short_goes_on_to_what_is_enough(lengths):
    asked = [each[0] for each in lengths((0.06, 0.05), (0.03, 0.05))]
    assert asked == [1.0, pytest.approx(controller.SAFE * 0.06 / 0.05)]
    assert [each[0] for each in lengths((0.2, 0.05), (0.1, 0.05), (0.03, 0.05))] == [1.0, 2.0, 4.0]


def test_one_that_stalls_is_begun_anew_and_no_longer(lengths):
    found = lengths((0.1, 0.05), (0.1, 0.05), (0.03, 0.05))
    assert [each if each == "anew" else each[0] for each in found] == [1.0, 2.0, "anew", 2.0]


def test_a_limit_that_is_halved_is_no_stall(lengths):
    found = lengths((0.1, 0.05), (0.05, 0.025), (0.02, 0.025))
    assert [each[0] for each in found] == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(("size", "thin"), [(2, 1), (20, 2), (1000, 16)])
def test_a_long_round_of_few_parameters_is_recorded_as_a_whole(size, thin):
    """Where moves are good, each is worth a record; those of many parameters would fill memory."""
    run = object.__new__(controller.AutomaticRun)
    run.count, run.size, run.budget = 100, size, Budget()
    assert run._length(64.0) == (3200, thin)


def test_particles_that_hardly_move_are_at_home_nowhere():
    acceptance = np.full((10, 4), 0.8)
    acceptance[:, 1] = 0.01
    rows = np.zeros((10, 4, 2))
    seen = Round(rows, rows[..., 0], rows, rows, acceptance)
    stood = controller.AutomaticRun._homes(seen, Points(rows, rows[..., 0], rows))
    assert list(np.isfinite(stood[:, -1])) == [True, False, True, True]


def test_a_long_run_is_compiled_once_more(monkeypatch):
    def programs(density):
        before = engine.chunk.programs.cache_info().misses
        found = spos.fit(density, start=START, progress=False)
        assert found.converged
        return engine.chunk.programs.cache_info().misses - before

    assert programs(lambda x: -0.5 * (x**2).sum()) == 1
    monkeypatch.setattr(moving, "LONG", 2000)
    assert programs(lambda x: -0.5 * (x**2).sum()) == 2
    monkeypatch.setattr(moving, "LONG", 10**9)
    monkeypatch.setattr(moving, "WORK", 2e4)  # numbers, of which a density computes a few
    assert programs(lambda x: -0.5 * (x**2).sum()) == 2
    monkeypatch.setattr(moving, "LARGE", 1)  # then it is the better one from the beginning
    assert programs(lambda x: -0.5 * (x**2).sum()) == 1


def test_the_same_density_is_traced_once(monkeypatch):
    """Numbers that are leaves are looked at in every fit: NumPyro may find one wrong."""
    traced = []

    def density(x):
        traced.append(x)
        return -0.5 * (x**2).sum()

    spos.fit(density, start=START, progress=False)
    before = len(traced)
    spos.fit(density, start=START, progress=False, seed=1)
    assert len(traced) == before


@pytest.mark.parametrize("rows", [100, 50_000])
def test_a_density_of_many_numbers_is_known_by_them(rows):
    x = jnp.ones((rows, 2))
    target = spos.targets.target.as_target(lambda w: -jnp.sum(jnp.cosh(x @ w)))
    problem = engine.Problem.of(target, START, None)
    assert 2 * rows <= engine.numbers(problem) <= 4 * rows + 100
