import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos import theory
from spos.theory import Pilot, Trial

SIZES, STEPS, TIMES = (5, 20, 80), (0.02, 0.06, 0.2), (5, 15, 45, 135)
TRUTH = {"a": 1.0, "b": 2.5, "c": 2.0, "e": 0.3}


def made(error, noise=0.0, sizes=SIZES, steps=STEPS, times=TIMES):
    """A pilot whose errors are a known function, up to relative noise."""
    draws = np.random.default_rng(0)
    return Pilot(
        [
            Trial(m, h, t, error(m, h, t) * (1 + noise * draws.normal()), noise * error(m, h, t))
            for m in sizes
            for h in steps
            for t in times
        ]
    )


def model(m, h, t, *, a=TRUTH["a"], b=TRUTH["b"], c=TRUTH["c"], e=TRUTH["e"]):
    return a / math.sqrt(m) + b * math.exp(-c * t * h) + e * h


def test_the_fit_finds_the_parameters_that_made_the_errors():
    found = theory.plan(1000, made(model)).model
    for name, value in TRUTH.items():
        assert getattr(found, name) == pytest.approx(value, rel=0.01)
    assert found.misfit < 0.001


def test_with_noise_the_parameters_are_off_by_about_their_standard_errors():
    found = theory.plan(1000, made(model, noise=0.05)).model
    for name, value in TRUTH.items():
        assert 0 < found.se[name] < 0.5 * value
        assert abs(getattr(found, name) - value) < 3.5 * found.se[name]
    assert 0.02 < found.misfit < 0.08


@pytest.mark.parametrize("budget", [50, 1000, 50_000])
def test_no_affordable_setting_has_a_smaller_predicted_error(budget):
    chosen = theory.plan(budget, made(model))
    assert chosen.trusted
    assert chosen.num_particles * chosen.num_steps <= budget
    assert chosen.step_size <= max(STEPS)
    assert chosen.expected == pytest.approx(
        model(chosen.num_particles, chosen.step_size, chosen.num_steps), rel=0.01
    )
    others = min(
        model(m, h, budget // m)
        for m in np.unique(np.geomspace(1, budget, 300).astype(int)).tolist()
        for h in np.geomspace(1e-4, max(STEPS), 200).tolist()
    )
    assert chosen.expected <= 1.002 * others


def test_more_budget_means_more_particles_more_steps_and_a_smaller_step():
    small, large = (theory.plan(budget, made(model)) for budget in (2000, 2_000_000))
    assert large.num_particles > small.num_particles
    assert large.num_steps > small.num_steps
    assert large.step_size < small.step_size


def test_a_step_that_costs_nothing_is_the_largest_tried():
    chosen = theory.plan(1000, made(lambda m, h, t: model(m, h, t, e=0.0)))
    assert chosen.trusted
    assert chosen.step_size == max(STEPS)


def test_no_parameter_is_negative_even_where_that_would_fit_better():
    chosen = theory.plan(1000, made(lambda m, h, t: model(m, h, t, e=-0.2)))
    assert chosen.model.e == 0
    assert math.isnan(chosen.model.se["e"])
    assert chosen.step_size == max(STEPS)


def test_a_step_that_diverged_is_not_recommended():
    def error(m, h, t):
        return math.inf if h == 0.2 and m == 5 else model(m, h, t, e=0.0)

    trials = [t if math.isfinite(t.error) else t._replace(se=math.nan) for t in made(error).trials]
    chosen = theory.plan(1000, Pilot(trials))
    assert chosen.trusted
    assert chosen.step_size == 0.06


@pytest.mark.parametrize(
    ("pilot", "why"),
    [
        (made(model, sizes=(5,), steps=(0.1,)), "4 trials"),
        (made(model, sizes=(5,)), "1 different numbers of particles"),
        (made(model, steps=(0.1,)), "1 different step sizes"),
        (made(lambda m, h, t: model(m, h, t, a=0.0)), "more particles did not clearly help"),
        (made(lambda m, h, t: model(m, h, t, b=0.0)), "hardly a trial still felt its start"),
        (made(lambda m, h, t: math.sqrt(m) * (1 + t)), "misses the pilot's errors by"),
        (made(lambda m, h, t: model(m, h, t, b=0.05), noise=0.1), "add trials with fewer steps"),
    ],
)
def test_a_pilot_that_does_not_support_a_plan_is_told_so(pilot, why):
    chosen = theory.plan(1000, pilot)
    assert not chosen.trusted
    assert why in chosen.why
    assert (chosen.num_particles, chosen.step_size, chosen.num_steps, chosen.expected) == (
        None,
    ) * 4


def test_a_pilot_in_which_every_step_diverged_somewhere_gives_no_plan():
    trials = made(model).trials
    lost = [t._replace(error=math.inf, se=math.nan) if t.num_particles == 5 else t for t in trials]
    assert "the smallest step diverged" in theory.plan(1000, Pilot(lost)).why


def cloud_error(quantile):
    places = (np.arange(512) + 0.5) / 512
    truth = jnp.asarray(quantile(places))

    def error(cloud):
        return jnp.mean(jnp.abs(jnp.sort(cloud)[(places * len(cloud)).astype(int)] - truth))

    return error


def start(key, count):
    return 3.0 + 0.5 * jax.random.normal(key, (count,))


def test_a_plan_made_on_a_gaussian_is_near_the_best_on_another_target():
    budget, kernel = 1024, spos.rbf(2.0)
    gaussian = cloud_error(lambda u: jax.scipy.special.ndtri(u))
    tried = theory.pilot(
        lambda x: -0.5 * x * x,
        start,
        gaussian,
        kernel=kernel,
        particle_counts=(5, 40),
        step_counts=(5, 15, 45),
        num_repeats=24,
    )
    chosen = theory.plan(budget, tried)
    assert chosen.trusted, chosen.why
    # a logistic density with the same variance, which the fit has not seen
    scale = math.sqrt(3) / math.pi
    error = cloud_error(lambda u: scale * np.log(u / (1 - u)))

    def on_logistic(particles, step_sizes, steps):
        found = theory.pilot(
            lambda x: -x / scale - 2 * jax.nn.softplus(-x / scale),
            start,
            error,
            kernel=kernel,
            particle_counts=(particles,),
            step_sizes=step_sizes,
            step_counts=(steps,),
            num_repeats=48,
            seed=1,
        )
        return [trial.error for trial in found.trials]

    (got,) = on_logistic(chosen.num_particles, (chosen.step_size,), chosen.num_steps)
    grid = [e for m in (8, 128) for e in on_logistic(m, (0.01, 0.05, 0.2), budget // m)]
    assert got < 1.25 * min(grid)
    assert got < 0.5 * float(np.median(grid))


def test_a_pilot_says_the_same_twice_and_something_else_with_another_seed():
    def tried(seed):
        return theory.pilot(
            lambda x: -0.5 * x * x,
            start,
            lambda cloud: jnp.abs(jnp.mean(cloud)),
            kernel=None,
            particle_counts=(4,),
            step_sizes=(0.1,),
            step_counts=(2, 5),
            num_repeats=3,
            seed=seed,
        )

    first = tried(0)
    assert first == tried(0)
    assert first != tried(1)
    assert [(t.num_particles, t.num_steps) for t in first.trials] == [(4, 2), (4, 5)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"particle_counts": ()}, "particle_counts must hold"),
        ({"num_repeats": 1}, "num_repeats must be at least 2"),
        ({"step_counts": (0,)}, "step_counts must be at least 1"),
        ({"step_sizes": (-0.1,)}, "step_sizes must be"),
    ],
)
def test_a_pilot_checks_its_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        theory.pilot(lambda x: -0.5 * x * x, start, jnp.mean, **change)


def test_plan_and_trials_check_their_arguments():
    with pytest.raises(ValueError, match="budget must be at least 1"):
        theory.plan(0, made(model))
    with pytest.raises(ValueError, match="at least 0"):
        Pilot([Trial(1, 0.1, 1, -1.0, 0.1)])
