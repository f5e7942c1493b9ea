"""A classifier's mixture is made by rows that its short runs did not see."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from spos import SPOSClassifier
from spos.estimators import base, stacking
from spos.estimators.stacking import (
    SHARPNESS,
    Candidate,
    Mixture,
    best_mixture,
    mixed,
    settled,
    sharpened,
)
from spos.io.archive import DamagedFileError
from spos.networks.plain import Exported
from spos.networks.rows import Rows
from spos.targets import relu_network

rng = np.random.default_rng(0)


def terms_of(*chances):
    """Log-densities that do not depend on the sharpness."""
    return np.stack([np.tile(np.log(each), (len(SHARPNESS), 1)) for each in chances])


def test_the_shares_are_the_likeliest():
    chances = rng.uniform(0.05, 1.0, (2, 40))
    weights = rng.uniform(0.5, 2.0, 40)
    found = best_mixture(terms_of(*chances), weights)
    first = np.linspace(0.001, 0.999, 999)
    both = np.stack([first, 1.0 - first], axis=1)
    score = np.log(both @ chances) @ weights + np.log(both).sum(1)
    np.testing.assert_allclose(found.shares, both[score.argmax()], atol=2e-3)
    assert found.sharpness == 1.0  # rows say nothing of it


def test_what_is_worth_no_run_has_no_share_and_no_rows_mean_equal_shares():
    poor, good = np.full(100, 0.1), np.full(100, 0.9)
    np.testing.assert_array_equal(best_mixture(terms_of(poor, good), np.ones(100)).shares, [0, 1])
    nothing = best_mixture(np.empty((3, len(SHARPNESS), 0)), np.empty(0))
    np.testing.assert_allclose(nothing.shares, np.full(3, 1 / 3))
    assert nothing.sharpness == 1.0


@pytest.mark.parametrize(("truth", "low", "high"), [(2.0, 1.6, 2.4), (0.5, 0.5, 0.7)])
def test_outputs_that_are_too_soft_are_sharpened_and_others_softened(truth, low, high):
    outputs = rng.normal(size=(4000, 3))
    y = np.array([rng.choice(3, p=p) for p in softmax(truth * outputs, axis=1)])
    logs = [np.log(softmax(tau * outputs, axis=1)[np.arange(4000), y]) for tau in SHARPNESS]
    assert low <= best_mixture(np.array([logs]), np.ones(4000)).sharpness <= high


class Learner:
    """A classifier whose second candidate alone knows the rows that it has not seen."""

    average = 1

    def __init__(self):
        self.seen, self.judged = [], []

    def _scaling(self, rows):
        return None

    def _prepared(self, x):
        return x

    def _train(self, rows, num_steps, *more, **settings):
        self.seen.append(np.unique(rows.x))
        return SimpleNamespace(particles=None)

    def _log_densities(self, x, y, sharpness):
        self.judged.append(x[:, 0])
        chance = 0.9 if self._candidate.width == 5.0 else 0.1
        return np.full((len(sharpness), len(x)), np.log(chance))


@pytest.mark.parametrize(("count", "parts"), [(40, 0), (100, 3), (1600, 2), (4000, 1)])
def test_each_row_is_held_out_once_until_enough_are(count, parts):
    model, candidates = Learner(), (Candidate(1.0), Candidate(5.0))
    rows = Rows(np.arange(float(count))[:, None], np.zeros(count), np.ones(count))
    found = settled(model, candidates, rows, 1000, np.random.RandomState(0))
    assert len(model.judged) == 2 * parts
    assert len(np.unique(np.concatenate([*model.judged, []]))) == sum(map(len, model.judged)) / 2
    for seen, judged in zip(model.seen, model.judged, strict=True):
        assert len(np.union1d(seen, judged)) == count
        assert not np.isin(judged, seen).any()
    np.testing.assert_array_equal(found.shares, [0.0, 1.0] if parts else [0.5, 0.5])


def test_a_pool_has_the_newest_networks_of_each_by_its_share():
    clouds = [{"w": np.arange(10) + 10 * n} for n in range(3)]
    pool = mixed(clouds, [0.5, 0.3, 0.2])["w"].tolist()
    assert pool == [28, 29, 17, 18, 19, 5, 6, 7, 8, 9]
    assert mixed(clouds[:1], [0.5, 0.3, 0.2])["w"].tolist() == [*range(10)]  # the rest is missing


@pytest.mark.parametrize("hidden", [(), (4,), (4, 5)])
@pytest.mark.parametrize("linear", [False, True])
def test_sharper_networks_have_larger_outputs(hidden, linear):
    network = relu_network(3, 2, hidden, linear=linear)
    drawn = jax.tree.map(
        lambda leaf: rng.normal(size=leaf.shape).astype(np.float32),
        network.init(jax.random.key(0)),
    )
    x = rng.normal(size=(6, 3)).astype(np.float32)
    sharper = sharpened({"weights": drawn}, 2.0)["weights"]
    np.testing.assert_allclose(
        network.apply(sharper, x), 2.0 * network.apply(drawn, x), rtol=1e-5, atol=1e-5
    )


def test_a_classifier_takes_wide_priors_where_classes_are_sharp(tmp_path):
    x = rng.uniform(-1.0, 1.0, (400, 2))
    sharp = np.sin(4 * x[:, 0]) * np.sin(4 * x[:, 1]) > 0
    noisy = x[:, 0] + rng.normal(size=400) > 0
    made = SPOSClassifier((20,), n_particles=5, num_steps=5000, random_state=0)
    narrow, _, wide = made.fit(x, noisy).prior_shares_
    assert narrow > wide
    assert made.sharpness_ <= 1.0
    assert made.fit(x, sharp).prior_shares_.argmax() == 2
    again = SPOSClassifier.load(made.save(tmp_path / "sharp.npz"))
    np.testing.assert_array_equal(again.prior_shares_, made.prior_shares_)
    assert again.sharpness_ == made.sharpness_


@pytest.fixture
def sampled(monkeypatch):
    """The width of the prior and β of each run, of a mixture that is given."""
    runs, train = [], base.train

    def told(network, rows, setting, *more, **rest):
        runs.append((float(network.prior.full_width), setting.beta))
        return train(network, rows, setting, *more, **rest)

    monkeypatch.setattr(base, "train", told)
    given = Mixture(np.array([0.2, 0.5, 0.3]), 2.0)
    monkeypatch.setattr(stacking, "settled", lambda *everything: given)
    return runs


X, LABELS = rng.normal(size=(60, 2)), np.arange(60) % 2
SMALL = {"n_particles": 2, "average": 5, "num_steps": 50, "beta": 20.0, "random_state": 0}


def test_the_largest_share_is_sampled_first_and_goes_on(sampled):
    model = SPOSClassifier((4,), **SMALL, warm_start=True).fit(X, LABELS)
    assert sampled == [(5.0, 20.0), (50.0, 200.0), (1.0, 20.0)]
    assert model.n_iter_ == 50
    assert len(model.particles_["weights"]["b0"]) == 10
    model.partial_fit(X, LABELS)
    model.fit(X, LABELS)
    assert sampled[3:] == [(5.0, 20.0)] * 2
    assert model.n_iter_ == 50 + 500 + 50


def test_networks_that_are_kept_are_as_sharp_as_was_found(sampled, monkeypatch):
    sharp = SPOSClassifier((4,), **SMALL).fit(X, LABELS).particles_["weights"]
    plain = Mixture(np.array([0.2, 0.5, 0.3]), 1.0)
    monkeypatch.setattr(stacking, "settled", lambda *everything: plain)
    soft = SPOSClassifier((4,), **SMALL).fit(X, LABELS).particles_["weights"]
    for name, times in {"w0": 1.0, "b0": 1.0, "w1": 2.0, "b1": 2.0, "linear": 2.0}.items():
        np.testing.assert_array_equal(sharp[name], np.float32(times) * soft[name])


def test_files_with_other_shares_or_no_numbers_are_refused(sampled, tmp_path):
    model, path = SPOSClassifier((4,), **SMALL).fit(X, LABELS), tmp_path / "model.npz"
    for shares in (np.ones(2) / 2, np.zeros(3), np.array([np.nan, 0.5, 0.5])):
        model.prior_shares_ = shares
        with pytest.raises(DamagedFileError, match="shares of 3 posteriors"):
            SPOSClassifier.load(model.save(path))
    with np.load(model.export(path)) as file:
        arrays = dict(file)
    arrays["linear"][0] = np.nan
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="linear has numbers that are not finite"):
        Exported.load(path)


def test_it_is_near_a_straight_line_where_that_is_right():
    slope = rng.normal(size=8)
    x = rng.normal(size=(1150, 8))
    y = x @ slope + rng.logistic(size=1150) > 0
    straight = LogisticRegression().fit(x[:150], y[:150])
    ours = SPOSClassifier(random_state=0).fit(x[:150], y[:150])
    losses = [
        -np.log(model.predict_proba(x[150:])[np.arange(1000), y[150:].astype(int)]).mean()
        for model in (ours, straight)
    ]
    assert losses[0] < 1.05 * losses[1]
