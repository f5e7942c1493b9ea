"""scikit-learn's own list of manners, and what it does not ask."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import check_estimator

import spos
from spos import SPOSClassifier, SPOSRegressor
from spos.networks.looks import Looks

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = X[:, 0] + 0.1 * rng.normal(size=60)
SMALL = {"hidden": (), "method": "svgd", "n_particles": 4, "step_size": 1e-2, "num_steps": 200}
PLAIN = {"noise": "constant", "target_transform": "none"}


@pytest.mark.parametrize("kind", [SPOSRegressor, SPOSClassifier])
def test_scikit_learn_finds_nothing_to_complain_about(kind):
    """With the smallest network: what is checked are manners, and each shape compiles anew."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "this fit predicts no better")  # some targets are noise
        found = check_estimator(kind(**SMALL), on_skip=None)
    assert {check["status"] for check in found} <= {"passed", "skipped"}
    assert sum(check["status"] == "passed" for check in found) > 50


def test_pipelines_and_searches(compilations):
    model = make_pipeline(PolynomialFeatures(1), SPOSRegressor(**SMALL, random_state=0))
    search = GridSearchCV(model, {"sposregressor__average": [1, 2]}, cv=2, error_score="raise")
    search.fit(X, Y)
    assert search.score(X, Y) > 0.8
    before = len(compilations)
    clone(search.best_estimator_).fit(X[1:], Y[1:]).predict(X[:7])
    assert len(compilations) == before  # 59 rows, or 53 to learn from, share a program with 60


def test_frames_bring_names():
    frame = pd.DataFrame(X, columns=["left", "right"])
    model = SPOSRegressor(**SMALL, random_state=0).fit(frame, pd.Series(Y))
    assert list(model.feature_names_in_) == ["left", "right"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["right", "left"]])
    plain = SPOSRegressor(**SMALL, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X))


def test_numbers_compile_nothing(compilations):
    """Other rows of the same padded shape, step size, β and number of steps share the programs."""

    def fit(X, y, **numbers):
        settings = {"hidden": (3,), "n_particles": 4, "random_state": 0, "num_steps": 60}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so short a fit is not good
            return SPOSRegressor(**PLAIN | settings | numbers).fit(X, y).predict(X)

    first = fit(X, Y)
    before = len(compilations)
    other = fit(X[::-1] ** 2, 3.0 + Y, step_size=1e-3, beta=3.0, num_steps=120)
    assert len(compilations) == before
    assert not np.allclose(first, other)
    fit(X, Y, hidden=(4,))
    assert len(compilations) > before  # what is structure does compile


@pytest.mark.parametrize(("hidden", "step"), [((), 3e-2), ((50,), 3e-2), ((10, 100), 1.5e-2)])
def test_a_wide_network_takes_smaller_steps(hidden, step):
    few = {"hidden": hidden, "n_particles": 3, "num_steps": 10, "random_state": 0, **PLAIN}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so short a fit is not good
        by_default = SPOSRegressor(**few).fit(X, Y).predict(X)
        by_hand = SPOSRegressor(step_size=step, **few).fit(X, Y).predict(X)
    np.testing.assert_array_equal(by_hand, by_default)


def test_scikit_learn_is_loaded_only_when_asked_for():
    code = """
import sys, spos
assert "sklearn" not in sys.modules
assert {"SPOSRegressor", "SPOSClassifier"} <= set(dir(spos))
assert not hasattr(spos, "SPOSNothing")
sys.modules["sklearn"] = None  # the import system's word for "not there"
try:
    from spos import SPOSRegressor
except ImportError as error:
    assert "pip install 'spos[sklearn]'" in str(error), error
else:
    raise AssertionError("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def fit(X=X, y=Y, kind=SPOSRegressor, weights=None, **settings):
    return kind(**{**SMALL, **settings}).fit(X, y, weights)


def with_(value, shape):
    array = np.ones(shape)
    array.flat[1] = value
    return array


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fit(with_(np.nan, (60, 2))), ValueError, "NaN"),
        (lambda: fit(y=with_(np.inf, 60)), ValueError, "infinity"),
        (lambda: fit(X[:1], Y[:1]), ValueError, "1 sample"),
        (lambda: fit(y=np.ones(60), kind=SPOSClassifier), ValueError, "at least two classes"),
        (lambda: fit(y=Y, kind=SPOSClassifier), ValueError, "continuous"),
        (lambda: fit(weights=-np.ones(60)), ValueError, "[Nn]egative"),
        (lambda: SPOSRegressor().predict(X), ValueError, "not fitted"),
        (lambda: SPOSRegressor().sample_y(X), ValueError, "not fitted"),
        (lambda: SPOSRegressor().save("model.npz"), ValueError, "not fitted"),
        (lambda: fit(method="newton"), ValueError, "method.*spos.*'newton'"),
        (lambda: fit(noise="loud"), ValueError, "noise.*constant.*'loud'"),
        (lambda: fit(target_transform="log"), ValueError, "target_transform.*yeo_johnson.*'log'"),
        (lambda: fit(**PLAIN).predict_quantiles(X, [0.5, 1.0]), ValueError, "quantiles.*0, 1"),
        (lambda: fit(hidden=50), TypeError, r"hidden.*\(50,\).*got 50"),
        (lambda: fit(hidden=(0,)), ValueError, "hidden.*at least 1.*0"),
        (lambda: fit(n_particles=0), ValueError, "n_particles.*at least 1.*0"),
        (lambda: fit(average=0), ValueError, "average.*at least 1.*0"),
        (lambda: fit(patience=0), ValueError, "patience.*at least 1.*0"),
        (lambda: fit(batch_size=2.5), TypeError, "batch_size.*whole.*2.5"),
        (lambda: fit(num_steps=0), ValueError, "num_steps.*at least 1.*0"),
        (lambda: fit(step_size=-1.0), ValueError, "step_size.*above 0.*-1.0"),
        (lambda: fit(beta=0.0), ValueError, "beta.*above 0.*0.0"),
        (lambda: fit(validation_fraction=1.0), ValueError, r"validation_fraction.*\[0, 1\).*1.0"),
        (lambda: SPOSClassifier().partial_fit(X, Y > 0), ValueError, "classes.*first call"),
    ],
)
def test_a_bad_argument_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.filterwarnings("ignore:.*log_prob is -inf")  # said on the way there
def test_a_run_that_diverges_says_where_and_leaves_no_model():
    model = fit(random_state=0)
    model.set_params(method="sgld", step_size=1e6)
    with pytest.raises(
        spos.NonFiniteError, match=r"step \d+: particle.*smaller step_size"
    ) as caught:
        model.fit(X, Y)
    assert np.isfinite(caught.value.state.particles["weights"]["w0"]).all()
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(X)


def test_ctrl_c_keeps_what_was_found(monkeypatch):
    model = SPOSRegressor(**SMALL, **PLAIN, random_state=0)
    original = Looks.see

    def pressed(self, particles):
        if len(self.scores) == 2:
            raise KeyboardInterrupt
        return original(self, particles)

    monkeypatch.setattr(Looks, "see", pressed)
    warnings.filterwarnings("ignore", "this fit predicts no better")
    with pytest.warns(UserWarning, match="interrupted after 12 of 200 steps"):
        model.fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    assert model.n_iter_ == 12
