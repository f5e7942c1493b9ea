"""Tables at the ends of what numbers can say: predictions that are numbers, or a sentence."""

import numpy as np
import pytest

from spos import SPOSRegressor
from spos.io.archive import DamagedFileError

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = X[:, 0] + 0.1 * rng.normal(size=60)
SMALL = {"hidden": (), "method": "svgd", "n_particles": 4, "step_size": 1e-2, "num_steps": 200}


@pytest.fixture(scope="module")
def plain():
    return SPOSRegressor(**SMALL, random_state=0).fit(X, Y)


@pytest.mark.parametrize("unit", [1e300, 1e-300])
def test_the_unit_of_the_features_does_not_matter(unit):
    scaled = SPOSRegressor(**SMALL, random_state=0).fit(unit * X, Y)
    assert scaled.score(unit * X, Y) > 0.8


def test_targets_whose_variance_is_no_number_are_named():
    with pytest.raises(ValueError, match=r"y must be numbers up to 1e\+150.*other units"):
        SPOSRegressor(**SMALL).fit(X, 1e300 * Y)


def test_a_row_far_away_is_drawn_near(plain):
    assert np.isfinite(plain.predict(1e300 * X)).all()


def test_features_that_never_varied_say_nothing():
    with pytest.warns(UserWarning, match="no better than the mean"):
        model = SPOSRegressor(**SMALL, random_state=0).fit(np.full_like(X, 3.0), Y)
    told = model.predict(100.0 * X)
    assert (told == told[0]).all()
    assert Y.min() < told[0] < Y.max()


@pytest.mark.parametrize("name", ["X", "y", "sample_weight"])
def test_a_mask_is_not_forgotten(name):
    given = {"X": X, "y": Y, "sample_weight": np.ones(60)}
    given[name] = np.ma.masked_less(given[name], 0.0)
    with pytest.raises(TypeError, match=f"{name} must be an array without a mask"):
        SPOSRegressor(**SMALL).fit(**given)


def test_nor_is_that_of_rows_to_predict_at(plain):
    with pytest.raises(TypeError, match="X must be an array without a mask"):
        plain.predict(np.ma.masked_less(X, 0.0))


@pytest.mark.parametrize("part", ["weights", "units"])
def test_a_file_whose_numbers_are_none_is_refused(plain, tmp_path, part):
    spoilt = SPOSRegressor(**SMALL)
    spoilt.__dict__.update(plain.__dict__)
    if part == "weights":
        layers = dict(plain.particles_["weights"])
        layers["b0"] = np.full_like(layers["b0"], np.nan)
        spoilt.particles_ = {**plain.particles_, "weights": layers}
    else:
        spoilt.scaling_ = plain.scaling_._replace(x_unit=np.full(2, np.nan))
    with pytest.raises(DamagedFileError, match=r"finite"):
        SPOSRegressor.load(spoilt.save(tmp_path / "model.npz"))


@pytest.mark.parametrize("named", [True, False])
def test_text_is_told_by_its_column(named):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": np.arange(20.0), "colour": ["red", "blue"] * 10})
    with pytest.raises(ValueError, match="convert string to float") as caught:
        SPOSRegressor(num_steps=10).fit(X if named else X.to_numpy(), np.arange(20.0))
    (note,) = caught.value.__notes__
    assert note.startswith("X has text in 'colour'" if named else "X has text in column 1")
