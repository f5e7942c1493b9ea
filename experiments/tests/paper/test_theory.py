import json
import math

import jax
import numpy as np
import pytest

from spos_experiments.frame import record
from spos_experiments.frame.perform import perform
from spos_experiments.paper.theory import Settings, laws
from spos_experiments.paper.theory.claims import particle_claims, steps_claims
from spos_experiments.paper.theory.densities import DENSITIES


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    return perform("theory", out, seed=0, quick=True), out / "theory"


def test_the_quick_form_leaves_a_complete_record_and_its_figures(made):
    found, folder = made
    assert record.read(folder / record.FILE).claims == found.claims
    json.dumps(dict(found.numbers), allow_nan=False)
    assert {f.file for f in found.figures} == {
        "particles.png",
        "decay.png",
        "steps.png",
        "plan.png",
    }
    assert all((folder / f.file).read_bytes().startswith(b"\x89PNG") for f in found.figures)


def test_every_claim_has_numbers_and_a_rule(made):
    found, _ = made
    assert len(found.claims) == 11
    for claim in found.claims:
        assert any(letter.isdigit() for letter in claim.measured), claim
        assert claim.rule
        assert "nan" not in claim.measured, claim


def test_a_bound_is_given_or_its_failed_condition(made):
    found, _ = made
    for each in (*found.numbers["particles"], *found.numbers["steps"]):
        assert (each["bound"][0] is None) == bool(each["why"])
    small, large = found.numbers["decay"]
    assert small["printed"][0] > 0
    assert not small["why"]
    assert large["printed"][0] is None
    assert "lambda1" in large["why"]


def normal_law(mean, deviation, repeats, seed):
    draws = np.random.default_rng(seed).normal(mean, deviation, (repeats, 20))
    return laws.Law.of(draws)


def test_the_distance_of_two_gaussians_is_known():
    truth = laws.Law.exact(DENSITIES["Gaussian"])
    shifted = [laws.distance(normal_law(0.3, 0.5, 1000, n), truth) for n in range(20)]
    exact = 0.5 / math.sqrt(20_000)
    assert np.mean([d.mean for d in shifted]) == pytest.approx(0.3, abs=4 * exact / math.sqrt(20))
    assert np.mean([d.se for d in shifted]) == pytest.approx(exact, rel=0.25)
    wider = laws.distance(normal_law(0.0, 0.6, 5000, 1), truth)
    # W1 of two centred Gaussians is E|z| times the difference of their deviations
    assert abs(wider.mean - 0.1 * math.sqrt(2 / math.pi)) < 4 * wider.se + 1e-3


def test_an_even_law_keeps_its_width_and_loses_its_mean():
    even = normal_law(0.3, 0.5, 1000, 0).even()
    assert even.rows.mean() == pytest.approx(0.0, abs=1e-12)
    truth = laws.Law.exact(DENSITIES["Gaussian"])
    assert laws.distance(even, truth).mean < 0.01


def test_the_distance_of_one_law_from_itself_is_the_floor_and_not_clear():
    truth = laws.Law.exact(DENSITIES["Gaussian"])
    found = [laws.distance(normal_law(0.0, 0.5, 1000, n), truth) for n in range(20)]
    assert not any(d.clear for d in found)
    ratio = np.mean([d.mean / d.floor for d in found])
    assert 0.7 < ratio < 1.4


@pytest.mark.parametrize("name", ["Gaussian", "logistic", "mixture"])
def test_each_density_agrees_with_itself(name):
    """Its draws, its quantiles and the integral of its log-density are the same distribution."""
    density = DENSITIES[name]
    drawn = np.asarray(density.draw(jax.random.key(0), 40_000)).reshape(-1, 20)
    off = laws.distance(laws.Law.of(drawn), laws.Law.exact(density))
    assert off.mean < 3 * off.floor
    x = np.linspace(-6, 6, 6001)
    weights = np.exp(np.asarray(jax.vmap(density.log_prob)(x), np.float64))
    below = np.cumsum(weights) / weights.sum()
    places = np.array([0.05, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(np.interp(places, below, x), density.quantile(places), atol=3e-3)
    mean = float(weights @ x / weights.sum())
    assert float(weights @ (x - mean) ** 2 / weights.sum()) == pytest.approx(0.25, rel=0.01)


def test_a_slope_is_found_with_its_standard_error():
    draws = np.random.default_rng(0)
    x = [2, 4, 8, 16, 32, 64]
    values = [3 * n**-0.5 * (1 + 0.02 * draws.normal()) for n in x]
    fitted = laws.slope(x, [laws.Distance(v, 0.02 * v, 0.0) for v in values])
    assert abs(fitted.mean + 0.5) < 3 * fitted.se
    assert 0.003 < fitted.se < 0.02
    assert math.isnan(laws.slope([1, 2], [laws.Distance(1.0, 0.1, 0.0)] * 2).mean)


def test_verdicts_follow_the_numbers(made):
    """The same record with other numbers gets the other verdict."""
    found, _ = made
    curves = [dict(c) for c in found.numbers["steps"]]
    settings = Settings().quick()
    for growth, expected in ((0.5, record.HOLDS), (0.0, record.NOT_SEEN)):
        changed = [c | {"late": {"mean": growth, "se": 0.05}} for c in curves]
        first = steps_claims(changed, found.numbers["step_errors"], settings)[0]
        assert first.verdict == expected
    for slope, expected in ((-0.2, record.NOT_SEEN), (-1.0, record.HOLDS)):
        (case,) = found.numbers["particles"]
        fit = {"fit": {"mean": slope, "se": 0.05}, "sizes": []}
        changed_case = case | {"slopes": dict.fromkeys(("law", "twin", "cloud", "draws"), fit)}
        assert particle_claims([changed_case])[0].verdict == expected
