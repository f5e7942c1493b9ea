import math

import numpy as np
import pytest

from spos.theory import Constants, dissipation, second_moment, squared_growth, typical_score

# A standard normal and a kernel with η = 2, so that 4/η² = 1.
NORMAL = Constants(
    dim=1, lipschitz=1.0, convexity=1.0, score_bound=10.0, bandwidth=4.0, kernel_concavity=0.1
)


def test_pull_and_growth_by_hand():
    # m' = 10 - 1 - 1; L' = 3 (10² + 1 + 16/16).
    assert dissipation(NORMAL, 0.1) == pytest.approx(8.0)
    assert squared_growth(NORMAL, 0.1) == pytest.approx(306.0)


def test_typical_score_by_hand():
    # sqrt(1 + 1/(8 · 0.1)) = sqrt(2.25), times L_F = 1.
    assert float(typical_score(NORMAL, beta=0.1, gamma0=1.0)) == pytest.approx(1.5)


def test_second_moment_by_hand():
    # m' = 8 > 1: 10 · 1 + 2 · 10/0.1. m' = 1/0.4 - 2 = 1/2: 10 · 1 + 2 · 2 · 10/0.4.
    strong = second_moment(NORMAL, beta=0.1, num_particles=10, gamma0=1.0, step_size=0.001)
    assert strong.terms == pytest.approx({"start": 10.0, "noise": 200.0})
    weak = second_moment(NORMAL, beta=0.4, num_particles=10, gamma0=1.0, step_size=0.001)
    assert weak.value == pytest.approx(110.0)


def test_second_moment_holds_for_the_exact_law_of_one_particle():
    # One particle feels h (1 + 1/β) of its own score: an autoregression with a known variance.
    beta, step_size = 0.1, 0.008
    keep = 1 - step_size * (1 + 1 / beta)
    start = 0.25
    gamma0 = -0.5 * math.log(1 - 2 * start)
    bound = second_moment(NORMAL, beta=beta, num_particles=1, gamma0=gamma0, step_size=step_size)
    k = np.arange(2000)
    noise = 2 * step_size / beta * (1 - keep ** (2 * k)) / (1 - keep**2)
    assert (keep ** (2 * k) * start + noise).max() <= float(bound)


def test_a_weak_pull_leaves_no_bound_and_the_largest_beta_is_named():
    # m' = 1/1 - 1 - 1 = -1; it is positive for beta < 1/2.
    for bound in (
        typical_score(NORMAL, beta=1.0, gamma0=1.0),
        second_moment(NORMAL, beta=1.0, num_particles=10, gamma0=1.0, step_size=0.001),
    ):
        assert not bound.applies
        assert bound.value is None
        assert "= -1 must be positive" in bound.why
        assert "beta < 0.5" in bound.why


def test_svgd_has_no_pull_at_all():
    assert dissipation(NORMAL, math.inf) == -2.0
    assert "m_F = 1, beta = inf" in typical_score(NORMAL, beta=math.inf, gamma0=1.0).why


def test_no_beta_helps_without_convexity():
    saddle = Constants(
        dim=1, lipschitz=1.0, convexity=-0.5, score_bound=1.0, bandwidth=4.0, kernel_concavity=0.1
    )
    assert "no beta helps" in typical_score(saddle, beta=0.1, gamma0=1.0).why


def test_a_long_step_leaves_no_bound_and_the_longest_is_named():
    # m'/(3 L') = 8/918 = 0.0087146.
    bound = second_moment(NORMAL, beta=0.1, num_particles=10, gamma0=1.0, step_size=0.009)
    assert not bound.applies
    assert "step_size = 0.009 must be at most" in bound.why
    assert "0.008715" in bound.why


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"beta must be .* got 0"):
        dissipation(NORMAL, 0.0)
    with pytest.raises(ValueError, match="gamma0 must be"):
        typical_score(NORMAL, beta=0.1, gamma0=-1.0)
    with pytest.raises(ValueError, match="particles must be at least 1, got -3"):
        second_moment(NORMAL, beta=0.1, num_particles=-3, gamma0=1.0, step_size=0.001)
    with pytest.raises(ValueError, match="step_size must be"):
        second_moment(NORMAL, beta=0.1, num_particles=3, gamma0=1.0, step_size=0.0)
