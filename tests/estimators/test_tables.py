"""Tables as they come: skewed, collinear, constant, with outliers, in folds; what people ask for.

All fits here have few steps and small networks; one program serves most of them.
"""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from spos import SPOSClassifier, SPOSRegressor
from spos.networks import plain

rng = np.random.default_rng(0)
N = 200
X = rng.normal(size=(N, 3))
CLEAN = X[:, 0] + 0.5 * X[:, 1]
Y = CLEAN + 0.2 * rng.normal(size=N)
SMALL = {"hidden": (10,), "method": "svgd", "n_particles": 5, "num_steps": 300, "random_state": 0}
PLAIN = {**SMALL, "noise": "constant", "target_transform": "none"}


@pytest.fixture(scope="module")
def model():
    return SPOSRegressor(**PLAIN).fit(X, Y)


@pytest.fixture(scope="module")
def classifier():
    return SPOSClassifier(**SMALL).fit(X, np.where(CLEAN > 0.5, "up", "down"))


def columns(extra):
    return np.column_stack([X, extra])


@pytest.mark.parametrize(
    "table",
    [
        columns(X @ rng.normal(size=(3, 5))),
        columns(np.tile([3.0, 0.0, 1e300], (N, 1))),
        columns(np.where(np.arange(N) == 7, 1e12, rng.normal(size=N))),
        columns(np.eye(100)[rng.integers(100, size=N)]),
    ],
    ids=["collinear", "constant", "outlier", "many categories"],
)
def test_columns_that_do_not_help_do_little_harm(table):
    fitted = SPOSRegressor(**PLAIN).fit(table[:150], Y[:150])
    assert fitted.score(table[150:], Y[150:]) > 0.7
    _, std = fitted.predict(table[150:], return_std=True)
    assert std.max() < 3.0 * Y.std()


def test_few_rows_and_many_columns():
    """40 rows of 120 columns: as good as the mean, at least, and sure of nothing."""
    wide = rng.normal(size=(140, 120))
    y = wide[:, 0] + 0.3 * rng.normal(size=140)
    fitted = SPOSRegressor(**PLAIN).fit(wide[:40], y[:40])
    assert fitted.score(wide[40:], y[40:]) > -0.1
    low, high = fitted.predict_interval(wide[40:], 0.9)
    assert np.mean((low < y[40:]) & (y[40:] < high)) > 0.7


def test_a_fit_that_knows_nothing_says_so():
    noise = np.random.default_rng(3).normal(size=N)
    few = {**PLAIN, "num_steps": 1, "validation_fraction": 0.0, "step_size": 1e-9}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for sign in (1.0, -1.0):  # the first networks may by chance be like one of them
            SPOSRegressor(**few).fit(X, sign * noise)
    assert "no better than the mean of y" in str(told[0].message)
    few = {**SMALL, "num_steps": 1, "validation_fraction": 0.0, "step_size": 1e-9}
    with pytest.warns(UserWarning, match="no better than how often each class comes"):
        SPOSClassifier(**few).fit(X, noise > 1.0)


def test_folds_share_one_program(compilations):
    """Folds differ by a row or two, and one-hot columns by some: nothing is compiled again."""
    labels = rng.integers(12, size=N)
    onehot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    made = make_column_transformer((onehot, [3]), remainder="passthrough")
    table = columns(np.where(labels == 11, labels, labels % 11))
    piped = make_pipeline(made, SPOSRegressor(**PLAIN))
    piped.fit(table[:150], Y[:150])
    piped.score(table[150:], Y[150:])
    before = len(compilations)
    scores = cross_val_score(piped, table, Y, cv=KFold(7))
    assert len(compilations) == before
    assert scores.mean() > 0.7
    rows = {len(train) for train, _ in KFold(7).split(table)}
    assert len(rows) > 1


def test_the_noise_and_the_bend_are_chosen_by_rows_that_were_not_seen():
    """Lognormal y: bent. Noise that grows with x: not constant. Neither: as simple as it can be."""
    auto = {**SMALL, "num_steps": 1000, "step_size": 1e-2}
    skewed = SPOSRegressor(**auto).fit(X, np.exp(2.0 * Y))
    assert skewed.target_transform_ == "yeo_johnson"
    varying = Y + X[:, 2].clip(0) * 3.0 * rng.normal(size=N)
    assert SPOSRegressor(**auto, target_transform="none").fit(X, varying).noise_ != "constant"
    chosen = SPOSRegressor(**auto, noise="constant").fit(X, Y)
    assert chosen.target_transform_ == "none"
    # all units count: the log-density of a bent fit is one of y itself
    y = np.linspace(1e-3, 60.0, 4000)
    density = np.exp(skewed.log_predictive(np.tile(X[:1], (4000, 1)), y))
    assert np.trapezoid(density, y) == pytest.approx(1.0, abs=0.03)
    low, high = skewed.predict_interval(X[:1], 0.9)
    inside = (y > low) & (y < high)
    assert np.trapezoid(density[inside], y[inside]) == pytest.approx(0.9, abs=0.03)


def test_several_outcomes_at_once(model):
    both = np.column_stack([Y, 10.0 - 3.0 * X[:, 2]])
    fitted = SPOSRegressor(**PLAIN).fit(X, both)
    mean, std = fitted.predict(X, return_std=True)
    assert mean.shape == std.shape == (N, 2)
    assert fitted.score(X, both) > 0.8
    assert fitted.predict_quantiles(X, [0.1, 0.5, 0.9]).shape == (N, 2, 3)
    assert fitted.sample_y(X, 7).shape == (N, 2, 7)
    assert fitted.log_predictive(X, both).shape == (N,)
    with pytest.raises(ValueError, match="2 outcomes a row, got 1"):
        fitted.log_predictive(X, Y)
    one = SPOSRegressor(**PLAIN).fit(X, Y[:, None])  # a single column is no column
    np.testing.assert_array_equal(one.predict(X), model.predict(X))


def test_quantiles_are_those_of_draws(model):
    found = model.predict_quantiles(X[:3], [0.1, 0.5, 0.9])
    drawn = model.sample_y(X[:3], 20_000, random_state=1)
    np.testing.assert_allclose(found, np.quantile(drawn, [0.1, 0.5, 0.9], axis=1).T, atol=0.02)


def test_heavy_tails_have_their_quantiles_and_draws():
    y = CLEAN + 0.2 * rng.standard_t(2.5, size=N)
    fitted = SPOSRegressor(**SMALL, noise="student_t", target_transform="none").fit(X, y)
    heaviness = fitted._said_of(X[:1], lambda place, scale, heavy: heavy[:, 0])
    assert heaviness.max() > 0.03
    found = fitted.predict_quantiles(X[:2], [0.05, 0.95])
    drawn = fitted.sample_y(X[:2], 40_000, random_state=1)
    np.testing.assert_allclose(found, np.quantile(drawn, [0.05, 0.95], axis=1).T, atol=0.04)


def test_a_class_may_count_for_more():
    labels = (CLEAN + rng.normal(size=N) > 1.5).astype(int)
    plain_share = SPOSClassifier(**SMALL).fit(X, labels).predict_proba(X)[:, 1].mean()
    balanced = SPOSClassifier(**SMALL, class_weight="balanced").fit(X, labels)
    assert balanced.predict_proba(X)[:, 1].mean() > plain_share + 0.1


def test_rows_in_parts_are_learnt():
    parts = SPOSRegressor(**PLAIN)
    for some in (slice(0, 80), slice(80, 160)):
        parts.partial_fit(X[some], Y[some])
    assert parts.score(X[160:], Y[160:]) > 0.7


def test_an_exported_model_needs_numpy_alone(model, classifier, tmp_path):
    skewed = SPOSRegressor(**SMALL, noise="student_t", target_transform="yeo_johnson").fit(
        X, np.exp(Y)
    )
    for name, fitted in (("a", model), ("b", skewed), ("c", classifier)):
        path = fitted.export(tmp_path / f"{name}.npz")
        read = plain.Exported.load(path)
        if fitted is classifier:
            np.testing.assert_allclose(read.predict_proba(X), fitted.predict_proba(X), atol=1e-5)
            np.testing.assert_array_equal(read.predict(X), fitted.predict(X))
            continue
        for ours, theirs in zip(
            read.predict(X, return_std=True), fitted.predict(X, return_std=True), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match=r"X must have the shape \(n, 3\)"):
        read.predict(X[:, :2])
    imaginary = {**read.arrays, "scaling.x_unit": read.arrays["scaling.x_unit"] * 1j}
    with pytest.raises(ValueError, match=r"scaling.x_unit must be real numbers, got complex"):
        plain.Exported(imaginary, read.about)
    code = f"""
import importlib.util, sys
for name in ("jax", "sklearn", "scipy", "spos"):
    sys.modules[name] = None
spec = importlib.util.spec_from_file_location("plain", {plain.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.Exported.load({str(tmp_path / "b.npz")!r}).predict([[0.0, 1.0, 2.0]]).shape)
"""
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "(1,)"


def test_a_plot_has_bands(model):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = model.plot(X, Y, feature=1)
    assert len(axes.collections) == 2
    assert axes.get_xlabel() == "column 1 of X"
    with pytest.raises(ValueError, match=r"feature.*below 3"):
        model.plot(X, feature=3)
    axes.figure.clear()
