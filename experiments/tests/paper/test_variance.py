"""The variance experiment: equal budgets, the verdicts of its rules, and life without the data."""

import numpy as np
import pytest

from spos_experiments.paper import variance
from spos_experiments.paper.variance import covertype, measure
from spos_experiments.paper.variance.covertype import Reference
from spos_experiments.paper.variance.findings import claims


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPOS_DATA", str(tmp_path_factory.mktemp("empty")))
        return covertype.problem(200, seed=0)


def test_without_the_file_rows_are_made_up_and_said_to_be(made_up, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SPOS_DATA", str(tmp_path))
    assert covertype.problem(50, seed=1).source == "made-up rows of the same form"
    assert str(tmp_path) in capsys.readouterr().err
    x = np.asarray(made_up.data["x"], np.float64)
    np.testing.assert_allclose(x.T @ x / len(x), np.eye(11), atol=1e-3)  # uncorrelated
    score = covertype.posterior(made_up.data, None).score(made_up.mode[None])
    assert np.abs(score).max() < 1e-2


def test_every_estimate_spends_its_budget_and_no_more(made_up):
    settings = variance.Settings(rows=200, batch_size=10, particles=3)
    budget = 3 * 200 * 7
    for target in measure.targets(settings, made_up).values():
        steps = measure.steps_within(target, budget, 3)
        assert target.gradient_evaluations(steps, 3) <= budget
        assert target.gradient_evaluations(steps + 1, 3) > budget


def verdicts(noise_left, far, plain, less):
    settings = variance.Settings(methods=("SGLD",), scores=("plain", "control variate"))
    noise = {"plain": [1.0, 1.0], "control variate": [far, noise_left], "distance": [3.0, 0.1]}
    spread = np.linspace(-0.01, 0.01, 4)
    ratio = {
        ("SGLD", "plain"): 1 + np.array(plain)[:, None] + spread,
        ("SGLD", "control variate"): 1 + np.array(less)[:, None] + spread,
    }
    truth = Reference(np.zeros(1), np.ones(1), 0.0, 0.0, 0.7)
    return [claim.verdict for claim in claims(noise, ratio, truth, settings)]


def test_the_rules_give_every_verdict():
    assert verdicts(0.01, 2.0, [1, 2, 3, 4], [0.1, 0.1, 0.1, 0.2]) == ["holds"] * 4
    assert verdicts(0.5, 0.5, [0.1, 2, 3, 4], [0.1, 0.1, 0.1, 0.2]) == ["not seen"] * 4
    # a better estimate at every step size but one, and at its best
    found = verdicts(0.01, 0.5, [0.3, 2, 3, 4], [0.1, 0.1, 0.1, 5.0])
    assert found == ["holds", "not seen", "not seen", "holds"]
