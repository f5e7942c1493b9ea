"""What an estimator leaves open is decided by rows that short runs did not see."""

from types import SimpleNamespace

import numpy as np
import pytest

from spos import SPOSRegressor
from spos.estimators import base, choice
from spos.networks.rows import Rows

ROWS = Rows(np.arange(90.0)[:, None], np.zeros(90), np.ones(90))


class Learner:
    """A model that says more of unseen rows the longer it learns, up to `enough` steps."""

    def __init__(self, enough):
        self.enough, self.lengths, self.pooled = enough, [], []
        self.average = 1

    def _scaling(self, rows):
        return None

    def _train(self, rows, num_steps, *more, **settings):
        self.lengths.append(num_steps)
        self.pooled.append(settings["average"])
        return SimpleNamespace(particles=None)

    def _log_density(self, X, y):
        """A row may say a little more or less, so that a gain has a standard error."""
        gain = min(self.lengths[-1], self.enough)
        return gain + 0.1 * np.random.default_rng(gain).normal(size=len(y))


def steps(model, rows=ROWS, num_steps=1000, most_steps=20_000, choices=None):
    return choice.settle(
        model, choices or {}, rows, num_steps, most_steps, np.random.RandomState(0)
    )


@pytest.mark.parametrize(
    ("enough", "expected"), [(200, 1000), (300, 2000), (900, 8000), (10**6, 20_000)]
)
def test_steps_are_doubled_as_long_as_it_pays(enough, expected):
    assert steps(Learner(enough)) == expected


def test_runs_are_a_fifth_of_what_they_stand_for():
    model = Learner(400)
    assert steps(model) == 2000
    assert model.lengths == [200, 400, 800]


@pytest.mark.parametrize(("average", "pooled"), [(1, 1), (5, 5), (7, 5)])
def test_a_short_run_predicts_with_its_second_half(average, pooled):
    """Networks of the first half know little, and the more so the shorter the run is."""
    model = Learner(400)
    model.average = average
    steps(model)
    assert model.pooled == [pooled] * 3


def test_what_is_settled_takes_no_runs():
    for given in ({"most_steps": 1000}, {"rows": ROWS.take(np.arange(5))}):
        model = Learner(10**6)
        assert steps(model, **given, choices={"noise_": ("constant",)}) == 1000
        assert model.noise_ == "constant"
        assert model.lengths == []


@pytest.mark.parametrize(("step_size", "taken"), [(1e-3, 4000), (3e-2, 1000)])
def test_a_fit_goes_on_where_steps_are_too_small_to_arrive(monkeypatch, step_size, taken):
    monkeypatch.setattr(base, "FEWEST_STEPS", 1000)
    monkeypatch.setattr(base, "MOST_STEPS", 4000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X @ [3.0, 1.0] + rng.normal(size=300)
    fixed = {"noise": "constant", "target_transform": "none", "validation_fraction": 0.0}
    model = SPOSRegressor((), n_particles=4, step_size=step_size, random_state=0, **fixed)
    assert model.fit(X, y).n_iter_ == taken
    assert model.set_params(num_steps=300).fit(X, y).n_iter_ == 300
