import dataclasses
import math

import numpy as np
import pytest

from spos.theory import (
    Constants,
    Run,
    decreasing_step_constants,
    decreasing_step_error,
    fixed_step_constants,
    fixed_step_error,
)

# A standard normal, η = 2 and β = 1/10: m' = 8 and L' = 306, worked out in test_drift.
NORMAL = Constants(
    dim=1, lipschitz=1.0, convexity=1.0, score_bound=10.0, bandwidth=4.0, kernel_concavity=0.1
)
RUN = Run(
    beta=0.1,
    num_particles=10,
    num_steps=100,
    step_size=0.001,
    batch_size=50,
    gamma0=1.0,
    gradient_at_zero=0.0,
)
# First summand 4/(2 log(2)^r) = 2.896075 plus 4 · 99 · log(2)^(-1/99) = 397.468781.
BATCH_TAIL = 400.364856


def test_fixed_step_constants_by_hand():
    # A0/(Md) = 2 · 306 · (1 + 2 · 10) = 12852, so c5 = 4 · 0.001 · 12852.
    # A1/(Md) = 6 · 306 · (1285.2 + 1) = 2361463.2, so c6 = 0.0001 of it.
    found = fixed_step_constants(NORMAL, RUN)
    assert found == pytest.approx((51.408, 236.14632))


def test_minibatch_noise_at_the_mode_enters_the_constants():
    # g = (1 + 10) · 1: A0/(Md) = 612 · (1 + 2 (2 · 121 + 10)) + 121 = 309181.
    noisy = dataclasses.replace(RUN, gradient_at_zero=1.0)
    assert noisy.noise_at_zero == pytest.approx(11.0)
    assert fixed_step_constants(NORMAL, noisy).c5 == pytest.approx(0.004 * 309181)
    # S/(Md) = 306 · 21 + 121 = 6547, against 6426 without.
    quiet, loud = (decreasing_step_constants(NORMAL, run) for run in (RUN, noisy))
    assert loud.c7 / quiet.c7 == pytest.approx(6547 / 6426)
    assert loud.c9 == quiet.c9


def test_decreasing_step_constants_by_hand():
    # S/(Md) = 306 · (1 + 20) = 6426. c7 = π² · 1e-5 · 306 · 6426 = 19.66356 π²;
    # c8 = (50 b2 + 4) · 0.01 · 6426; c9 = π² · 0.01 · 306/2 = 1.53 π².
    found = decreasing_step_constants(NORMAL, RUN)
    assert found.c7 == pytest.approx(194.07156, rel=1e-6)
    assert found.c8 == pytest.approx((50 * BATCH_TAIL + 4) * 64.26, rel=1e-6)
    assert found.c9 == pytest.approx(15.100495, rel=1e-6)


def test_the_tail_of_the_growing_batches_is_bounded_where_the_printed_integral_is_not():
    k = np.arange(2, 1_000_000, dtype=float)
    head = np.sum(4 / (k * np.log(k) ** (100 / 99)))
    rest = 4 * 99 * math.log(1e6) ** (-1 / 99)  # from 10⁶ on, by an integral from below
    printed = 4 * 99 * math.log(2) ** (-1 / 99)
    assert printed < head + rest < BATCH_TAIL


def test_fixed_step_error_by_hand():
    # (51.408 · 0.01/50 + 236.14632 · 0.001) · 0.1 = 0.024642792, its root 0.15698023,
    # times 10 particles and β⁻³ = 1000.
    assert float(fixed_step_error(NORMAL, RUN, c4=1.0)) == pytest.approx(1569.8023, rel=1e-6)


def test_decreasing_step_error_by_hand():
    # c7 h0³ = 1.9407e-7; c8 β³ h0/B0 = (20022.2428 · 64.26) · 1e-6/50 = 0.025732587;
    # c9 h0² β² = 1.5100e-7. The root of 0.025732932 is 0.16041487, times 10 · 1000.
    assert float(decreasing_step_error(NORMAL, RUN, c4=1.0)) == pytest.approx(1604.1487, rel=1e-5)


@pytest.mark.parametrize("error", [fixed_step_error, decreasing_step_error])
def test_error_grows_with_particles_dimension_and_c4(error):
    run = dataclasses.replace(RUN, gamma0=0.0)
    base = float(error(NORMAL, run, c4=1.0))
    more = dataclasses.replace(run, num_particles=30)
    assert float(error(NORMAL, more, c4=1.0)) == pytest.approx(3 * base)
    assert float(error(NORMAL, run, c4=7.0)) == pytest.approx(7 * base)
    # d^(3/2), as c5 to c9 do not know d when start and noise at the mode are nil.
    assert float(error(dataclasses.replace(NORMAL, dim=4), run, c4=1.0)) == pytest.approx(8 * base)


def test_only_a_fixed_step_builds_up_error():
    longer = dataclasses.replace(RUN, num_steps=400)
    assert float(fixed_step_error(NORMAL, longer, c4=1.0)) == pytest.approx(
        2 * float(fixed_step_error(NORMAL, RUN, c4=1.0))
    )
    assert decreasing_step_error(NORMAL, longer, c4=1.0) == decreasing_step_error(
        NORMAL, RUN, c4=1.0
    )


def test_smaller_steps_and_larger_batches_help():
    finer = dataclasses.replace(RUN, step_size=0.0001, num_steps=1000)
    larger = dataclasses.replace(RUN, batch_size=500)
    for run in (finer, larger):
        assert float(fixed_step_error(NORMAL, run, c4=1.0)) < float(
            fixed_step_error(NORMAL, RUN, c4=1.0)
        )


def test_larger_first_batches_help_the_decreasing_step_hardly_at_all():
    larger = dataclasses.replace(RUN, batch_size=50_000)
    ratio = float(decreasing_step_error(NORMAL, larger, c4=1.0)) / float(
        decreasing_step_error(NORMAL, RUN, c4=1.0)
    )
    assert 0.999 < ratio < 1


@pytest.mark.parametrize("error", [fixed_step_error, decreasing_step_error])
def test_conditions_that_fail_are_named(error):
    weak = error(NORMAL, dataclasses.replace(RUN, beta=1.0), c4=1.0)
    assert not weak.applies
    assert "m' = m_F/beta - L_F - 4/eta^2 = -1 must be positive" in weak.why
    hasty = error(NORMAL, dataclasses.replace(RUN, step_size=0.1), c4=1.0)
    assert not hasty.applies
    assert "step_size = 0.1 must be at most" in hasty.why
    with pytest.raises(ValueError, match="step_size"):
        float(hasty)


@pytest.mark.parametrize("derived", [fixed_step_constants, decreasing_step_constants])
def test_constants_do_not_exist_without_a_pull(derived):
    with pytest.raises(ValueError, match="beta is too large"):
        derived(NORMAL, dataclasses.replace(RUN, beta=1.0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("beta", 0.0),
        ("beta", math.nan),
        ("num_particles", -1),
        ("num_steps", 0),
        ("step_size", -0.1),
        ("step_size", math.inf),
        ("batch_size", 0),
        ("gamma0", -1.0),
        ("gradient_at_zero", math.inf),
    ],
)
def test_a_bad_run_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be .* got {value}"):
        dataclasses.replace(RUN, **{name: value})


@pytest.mark.parametrize("error", [fixed_step_error, decreasing_step_error])
def test_a_bad_c4_is_refused(error):
    with pytest.raises(ValueError, match="c4 must be"):
        error(NORMAL, RUN, c4=0.0)
