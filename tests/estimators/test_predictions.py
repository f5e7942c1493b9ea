"""What the estimators say, held against the networks they keep."""

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from spos import SPOSClassifier, SPOSRegressor
from spos.estimators import classifier as classifier_module
from spos.io.archive import DamagedFileError

rng = np.random.default_rng(1)
NOISE = 0.3
X = rng.uniform(-2, 2, size=(400, 1))
Y = 50.0 + 10.0 * (np.sin(2.0 * X[:, 0]) + NOISE * rng.normal(size=400))
LABELS = np.where(X[:, 0] + 0.5 * rng.normal(size=400) > 0, "up", "down")
TRAIN, TEST = slice(0, 200), slice(200, 400)
SETTINGS = {"hidden": (20,), "n_particles": 10, "random_state": 0, "num_steps": 600}
PLAIN = {**SETTINGS, "step_size": 1e-2, "noise": "constant", "target_transform": "none"}
SVGD = {**SETTINGS, "method": "svgd"}  # compiles faster than the default


@pytest.fixture(scope="module")
def model():
    return SPOSRegressor(**PLAIN).fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(scope="module")
def classifier():
    return SPOSClassifier(**SVGD).fit(X[TRAIN], LABELS[TRAIN])


def networks_of(model, x):
    """Outputs of all networks, by NumPy: (S, n, k)."""
    w = {name: np.float64(leaf) for name, leaf in model.particles_["weights"].items()}
    x = (x - model.scaling_.x_centre) / model.scaling_.x_unit
    hidden = np.maximum(x @ w["w0"][:, : x.shape[1]] + w["b0"][:, None], 0.0)  # others are zero
    straight = x @ w["linear"][:, : x.shape[1]] if "linear" in w else 0.0
    return hidden @ w["w1"] + w["b1"][:, None] + straight


def parts_of(model, x):
    """Mean and standard deviation by each network, in the units of y."""
    unit = model.scaling_.y_unit
    own = model.particles_["likelihood"]
    deviation = unit * np.exp(-0.5 * np.float64(own["log_precision"]))  # (S, 1)
    return networks_of(model, x)[:, :, 0] * unit + model.scaling_.y_centre, deviation


def test_mean_deviation_and_both_variances(model):
    mean, deviation = parts_of(model, X[TEST])
    np.testing.assert_allclose(model.predict(X[TEST]), mean.mean(0), rtol=1e-4)
    said, std = model.predict(X[TEST], return_std=True)
    np.testing.assert_array_equal(said, model.predict(X[TEST]))
    aleatoric, epistemic = model.predict_variance(X[TEST])
    np.testing.assert_allclose(std**2, aleatoric + epistemic)
    np.testing.assert_allclose(epistemic, mean.var(0), rtol=1e-2)
    np.testing.assert_allclose(aleatoric, np.full(200, (deviation**2).mean()), rtol=1e-4)


def test_the_log_predictive_is_that_of_the_mixture(model):
    mean, deviation = parts_of(model, X[TEST])
    expected = np.log(stats.norm.pdf(Y[TEST], mean, deviation).mean(0))
    np.testing.assert_allclose(model.log_predictive(X[TEST], Y[TEST]), expected, rtol=1e-3)


def test_an_interval_holds_its_share_of_the_mixture(model):
    low, high = model.predict_interval(X[TEST], 0.8)
    mean, deviation = parts_of(model, X[TEST])
    below, above = (stats.norm.cdf(end, mean, deviation).mean(0) for end in (low, high))
    np.testing.assert_allclose(below, 0.1, atol=1e-4)
    np.testing.assert_allclose(above, 0.9, atol=1e-4)
    with pytest.raises(ValueError, match="level"):
        model.predict_interval(X, 0.0)


def test_it_learns_and_its_intervals_hold_what_they_say(model):
    """Of 200 new outcomes, 90 % intervals miss Binomial(200, 0.1): 2.1 % is the standard error.
    Four of them are allowed, since the intervals themselves are estimates."""
    assert model.score(X[TEST], Y[TEST]) > 0.7
    low, high = model.predict_interval(X[TEST], 0.9)
    inside = np.mean((low < Y[TEST]) & (Y[TEST] < high))
    assert abs(inside - 0.9) < 0.085
    aleatoric, _ = model.predict_variance(X[:1])
    assert np.sqrt(aleatoric[0]) == pytest.approx(10.0 * NOISE, rel=0.25)


def test_doubt_grows_where_there_are_no_data(model):
    aleatoric, epistemic = model.predict_variance(np.asarray([[0.0], [6.0]]))
    assert epistemic[1] > 10.0 * epistemic[0]
    assert aleatoric[1] == pytest.approx(aleatoric[0])


def test_draws_have_the_law_of_the_prediction(model):
    drawn = model.sample_y(X[:3], 4000, random_state=1)
    assert drawn.shape == (3, 4000)
    mean, std = model.predict(X[:3], return_std=True)
    assert (np.abs(drawn.mean(1) - mean) < 5.0 * std / np.sqrt(4000)).all()
    np.testing.assert_allclose(drawn.std(1), std, rtol=0.1)
    np.testing.assert_array_equal(drawn, model.sample_y(X[:3], 4000, random_state=1))


def test_noise_may_depend_on_the_place():
    y = Y + 30.0 * (X[:, 0] > 0) * rng.normal(size=400)
    settings = {**SVGD, "noise": "heteroscedastic", "target_transform": "none", "step_size": 1e-2}
    model = SPOSRegressor(**settings).fit(X, y)
    aleatoric, _ = model.predict_variance([[-1.5], [1.5]])
    assert aleatoric[1] > 10.0 * aleatoric[0]


def test_chances_and_entropies(classifier):
    chances = softmax(networks_of(classifier, X[TEST]), axis=2)
    found = classifier.predict_proba(X[TEST])
    np.testing.assert_allclose(found, chances.mean(0), atol=1e-4)
    assert list(classifier.classes_) == ["down", "up"]
    assert classifier.score(X[TEST], LABELS[TEST]) > 0.75
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(X[TEST])), found)
    aleatoric, epistemic = classifier.predict_entropy(X[TEST])
    np.testing.assert_allclose(aleatoric + epistemic, stats.entropy(found, axis=1), rtol=1e-5)
    np.testing.assert_allclose(aleatoric, stats.entropy(chances, axis=2).mean(0), rtol=1e-3)
    column = (LABELS[TEST] == "up").astype(int)
    np.testing.assert_allclose(
        classifier.log_predictive(X[TEST], LABELS[TEST]),
        np.log(found[np.arange(200), column]),
        atol=1e-4,
    )
    with pytest.raises(ValueError, match=r"classes.*sideways"):
        classifier.log_predictive(X[:1], ["sideways"])


def test_the_best_looks_are_kept(model):
    scores = model.validation_scores_
    assert 1 < len(scores) <= 50
    assert model.n_iter_ == 12 * len(scores)
    assert len(jax.tree.leaves(model.particles_)[0]) == model.average * model.n_particles


def test_the_same_seed_gives_the_same_bits(model):
    again = SPOSRegressor(**PLAIN).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    other = again.set_params(random_state=1).fit(X[TRAIN], Y[TRAIN])
    assert not np.array_equal(other.predict(X), model.predict(X))


def test_a_warm_start_goes_on(model):
    patient = {**PLAIN, "patience": 50}
    warm = SPOSRegressor(**patient, warm_start=True).fit(X[TRAIN], Y[TRAIN])
    scaling, once = warm.scaling_, warm.predict(X)
    warm.fit(X[TRAIN], Y[TRAIN])
    assert warm.n_iter_ == 1200
    assert warm.scaling_ is scaling
    assert not np.array_equal(warm.predict(X), once)
    assert warm.validation_scores_[0] > model.validation_scores_[0]  # it starts where it ended
    with pytest.raises(ValueError, match=r"cannot go on.*\[8, 7, 2\]"):
        warm.set_params(hidden=(7,)).fit(X[TRAIN], Y[TRAIN])


def test_rows_may_come_in_parts():
    few = {"method": "svgd", "random_state": 0, "n_particles": 5, "average": 5}
    model = SPOSClassifier(hidden=(), step_size=1e-2, **few)
    model.partial_fit(X[TRAIN], LABELS[TRAIN], classes=["up", "down"])
    before = jax.tree.leaves(model.particles_)[0][-5:]
    for _ in range(5):
        model.partial_fit(X[TRAIN], LABELS[TRAIN])
    assert model.n_rows_seen_ == 6 * 200
    assert model.n_iter_ == 6 * 500
    assert len(jax.tree.leaves(model.particles_)[0]) == model.average * 5
    assert not np.allclose(before, jax.tree.leaves(model.particles_)[0][-5:])
    assert model.score(X[TEST], LABELS[TEST]) > 0.75
    with pytest.raises(ValueError, match=r"classes.*first call"):
        model.partial_fit(X, LABELS, classes=["up", "left"])


def test_saving_keeps_every_bit(model, classifier, tmp_path):
    for one, kind in ((model, SPOSRegressor), (classifier, SPOSClassifier)):
        path = one.save(tmp_path / "model.npz")
        with np.load(path, allow_pickle=False) as arrays:
            assert all(arrays[name].dtype.kind in "fiu" for name in arrays.files)
        back = kind.load(path)
        assert back.get_params() == one.get_params()
        np.testing.assert_array_equal(back.predict(X), one.predict(X))
        np.testing.assert_array_equal(back.validation_scores_, one.validation_scores_)
        assert back.n_features_in_ == 1
    assert list(back.classes_) == ["down", "up"]
    with pytest.raises(ValueError, match=r"saved SPOSRegressor.*got SPOSClassifier"):
        SPOSRegressor.load(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DamagedFileError):
        SPOSClassifier.load(path)


@pytest.mark.parametrize("classes", [2, 5, 7, 12])
def test_probabilities_of_few_classes_are_those_of_scipy_to_the_bit(classes):
    outputs = 5.0 * np.random.default_rng(2).normal(size=(6, 40, classes))
    assert np.array_equal(classifier_module._softmax(outputs), softmax(outputs, axis=2))
