import dataclasses
import math

import pytest

from spos.theory import Constants, attraction_rate, spos_spread, svgd_spread

# η² = 2 makes L_K = exp(-1/2) = 0.60653066; λ of SVGD is 0.5 - 0.2 · 0.60653066 = 0.37869387.
TIGHT = Constants(
    dim=2, lipschitz=1.0, convexity=1.0, score_bound=0.2, bandwidth=2.0, kernel_concavity=0.5
)


def test_svgd_spread_by_hand():
    # 3 exp(-2 · 0.37869387 · 2) = 3 · exp(-1.5) · exp(-0.01477547) = 3 · 0.22313016 · 0.98533315.
    assert attraction_rate(TIGHT) == pytest.approx(0.37869387)
    assert float(svgd_spread(TIGHT, initial_spread=3.0, tau=2.0)) == pytest.approx(0.6595726)


def test_svgd_collapses_where_the_kernel_outdoes_the_score_and_only_there():
    assert float(svgd_spread(TIGHT, initial_spread=3.0, tau=100.0)) < 1e-30
    steep = dataclasses.replace(TIGHT, score_bound=5.0)
    assert attraction_rate(steep) < 0
    later = svgd_spread(steep, initial_spread=3.0, tau=1.0)
    assert float(later) > float(svgd_spread(steep, initial_spread=3.0, tau=0.5)) > 3.0
    assert svgd_spread(steep, initial_spread=3.0, tau=1e6).value == math.inf
    assert svgd_spread(steep, initial_spread=0.0, tau=1e6).value == 0.0


def test_svgd_needs_the_concave_cap_and_a_bounded_score():
    outside = svgd_spread(
        dataclasses.replace(TIGHT, kernel_concavity=-0.1), initial_spread=3.0, tau=1.0
    )
    assert not outside.applies
    assert "m_K = -0.1 must be positive" in outside.why
    assert "eta/sqrt(2) = 1" in outside.why
    unbounded = svgd_spread(
        dataclasses.replace(TIGHT, score_bound=math.inf), initial_spread=3.0, tau=1.0
    )
    assert not unbounded.applies
    assert "H_F must be finite" in unbounded.why


def test_spos_spread_by_hand():
    # λ = 2 + 0.37869387. Limit 4 · sqrt(2/0.5) · 5/λ = 40/2.37869387 = 16.815951.
    # Start 5 · 4 · 1 - 16.815951 = 3.184049, times exp(-0.5 λ) = exp(-1.18934693) = 0.30442002.
    bound = spos_spread(TIGHT, beta=0.5, num_particles=5, tau=0.25, initial_gap=1.0)
    assert bound.terms == pytest.approx({"start": 0.969288, "noise": 16.815951}, rel=1e-5)
    assert bound.value == pytest.approx(17.785239, rel=1e-6)


def test_spos_particles_in_one_place_are_pushed_apart_and_spread_ones_fall_together():
    def at(tau, gap):
        return float(spos_spread(TIGHT, beta=0.5, num_particles=5, tau=tau, initial_gap=gap))

    assert at(0.0, 0.0) == pytest.approx(0.0)
    assert at(0.0, 0.0) < at(0.1, 0.0) < at(1.0, 0.0) < at(50.0, 0.0)
    assert at(0.0, 9.0) > at(0.1, 9.0) > at(1.0, 9.0) > at(50.0, 9.0)
    assert at(50.0, 0.0) == pytest.approx(at(50.0, 9.0))


def test_spos_needs_a_positive_rate_and_says_its_numbers():
    # λ = 1/10 + 0.5 - 2 · 0.60653066 = -0.6130613.
    bound = spos_spread(
        dataclasses.replace(TIGHT, score_bound=2.0),
        beta=10.0,
        num_particles=5,
        tau=1.0,
        initial_gap=1.0,
    )
    assert not bound.applies
    assert "= -0.6131 must be positive" in bound.why
    assert "beta = 10" in bound.why
    unbounded = dataclasses.replace(TIGHT, score_bound=math.inf)
    assert not spos_spread(unbounded, beta=0.1, num_particles=5, tau=1.0, initial_gap=1.0).applies


def test_without_noise_spos_keeps_no_distance():
    bound = spos_spread(TIGHT, beta=math.inf, num_particles=5, tau=100.0, initial_gap=1.0)
    assert bound.terms["noise"] == 0.0
    assert float(bound) < 1e-30


def test_the_printed_svgd_exponent_is_twice_what_two_attracting_particles_do():
    # No score, two particles a small δ apart: under the attractive flow δ' = -(2/η²) δ exp(-δ²/η²),
    # never faster than 2/η² = 1. So δ ≥ δ0 exp(-τ), while the printed bound is about δ0 exp(-2τ).
    free = dataclasses.replace(TIGHT, score_bound=0.0, kernel_concavity=0.999)
    tau, spread = 3.0, 0.01
    at_least = spread * math.exp(-tau)
    assert float(svgd_spread(free, initial_spread=spread, tau=tau)) < at_least
    assert float(svgd_spread(free, initial_spread=spread, tau=tau / 2)) >= at_least


def test_the_printed_spos_limit_is_too_small_for_a_gaussian_under_a_wide_kernel():
    # With K = 1 everywhere the differences are Ornstein-Uhlenbeck: E‖θ_i - θ_j‖² → 2d/m_F. The
    # printed limit is 4M sqrt(d β)/m_F, and vanishes with β.
    wide = Constants(
        dim=1, lipschitz=1.0, convexity=1.0, score_bound=10.0, bandwidth=1e12, kernel_concavity=0.0
    )
    particles = 10
    exact = math.sqrt(particles * (particles - 1) * 2)
    bound = spos_spread(wide, beta=0.01, num_particles=particles, tau=100.0, initial_gap=2.0)
    assert float(bound) < exact


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"initial_spread must be .* got -1"):
        svgd_spread(TIGHT, initial_spread=-1.0, tau=1.0)
    with pytest.raises(ValueError, match="tau must be"):
        svgd_spread(TIGHT, initial_spread=1.0, tau=-1.0)
    with pytest.raises(ValueError, match="beta must be"):
        spos_spread(TIGHT, beta=-1.0, num_particles=5, tau=1.0, initial_gap=1.0)
    with pytest.raises(ValueError, match="particles must be"):
        spos_spread(TIGHT, beta=1.0, num_particles=0, tau=1.0, initial_gap=1.0)
    with pytest.raises(ValueError, match="initial_gap must be"):
        spos_spread(TIGHT, beta=1.0, num_particles=5, tau=1.0, initial_gap=math.nan)
