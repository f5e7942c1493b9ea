import dataclasses
import math

import pytest

from spos.theory import Constants, Run, nonconvex_bias

# L_F = 1 and η = 2 make L_F + 4/η² = 2; convexity plays no part.
WELLS = Constants(
    dim=1, lipschitz=1.0, convexity=-1.0, score_bound=1.0, bandwidth=4.0, kernel_concavity=0.1
)
RUN = Run(
    beta=0.25,
    num_particles=2,
    num_steps=10,
    step_size=0.5,
    batch_size=3,
    gamma0=1.0,
    gradient_at_zero=0.1,
)
UNNAMED = {
    "dissipativity": (1.0, 1.0),
    "test_lipschitz": 2.0,
    "c2": 1.0,
    "c3": 2.0,
    "c6": 3.0,
    "sigma": 0.5,
}


def bias(run=RUN, **changes):
    return nonconvex_bias(WELLS, run, **(UNNAMED | changes))


def test_all_four_terms_by_hand():
    # m_Θ = 4 - 2 = 2; L_Θ = 4 sqrt(2) + 2 = 7.656854249; ς = L_Θ · (0.5 + 0.5 + 2) = 22.970562748.
    # Ergodicity: ς · 2 · (1 + ς e) · exp(-2 · 2 · 5 · 0.25/log ς), log ς = 3.134213494:
    # 45.941125497 · 63.440463 · exp(-1.595296740) = 2914.5262 · 0.202848316.
    # C4 = (1 + 4) · 0.1 = 0.5; Γ' = 2 · 1.5 · (2 + 2 · 4 · 0.25 + 8) = 36.
    # Minibatch: 2 · 5 · (36 L_Θ + 1) · sqrt(78 · 0.25/6) = 10 · 276.646753 · 1.802775638.
    assert bias().terms == pytest.approx(
        {
            "ergodicity": 591.2067,
            "discretisation": 2 * 0.5 / 0.25,
            "minibatch": 4987.3203,
            "particles": 2.1213203,
        },
        rel=1e-5,
    )


def test_the_value_is_the_sum_of_the_terms():
    bound = bias()
    assert bound.value == pytest.approx(sum(bound.terms.values()))


def test_what_time_does_to_each_term():
    later = bias(dataclasses.replace(RUN, num_steps=40)).terms
    now = bias().terms
    assert later["ergodicity"] < now["ergodicity"]
    assert later["minibatch"] == pytest.approx(4 * now["minibatch"])
    assert later["discretisation"] == now["discretisation"]
    assert later["particles"] == now["particles"]


def test_more_particles_help_one_term_and_spoil_another():
    more, now = bias(dataclasses.replace(RUN, num_particles=8)).terms, bias().terms
    assert more["particles"] == pytest.approx(now["particles"] / 2)
    assert more["ergodicity"] > now["ergodicity"]


def test_a_bound_too_large_for_a_float_is_infinite():
    assert bias(dataclasses.replace(RUN, num_particles=10_000)).value == math.inf


def test_a_weak_pull_leaves_no_bound():
    # m_Θ = 1/1 - 2 = -1; positive for beta < 1/2.
    bound = bias(dataclasses.replace(RUN, beta=1.0))
    assert not bound.applies
    assert "m_Theta = m/beta - L_F - 4/eta^2 = -1 must be positive" in bound.why
    assert "beta < 0.5" in bound.why


def test_a_varsigma_below_one_leaves_no_bound():
    # A drift that hardly grows: L_F = 0 and a vast kernel leave L_Θ = 4/η² = 1e-6, m_Θ = 1 less
    # as much, and ς = 2e-6 · (1 + 1 + 1).
    flat = dataclasses.replace(
        WELLS, lipschitz=0.0, convexity=0.0, bandwidth=4e6, kernel_concavity=0.0
    )
    bound = nonconvex_bias(flat, dataclasses.replace(RUN, beta=1.0, num_particles=1), **UNNAMED)
    assert not bound.applies
    assert "varsigma = 6e-06 must exceed 1" in bound.why


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"dissipativity": (0.0, 1.0)}, "dissipativity m must be"),
        ({"dissipativity": (1.0, -1.0)}, "dissipativity b must be"),
        ({"test_lipschitz": 0.0}, "test_lipschitz must be"),
        ({"c2": 0.0}, "c2 must be"),
        ({"c3": -1.0}, "c3 must be"),
        ({"c6": math.nan}, "c6 must be"),
        ({"sigma": 1.0}, "sigma must lie strictly between 0 and 1, got 1"),
    ],
)
def test_bad_arguments_are_refused(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        bias(**changes)
