"""The comparison of all methods: its targets, its choice of steps, and the page made from it."""

from pathlib import Path

import jax
import numpy as np
import pytest

from spos_experiments.frame import record
from spos_experiments.paper import methods
from spos_experiments.paper.methods.problems import centres, problem
from spos_experiments.paper.methods.settings import METHODS

HERE = Path(__file__).parents[3]
SMALL = methods.Settings(wide_dimensions=3, draws=20_000)


@pytest.mark.parametrize("name", SMALL.problems)
def test_exact_draws_have_the_stated_moments(name):
    case = problem(name, SMALL, 0)
    # 20000 draws: 7 standard errors of a variance of a Gaussian are .07 of it, of the banana more
    scale = np.sqrt(np.trace(case.covariance))
    assert np.abs(case.draws.mean(0) - case.mean).max() < 0.05 * scale
    assert np.abs(np.cov(case.draws, rowvar=False) - case.covariance).max() < 0.1 * scale**2


@pytest.mark.parametrize("name", SMALL.problems)
def test_the_score_balances_at_exact_draws(name):
    # E s θᵀ = -I under the target: the log-density and the draws are of one law
    case = problem(name, SMALL, 0)
    scores = np.asarray(jax.jit(jax.vmap(jax.grad(case.target)))(case.draws), np.float64)
    stein = scores.T @ (case.draws - case.mean) / len(case.draws)
    assert np.abs(stein + np.eye(len(case.mean))).max() < 0.15


def test_the_start_of_the_modes_is_in_one_of_them():
    start = problem("modes", SMALL, 0).start(jax.random.key(0))
    away = np.linalg.norm(np.asarray(start)[:, None] - centres(), axis=-1)
    assert (away.argmin(1) == 0).all()


def test_a_step_that_diverges_is_never_chosen():
    tiny = methods.Settings(particles=5, num_steps=60, grid=(0.1, 30.0), choice_repeats=1, draws=10)
    good, bad = methods.step_discrepancies(tiny, 0, "Gaussian", "sgld")
    assert np.isfinite(good)
    assert bad == np.inf


@pytest.fixture(scope="module")
def recorded():
    return record.read(HERE / "experiments" / "results" / "methods" / record.FILE)


def test_the_page_has_the_table_of_the_recorded_run(recorded):
    page = (HERE / "docs" / "methods.md").read_text(encoding="utf-8")
    assert recorded.table.markdown() in page
    assert recorded.command in page


def test_the_recorded_run_is_a_full_one_of_all_methods(recorded):
    assert not recorded.quick
    made = {(each["problem"], each["method"]) for each in recorded.numbers["runs"]}
    assert {(p, m) for p in SMALL.problems for m in METHODS} <= made
    spent = {r["gradients"] for r in recorded.numbers["runs"] if r["gradients"] is not None}
    assert len(spent) == 1  # equal numbers of gradients


def test_every_step_size_was_chosen_by_the_least_discrepancy(recorded):
    grid = recorded.settings["grid"]
    for each in recorded.numbers["runs"]:
        if tried := each["KSD by step size"]:
            finite = [np.inf if value is None else value for value in tried]
            # of steps that agree in all recorded digits any may have been the best
            assert finite[grid.index(each["step size"])] == min(finite)
