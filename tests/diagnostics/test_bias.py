"""The bias report against known laws: it fires where a bias is, and is silent where none is.

Reports are made at a level of 1e-4, which is how often a silent one would fire by chance.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.diagnostics import bias
from spos.diagnostics.bias import resampled, t_test

LEVEL = 1e-4


def log_prob(theta):
    return -0.5 * jnp.sum(theta["x"] ** 2)


def normal_start(key, count):
    return {"x": jax.random.normal(key, (count, 2))}


def report(make_sampler, h, num_steps, count=10, replicas=64):
    return bias(
        make_sampler,
        h,
        normal_start,
        num_steps,
        num_particles=count,
        burn_in=0.2,
        num_replicas=replicas,
        level=LEVEL,
    )


@pytest.fixture(scope="module")
def langevin():
    return report(lambda h: spos.sgld(log_prob, h), 0.4, 200)


@pytest.fixture(scope="module")
def interacting():
    return report(lambda h: spos.spos(log_prob, h, kernel=spos.rbf(1.0)), 0.1, 300, 1)


def off(estimates, expected):
    """The worst distance from the expected value, in standard errors."""
    return float(np.max(np.abs(estimates.value - expected) / estimates.error))


def test_a_langevin_step_makes_the_variance_too_large_by_its_known_law(langevin):
    # variance 1 / (1 - h/2): 1.25 at h = .4 and 1.111 at h/2, from which 2 (1.25 - 1.111) = .278
    assert langevin.step_bias["variance"].significant.all()
    assert off(langevin.step_bias["variance"], 2 * (1 / 0.8 - 1 / 0.9)) < 5
    assert off(langevin.moments["variance"], 1 / 0.8) < 5


def test_it_is_silent_about_means_and_about_chains_that_do_not_interact(langevin):
    assert not langevin.step_bias["mean"].significant.any()
    assert not any(each.significant.any() for each in langevin.particle_bias.values())
    assert off(langevin.particle_bias["variance"], 0.0) < 5


def test_the_extrapolated_variance_has_lost_most_of_the_bias(langevin):
    # 2/.9 - 1/.8 = .972, with twice the (unbiased) difference of cloud sizes in the error bar
    assert off(langevin.extrapolated["variance"], 2 / 0.9 - 1 / 0.8) < 5
    assert (langevin.extrapolated["variance"].error > langevin.moments["variance"].error).all()


def test_few_interacting_particles_are_too_narrow(interacting):
    # one particle has the variance 2 / (a (2 - h a)) with a = 1 + 1/β = 2: .556 instead of 1
    assert off(interacting.moments["variance"], 1 / 1.8) < 5
    found = interacting.particle_bias["variance"]
    assert found.significant.all()
    assert (found.value < -0.1).all()
    assert interacting.significant


def test_noisy_svgd_is_exact_for_two_particles_and_nothing_is_said(interacting):
    kernel = spos.rbf(1.0)
    found = report(lambda h: spos.noisy_svgd(log_prob, h, kernel=kernel), 0.05, 1200, 2)
    assert not any(each.significant.any() for each in found.particle_bias.values())
    assert off(found.particle_bias["variance"], 0.0) < 5
    # it would have seen a quarter of what a particle of SPOS lacks, four errors out
    lacking = -interacting.particle_bias["variance"].value
    assert (4 * found.particle_bias["variance"].error < lacking).all()


def test_error_bars_are_those_of_independent_replicas(langevin):
    # the variance of the mean of T steps of an AR(1) chain, φ = .6, of 10 particles: 160 steps
    phi, steps = 0.6, 160
    lags = np.arange(1, steps)
    long = 1.25 / steps * (1 + 2 * np.sum((1 - lags / steps) * phi**lags))
    expected = np.sqrt(long / 10 / 64)
    # a standard error from 64 replicas is itself known to 9 %
    assert langevin.moments["mean"].error / expected == pytest.approx(1.0, abs=0.45)


def test_a_report_is_a_table_with_stars_where_something_was_found(langevin):
    said = str(langevin)
    assert "x[0]" in said
    assert "x[1]" in said
    assert said.count("*") == 2 + 1  # two variances, and the line that explains
    assert "2 biases beyond chance (*), at a rate of 0.0001" in said


def test_the_test_fires_by_chance_at_the_stated_rate_and_not_more():
    repeats = np.random.default_rng(0).normal(size=(8, 20_000))
    rate = t_test(repeats, 0.01).significant.mean()
    assert rate == pytest.approx(0.01, abs=5 * np.sqrt(0.01 * 0.99 / 20_000))
    # a rule that takes the errors for known would fire five times as often
    assert np.mean(np.abs(repeats.mean(0) / repeats.std(0, ddof=1) * 8**0.5) > 2.576) > 0.03


def test_differences_of_rounding_alone_are_not_significant():
    same = np.full((8, 1), 1e-8)
    assert t_test(same, 0.01).significant.all()
    assert not t_test(same, 0.01, rounding=1e-6).significant.any()


def test_a_cloud_gives_starts_of_any_size_around_itself():
    cloud = {"x": jnp.asarray([[-5.0], [5.0]]), "y": jnp.zeros(2)}
    drawn = resampled(cloud)(jax.random.key(0), 400)
    assert drawn["x"].shape == (400, 1)
    assert drawn["y"].shape == (400,)
    assert len(np.unique(np.asarray(drawn["x"]))) == 400
    assert abs(float(drawn["x"].mean())) < 1.5  # 5 standard errors


BAD = {
    "start is a function": ({"start": normal_start}, ValueError, "num_particles must be given"),
    "start is a cloud": ({"num_particles": 3}, ValueError, "num_particles must be left out"),
    "num_replicas": ({"num_replicas": 2}, ValueError, "num_replicas must be at least 3"),
    "make_sampler": ({"make_sampler": 3}, TypeError, "make_sampler must be a function"),
    "burn_in": ({"burn_in": 1.0}, ValueError, "burn_in must be a number in"),
    "diverging": ({"step_size": 30.0, "num_steps": 400}, FloatingPointError, "smaller step_size"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_done_is_said(case):
    change, kind, words = BAD[case]
    given = {
        "make_sampler": lambda h: spos.sgld(log_prob, h),
        "step_size": 0.1,
        "start": {"x": jnp.ones((3, 2))},
        "num_steps": 4,
    }
    with pytest.raises(kind, match=words):
        bias(**{**given, **change})
