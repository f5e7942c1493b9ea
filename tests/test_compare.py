"""`spos.compare`: honest errors, gradients that are counted, and samplers that break politely."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.diagnostics.compare import EXACT, RECORDS
from spos.diagnostics.errors import as_truth
from spos.targets.target import as_target

TRUTH = (np.asarray([1.0, 0.0]), np.asarray([[1.0, 0.0], [0.0, 4.0]]))
STEPS, COUNT, SEEDS = 200, 25, 3


def log_prob(theta):
    return -0.5 * (theta[0] - 1.0) ** 2 - 0.125 * theta[1] ** 2


def start(key):
    return 3.0 + jax.random.normal(key, (COUNT, 2))


@pytest.fixture(scope="module")
def compared():
    draws = np.random.default_rng(0).normal(size=(4000, 2)) * [1.0, 2.0] + [1.0, 0.0]
    samplers = {"sgld": spos.sgld(log_prob, 0.2), "wild": spos.sgld(log_prob, 30.0)}
    return spos.compare(
        log_prob,
        samplers,
        start,
        STEPS,
        truth=TRUTH,
        reference=draws.astype(np.float32),
        ksd_kernel=spos.imq(2.0),
        num_seeds=SEEDS,
    )


def test_errors_are_those_of_the_last_cloud_and_of_late_clouds_together(compared):
    row = compared.rows["sgld"]
    mean = row.points.mean(1)
    by_hand = np.linalg.norm(mean - TRUTH[0], axis=1) / np.sqrt(5.0)
    assert row.final()["mean"] == pytest.approx(by_hand)
    covariance = np.stack([np.cov(cloud, rowvar=False) for cloud in row.points])
    by_hand = np.linalg.norm(covariance - TRUTH[1], axis=(1, 2)) / np.sqrt(17.0)
    assert row.final()["covariance"] == pytest.approx(by_hand)
    # 32 clouds have a smaller error than one
    assert row.final()["pooled covariance"].mean() < 0.7 * by_hand.mean()
    # at the start the mean is off by (2, 3)
    assert row.cloud["mean"][:, 0].mean() > 0.5
    assert set(row.last) == {"sliced W1", "KSD"}


def test_independent_draws_have_the_mean_error_of_their_number(compared):
    exact = compared.rows[EXACT]
    # E ‖m - μ‖² / tr Σ = 1/M; 3 seeds of 64 records
    found = np.mean(exact.cloud["mean"] ** 2) * COUNT
    assert found == pytest.approx(1.0, abs=5 * np.sqrt(1.36 / (3 * 64)))


@pytest.mark.filterwarnings("ignore:.*too large for float32", "ignore:.*log_prob is -inf")
def test_a_sampler_that_diverges_is_a_row_that_says_when(compared):
    row = compared.rows["wild"]
    assert len(row.diverged) == SEEDS
    with pytest.raises(spos.NonFiniteError) as raised:
        # θ1 grows by |1 - 30| in a step: float32 ends at 29^k = 3e38, k = 26
        spos.sample(spos.sgld(log_prob, 30.0), start(jax.random.key(0)), 100, progress=False)
    assert 0 <= row.diverged.min() - int(raised.value.state.step) <= 200 // RECORDS + 1
    [line] = [line for line in compared.table().splitlines() if "wild" in line]
    assert f"diverged by step {row.diverged.min()} (3 of 3 seeds)" in line
    assert "nan" not in line


def test_the_table_has_a_line_for_each_sampler_and_a_column_for_each_measure(compared):
    head, rule, *lines = compared.table().splitlines()
    for word in ("mean", "covariance", "pooled mean", "sliced W1", "KSD", "ms a step"):
        assert f"| {word} |" in head
    assert [line.split(" | ")[0].strip("| ") for line in lines] == ["sgld", "wild", EXACT]
    assert len({line.count("|") for line in (head, rule, *lines)}) == 1
    assert "5,000" in lines[0]  # gradients: 25 particles, 200 steps
    assert str(compared).startswith("25 particles, 200 steps, 3 seeds")


def test_the_figure_has_a_panel_for_each_sampler_within_the_sound_errors(compared):
    figure = compared.plot("mean")
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == ["sgld", f"wild, diverged by step {compared.rows['wild'].diverged.min()}"]
    assert figure.axes[0].get_ylim()[1] < 10
    with pytest.raises(ValueError, match="measure must be one of mean, covariance"):
        compared.plot("beauty")


def test_minibatches_count_by_their_rows_and_pytrees_are_taken_in_order():
    target = spos.posterior(
        lambda theta, x: -0.5 * (x - theta["a"]) ** 2 - 0.5 * theta["b"] ** 2,
        lambda theta: 0.0,
        jnp.zeros(12),
        3,
    )
    begin = {"a": jnp.ones(4), "b": jnp.zeros(4) + jnp.arange(4.0)}
    truth = (np.zeros(2), np.eye(2))
    found = spos.compare(
        target, {"one": spos.sgld(target, 1e-9)}, begin, 5, truth=truth, num_seeds=2, progress=False
    )
    row = found.rows["one"]
    assert row.evaluations[-1] == 5 * 4 * 3
    assert row.points[0].mean(0) == pytest.approx([1.0, 1.5], abs=1e-3)
    assert list(found.rows) == ["one"]


def test_without_moments_the_draws_stand_for_the_truth():
    draws = np.random.default_rng(1).normal(size=(500, 2)).astype(np.float32)
    truth = as_truth(None, draws, as_target(log_prob), None, 2)
    assert truth.moment_errors(np.asarray(draws, np.float64)) == {
        "mean": pytest.approx(0.0, abs=1e-6),
        "covariance": pytest.approx(0.0, abs=1e-6),
    }


def test_a_progress_line_is_shown_when_wanted(capsys):
    spos.compare(
        log_prob,
        {"sgld": spos.sgld(log_prob, 0.1)},
        jnp.ones((2, 2)),
        1,
        truth=TRUTH,
        num_seeds=2,
        progress=True,
    )
    assert "compare 100%" in capsys.readouterr().err


BAD = {
    "no truth": ({"truth": None}, ValueError, "truth or reference must be given"),
    "wrong truth": (
        {"truth": (np.zeros(3), np.eye(3))},
        ValueError,
        r"truth must be a mean of 2 .*got shapes \(3,\) and \(3, 3\)",
    ),
    "no samplers": ({"samplers": {}}, TypeError, "samplers must map names"),
    "not a sampler": ({"samplers": {"x": 3}}, TypeError, r"samplers\['x'\] must be a sampler"),
    "one seed": ({"num_seeds": 1}, ValueError, "num_seeds must be at least 2"),
    "no steps": ({"num_steps": 0}, ValueError, "num_steps must be at least 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_done_is_said(case):
    change, kind, words = BAD[case]
    given = {
        "target": log_prob,
        "samplers": {"sgld": spos.sgld(log_prob, 0.1)},
        "particles": jnp.ones((2, 2)),
        "num_steps": 1,
        "truth": TRUTH,
    }
    with pytest.raises(kind, match=words):
        spos.compare(**{**given, **change})
