import dataclasses
import math

import pytest

from spos.theory import (
    Constants,
    Run,
    decreasing_step_error,
    decreasing_step_total,
    fixed_step_error,
    fixed_step_total,
    particle_constants,
    particle_error,
    relaxation,
    relaxation_rate,
    start_distance,
)

# A standard normal, η = 2 and β = 1/10: m' = 8, H_θ = 1.5 (test_drift) and L_K = 0.428881942.
NORMAL = Constants(
    dim=1, lipschitz=1.0, convexity=1.0, score_bound=10.0, bandwidth=4.0, kernel_concavity=0.1
)
RUN = Run(
    beta=0.1,
    num_particles=100,
    num_steps=100,
    step_size=0.001,
    batch_size=50,
    gamma0=1.0,
    gradient_at_zero=0.0,
)


def test_particle_constants_by_hand():
    # c1 = 2 (0.428881942 + 1.5); c2 = 2.5 · 1.5 · 0.428881942 + 1 + 2 · 0.5.
    found = particle_constants(NORMAL, beta=0.1, gamma0=1.0)
    assert found == pytest.approx((3.857763885, 3.608307284))


def test_particle_error_by_hand():
    # 3.857763885/(10 · (10 - 3.608307284)) = 0.3857763885/6.391692716.
    bound = particle_error(NORMAL, beta=0.1, num_particles=100, gamma0=1.0)
    assert bound.value == pytest.approx(0.0603559, rel=1e-5)


def test_particle_error_falls_as_the_root_of_their_number():
    few, many = (
        float(particle_error(NORMAL, beta=0.1, num_particles=m, gamma0=1.0)) for m in (100, 10_000)
    )
    assert few == pytest.approx(10 * many)


def test_relaxation_by_hand():
    # λ1 = 10 - 1 - 0.857763885. At τ = 0.1: 2 exp(-1.628447223)
    # = 2 · exp(-1.6) · exp(-0.028447223) = 2 · 0.201896518 · 0.971953585.
    assert relaxation_rate(NORMAL, 0.1) == pytest.approx(8.142236115)
    bound = relaxation(NORMAL, beta=0.1, tau=0.1, c3=2.0)
    assert bound.value == pytest.approx(0.392468, rel=1e-5)


def test_relaxation_starts_at_c3_and_falls():
    values = [float(relaxation(NORMAL, beta=0.1, tau=tau, c3=2.0)) for tau in (0.0, 0.5, 1.0)]
    assert values[0] == 2.0
    assert values[1] / values[0] == pytest.approx(values[2] / values[1])
    assert values[1] < values[0]


def test_start_distance_by_hand():
    # sqrt(1) + sqrt(1/(8 · 0.1)) = 1 + sqrt(1.25).
    assert float(start_distance(NORMAL, beta=0.1, gamma0=1.0)) == pytest.approx(2.118033989)


def test_start_distance_covers_a_gaussian_start():
    # N(0, 0.2) and the target N(0, 1), independent: E‖θ_0 - θ_∞‖² = 1.2.
    gamma0 = -0.5 * math.log(1 - 0.4)
    assert float(start_distance(NORMAL, beta=0.1, gamma0=gamma0)) > math.sqrt(1.2)


def test_the_printed_relaxation_is_too_fast_for_a_gaussian_under_a_wide_kernel():
    # With K = 1 everywhere the mean of the flow falls as exp(-(1/β + 1) τ), and W1 is no less than
    # the distance of the means. 2 λ1 = 18 outruns 11; λ1 = 9 does not.
    wide = dataclasses.replace(NORMAL, bandwidth=1e12, kernel_concavity=0.0)
    mean, tau = 1.0, 2.0
    at_least = mean * math.exp(-11 * tau)
    c3 = math.sqrt(mean**2 + 1 + 1)  # start N(1, 1), independent of the target
    assert float(relaxation(wide, beta=0.1, tau=tau, c3=c3)) < at_least
    assert float(relaxation(wide, beta=0.1, tau=tau / 2, c3=c3)) >= at_least


def test_conditions_that_fail_are_named_with_their_numbers():
    # λ1 = 1 - 1 - 0.8577638849; positive for beta < 1/1.857763885 = 0.5383.
    slow = relaxation(NORMAL, beta=1.0, tau=1.0, c3=1.0)
    assert not slow.applies
    assert slow.value is None
    assert "lambda1 = m_F/beta - L_F - 2 L_K = -0.8578 must be positive" in slow.why
    assert "beta < 0.5383" in slow.why
    with pytest.raises(ValueError, match="lambda1"):
        float(slow)
    # β = 0.4: m' = 1/2, H_θ = sqrt(1 + 5), c2 = 2.5 · 2.449490 · 0.428881942 + 2 = 4.626.
    crowded = particle_error(NORMAL, beta=0.4, num_particles=100, gamma0=1.0)
    assert not crowded.applies
    assert crowded.why == "1/beta = 2.5 must exceed c2 = 4.626"
    assert "m' =" in particle_error(NORMAL, beta=1.0, num_particles=100, gamma0=1.0).why
    assert not start_distance(NORMAL, beta=1.0, gamma0=1.0).applies
    with pytest.raises(ValueError, match="m' ="):
        particle_constants(NORMAL, beta=1.0, gamma0=1.0)


def test_fixed_step_total_is_the_sum_of_its_three_terms():
    # Terms: as above with M = 100; relaxation 2.118033989/2 of its value at τ = 100 · 0.001;
    # the numerical one at M = 100 is ten times the 1569.8023 of test_step_error.
    bound = fixed_step_total(NORMAL, RUN, c4=1.0)
    assert bound.terms == pytest.approx(
        {"particles": 0.0603559, "relaxation": 0.4156306, "numerical": 15698.023}, rel=1e-5
    )
    assert bound.value == pytest.approx(sum(bound.terms.values()))
    assert bound.terms["numerical"] == float(fixed_step_error(NORMAL, RUN, c4=1.0))


def test_decreasing_step_total_relaxes_by_the_harmonic_sum():
    # 1 + 1/2 + 1/3 + 1/4 = 25/12, so τ = 0.001 · 25/12 and the factor exp(-2 · 8.142236115 τ)
    # = exp(-0.033925984) = 0.966643.
    bound = decreasing_step_total(NORMAL, dataclasses.replace(RUN, num_steps=4), c4=1.0)
    assert bound.terms["relaxation"] == pytest.approx(2.118033989 * 0.966643, rel=1e-6)
    assert bound.terms["particles"] == pytest.approx(0.0603559, rel=1e-5)
    assert bound.terms["numerical"] == float(decreasing_step_error(NORMAL, RUN, c4=1.0))


def test_with_time_the_fixed_step_bound_grows_and_the_decreasing_one_falls():
    def over_time(total):
        runs = (dataclasses.replace(RUN, num_steps=t) for t in (10**3, 10**4, 10**5))
        return [float(total(NORMAL, run, c4=1.0)) for run in runs]

    fixed, decreasing = over_time(fixed_step_total), over_time(decreasing_step_total)
    assert fixed[0] < fixed[1] < fixed[2]
    assert fixed[2] / fixed[1] == pytest.approx(math.sqrt(10), rel=1e-3)
    assert decreasing[0] > decreasing[1] > decreasing[2]


def test_there_is_a_best_number_of_particles():
    # The sum of a/sqrt(M) and b M: with a small c4 neither one particle nor very many is best.
    def at(particles):
        run = dataclasses.replace(RUN, num_particles=particles)
        return float(fixed_step_total(NORMAL, run, c4=1e-6))

    assert at(30) < at(1)
    assert at(30) < at(3000)


@pytest.mark.parametrize("total", [fixed_step_total, decreasing_step_total])
def test_a_total_that_does_not_apply_says_all_its_reasons_once(total):
    bound = total(NORMAL, dataclasses.replace(RUN, beta=1.0), c4=1.0)
    assert not bound.applies
    assert bound.terms == {}
    assert bound.why.count("m' =") == 1
    assert bound.why.count("lambda1 =") == 1


def test_a_total_that_does_not_apply_keeps_the_terms_that_do():
    # β = 0.4 fails 1/β > c2 alone: λ1 = 2.5 - 1.857763885 > 0 and m' = 1/2 > 0.
    bound = fixed_step_total(NORMAL, dataclasses.replace(RUN, beta=0.4), c4=1.0)
    assert bound.value is None
    assert set(bound.terms) == {"relaxation", "numerical"}
    assert "c2" in bound.why


def test_relaxation_is_no_term_where_only_its_constant_is_missing():
    # η² = 0.25 leaves λ1 = 10 - 1 - 2 · 1.7155 > 0 but m' = 10 - 1 - 16 < 0, hence no c3.
    narrow = dataclasses.replace(NORMAL, bandwidth=0.25)
    assert relaxation_rate(narrow, 0.1) > 0
    bound = fixed_step_total(narrow, RUN, c4=1.0)
    assert bound.terms == {}
    assert "lambda1" not in bound.why


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="particles must be"):
        particle_error(NORMAL, beta=0.1, num_particles=0, gamma0=1.0)
    with pytest.raises(ValueError, match="gamma0 must be"):
        particle_error(NORMAL, beta=0.1, num_particles=10, gamma0=-1.0)
    with pytest.raises(ValueError, match="beta must be"):
        relaxation_rate(NORMAL, -0.1)
    with pytest.raises(ValueError, match="tau must be"):
        relaxation(NORMAL, beta=0.1, tau=-1.0, c3=1.0)
    with pytest.raises(ValueError, match="c3 must be"):
        relaxation(NORMAL, beta=0.1, tau=1.0, c3=-1.0)
    with pytest.raises(ValueError, match="c4 must be"):
        fixed_step_total(NORMAL, RUN, c4=-1.0)
