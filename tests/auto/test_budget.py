"""Budgets in words people have, and runs in bent coordinates that are cut, saved and begun warm.

One target serves all: two children whose scale is e^v, v ~ N(0, ½²). A small `target_error` makes
its first round fail, after which there is a bend.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.auto.budget import Budget

COUNT, SIZE = 60, 3
START = jax.random.uniform(jax.random.key(0), (COUNT, SIZE), minval=-2.0, maxval=2.0)
quiet = pytest.mark.filterwarnings("ignore:not converged:spos.ConvergenceWarning")


def log_prob(theta):
    return (
        -2.0 * theta[0] ** 2 - 2.0 * theta[0] - 0.5 * jnp.sum((theta[1:] * jnp.exp(-theta[0])) ** 2)
    )


def run(**options):
    if "warm_start" not in options:
        options["start"] = START
    return spos.fit(log_prob, seed=1, progress=False, **options)


@pytest.fixture(scope="module")
def bent():
    """A run with a bend, and the phase of each of its chunks."""
    phases = []
    return run(target_error=0.015, callback=lambda seen: phases.append(seen.phase)), phases


def test_a_smaller_error_is_reached_in_bent_coordinates(bent):
    result, phases = bent
    assert result.converged, result.report()
    assert result.adapted.bend is not None
    assert phases[-1] != "round 1"
    precision = {check.name: check for check in result.verdict.checks}["precision"]
    assert precision.limit == 0.015
    assert precision.value <= 0.015
    sd = np.array([0.5, *[np.exp(0.25)] * 2])  # E x² = E e^{2v} = e^{2 sd²}
    draws = np.asarray(result.draws, np.float64)
    assert (np.abs(draws.mean(0)) / sd < 0.075).all()
    assert (np.abs(np.log(draws.std(0) / sd)) < 0.075).all()
    np.testing.assert_allclose(
        result.info["log_prob"][-1], jax.vmap(log_prob)(result.particles), 1e-3
    )


@quiet
def test_a_run_in_bent_coordinates_goes_on_to_the_same_bits(bent, tmp_path):
    result, phases = bent
    seen = []
    later = phases.index("round 2") + 2

    def cut(progress):
        seen.append(progress)
        return len(seen) == later

    run(target_error=0.015, callback=cut, checkpoint=tmp_path)
    again = run(target_error=0.015, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.draws, result.draws)
    assert again.verdict == result.verdict
    for one, other in zip(again.adapted.bend, result.adapted.bend, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_warm_start_keeps_the_bend_of_a_file(bent, tmp_path):
    loaded = spos.load(bent[0].save(tmp_path / "fit.npz"))
    assert loaded.adapted.local == bent[0].adapted.local
    warm = run(warm_start=loaded)
    assert warm.converged, warm.report()
    assert warm.evaluations < 0.6 * bent[0].evaluations
    np.testing.assert_array_equal(warm.adapted.bend.scale, bent[0].adapted.bend.scale)


@quiet
def test_evaluations_are_at_most_those_asked_for_and_what_there_is_is_judged():
    result = run(max_evaluations=25_000, num_draws=200 * COUNT)
    assert 0 < result.evaluations <= 25_000
    assert result.interrupted
    assert result.verdict.checks  # of a part of the first round
    assert len(result.draws) in (25 * COUNT, 50 * COUNT, 75 * COUNT)
    assert "max_evaluations=25,000 ended the run" in result.report()


def test_a_budget_that_ends_before_the_checks_says_so():
    with pytest.warns(spos.ConvergenceWarning, match="interrupted before the checks"):
        result = run(max_seconds=1e-6)
    assert "max_seconds=1e-06 ended the run in its approach" in result.report()
    assert result.draws.shape == (COUNT, SIZE)
    assert Budget(max_seconds=1.0).spent(0.5, 10) == ""


@quiet
@pytest.mark.parametrize("count", [500, 4000])
def test_as_many_draws_as_asked_for(count):
    result = run(num_draws=count, max_evaluations=60_000)
    assert len(result.draws) == -(-count // COUNT) * COUNT
    np.testing.assert_array_equal(result.history[-1], result.particles)
