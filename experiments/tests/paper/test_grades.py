"""`spos paper grades`: likelihoods of whole numbers are probabilities; validation rows choose."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from spos.targets import likelihoods
from spos_experiments.frame import record
from spos_experiments.frame.perform import perform
from spos_experiments.paper.grades import Ordinal, Outcome, Rounded, findings

SPACING = np.float32(1.24)
GRADES = SPACING * np.arange(-3, 4, dtype=np.float32)
OUTPUTS = jnp.array([[-1.0], [0.3], [1.7]])
ROUNDED = Rounded(1.0, 0.1, SPACING)
ORDINAL = Ordinal(GRADES)


def chances(likelihood, own, grades):
    terms = [likelihood.log_prob(own, OUTPUTS, jnp.full(3, grade)) for grade in grades]
    return np.exp(np.stack(terms)) * SPACING


@pytest.mark.parametrize("log_precision", [-2.0, 0.0, 3.0])
def test_rounded_grades_have_probabilities_that_add_up_to_one(log_precision):
    all_grades = SPACING * np.arange(-40, 41, dtype=np.float32)
    total = chances(ROUNDED, jnp.float32(log_precision), all_grades).sum(0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-4)
    gaussian = likelihoods.gaussian()  # a density at whole numbers need not
    if log_precision > 2:
        assert np.abs(chances(gaussian, log_precision, all_grades).sum(0) - 1.0).max() > 0.05


def test_finely_rounded_is_gaussian():
    fine = Rounded(1.0, 0.1, 1e-2)
    y = jnp.array([-0.4, 1.0, 2.0])
    gaussian = likelihoods.gaussian().log_prob(jnp.float32(0.5), OUTPUTS, y)
    np.testing.assert_allclose(fine.log_prob(jnp.float32(0.5), OUTPUTS, y), gaussian, atol=1e-3)


def test_ordinal_chances_add_up_and_have_the_moments_that_are_told():
    own = ORDINAL.init(OUTPUTS, GRADES)
    found = chances(ORDINAL, own, GRADES)
    np.testing.assert_allclose(found.sum(0), 1.0, rtol=1e-5)
    mean, variance = ORDINAL.moments(own, OUTPUTS)
    np.testing.assert_allclose(mean, GRADES @ found, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(variance, GRADES**2 @ found - mean**2, rtol=1e-3)
    assert (np.diff(mean) > 0).all()  # a larger output is a better grade


def test_validation_rows_choose():
    good, bad = np.array([-0.9, -0.91]), np.array([-1.0, -1.02])
    found = {"one": Outcome(-good, good, -bad, bad), "other": Outcome(-bad, bad, -good, good)}
    assert findings("wine_red", found).numbers["chosen"] == "one"


def test_a_quick_run_is_recorded_and_drawn(tmp_path):
    made = perform("grades", tmp_path, quick=True)
    assert [drawn.file for drawn in made.figures] == ["grades.png"]
    assert len(made.numbers["rows"]) == 2


def test_the_page_quotes_the_record():
    home = Path(__file__).parents[3]
    made = record.read(home / "experiments" / "results" / "grades" / "record.json")
    assert made.table.markdown() in (home / "docs" / "tables.md").read_text()
