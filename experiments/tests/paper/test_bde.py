"""`spos paper bde`: its measures against SciPy, its claims on made-up numbers, its page."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from spos.cli import UsageError, main
from spos_experiments.frame import record
from spos_experiments.frame.perform import perform
from spos_experiments.paper.bde import Settings, alone, measure
from spos_experiments.paper.bde.findings import PRINTED, findings
from spos_experiments.paper.bde.measure import BY_README, OURS, Job, Outcome

HOME = Path(__file__).parents[3]
rng = np.random.default_rng(0)


def test_a_mixture_has_the_density_and_the_moments_of_its_gaussians():
    raw, y = rng.normal(size=(2, 3, 5, 2)), rng.normal(size=5)
    mean, sd, log_density = alone.mixture(raw, y)
    means, widths = raw[..., 0].reshape(6, 5), np.log1p(np.exp(raw[..., 1])).reshape(6, 5)
    density = stats.norm.pdf(y, means, widths).mean(axis=0)
    np.testing.assert_allclose(log_density, np.log(density), rtol=1e-4)
    drawn = means[:, None] + widths[:, None] * rng.normal(size=(6, 200_000, 5))
    np.testing.assert_allclose(mean, drawn.mean((0, 1)), atol=0.01)
    np.testing.assert_allclose(sd, drawn.std((0, 1)), rtol=0.01)


class OneGaussian:
    """A library whose regressor says the same of every row, by two draws that are equal."""

    class BdeRegressor:
        def __init__(self, seed):
            self.seed = seed

        def fit(self, x, y):
            return self

        def predict(self, x, raw):
            width = np.log(np.expm1(2.0))  # before softplus
            return np.tile([0.5, width], (1, 2, len(x), 1))


def test_the_measures_of_one_gaussian_are_scipys(monkeypatch):
    monkeypatch.setattr(alone.importlib, "import_module", lambda name: OneGaussian)
    monkeypatch.setattr(alone.importlib.metadata, "version", lambda name: "1")
    monkeypatch.setattr(alone, "ROWS", 3)  # the last part is a short one
    y = rng.normal(size=8)
    rows = {"x": np.zeros((4, 1)), "y": np.zeros(4), "new_x": np.zeros((8, 1)), "new_y": y}
    found = alone.measured("bde", rows, {}, 0)
    expected = -stats.norm.logpdf(y, 0.5, 2.0).mean()
    assert found["nll"] == pytest.approx(expected, rel=1e-5)
    assert found["gaussian_nll"] == pytest.approx(expected, rel=1e-5)
    assert found["rmse"] == pytest.approx(np.sqrt(((y - 0.5) ** 2).mean()))


def test_rows_are_standardised_by_those_to_learn_from():
    rows = measure.standardised("diabetes", 1, None, None)
    np.testing.assert_allclose(rows["x"].mean(0), 0.0, atol=1e-9)
    np.testing.assert_allclose(rows["y"].std(), 1.0)
    assert abs(rows["new_y"].mean()) > 1e-6
    assert len(rows["y"]) + len(rows["new_y"]) == 442


def environment(folder, program):
    """A folder whose Python is this program of the shell."""
    place = folder / "bin" / "python"
    place.parent.mkdir(parents=True)
    place.write_text(f"#!/bin/sh\n{program}\n")
    place.chmod(0o755)
    return str(folder)


def test_what_is_missing_is_told_with_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(measure.VARIABLE, raising=False)
    command = ["paper", "bde", "--tables", "airfoil", "--out", str(tmp_path)]
    assert main(command) == 2
    assert "needs --environment DIR or SPOS_BDE" in capsys.readouterr().err
    assert main([*command, "--environment", str(tmp_path / "none")]) == 2
    assert "no Python in the environment" in capsys.readouterr().err
    bare = environment(tmp_path / "bare", "exit 1")
    assert main([*command, "--environment", bare]) == 2
    assert "pip install sklearn-contrib-bde" in capsys.readouterr().err


def test_every_method_has_its_settings():
    tried = {"num_steps": 10}
    assert measure.settings_of(OURS, tried) == tried
    assert measure.settings_of("SPOSRegressor, deep", tried) == measure.DEEP
    assert measure.settings_of(BY_README, tried) == measure.README


def test_a_rival_that_fails_is_quoted(tmp_path):
    rows = measure.standardised("diabetes", 0, None, None)
    broken = environment(tmp_path, "echo 'ValueError: no such loss' >&2; exit 1")
    with pytest.raises(UsageError, match=r"bde, README did not end: ValueError: no such loss"):
        measure.outcome(rows, BY_README, 0, broken, {})


def test_a_shipped_table_has_its_target_last_and_the_split_of_its_authors(tmp_path, monkeypatch):
    place = tmp_path / "data" / "airfoil.csv"
    place.parent.mkdir()
    whole = np.column_stack([rng.normal(size=(50, 5)), np.arange(50.0)])
    np.savetxt(place, whole, delimiter=",", header="a,b,c,d,e,target", comments="")
    found = environment(tmp_path, f"echo {tmp_path}")
    rows = measure.standardised("airfoil", 0, None, found)
    assert (len(rows["y"]), len(rows["new_y"])) == (40, 10)
    learnt = np.random.RandomState(0).permutation(50)[10:]  # as `train_test_split` does
    target = whole[learnt, -1]
    np.testing.assert_allclose(rows["y"], (target - target.mean()) / target.std())
    place.unlink()
    with pytest.raises(OSError, match=r"comes without airfoil\.csv"):
        measure.standardised("airfoil", 0, None, found)


def outcomes(rmse=0.1, nll=-1.0, seconds=5.0):
    theirs = Outcome(0.2, -0.5, -0.4, 20.0, 20.0, {}, 90, 10)
    ours = Outcome(rmse, nll, nll, seconds, 5.0, {}, 90, 10)
    return {Job("airfoil", 0, OURS): ours, Job("airfoil", 0, BY_README): theirs}


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, ("holds", "holds", "holds")),
        ({"rmse": 0.3, "nll": 0.0}, ("not seen", "holds", "not seen")),
        ({"rmse": 0.15}, ("holds", "holds", "holds only when on airfoil by NLL of one Gaussian")),
        ({"nll": 0.0}, ("holds only when on airfoil by RMSE",) * 3),
        ({"seconds": 21.0}, ("holds", "not seen", "holds")),
    ],
)
def test_every_claim_can_fail(changed, verdicts):
    found = findings(outcomes(**changed), {}).claims
    if changed == {"nll": 0.0}:
        verdicts = (verdicts[0], "holds", verdicts[2])
    assert tuple(claim.verdict for claim in found) == verdicts


def test_one_method_alone_makes_only_the_claims_that_it_can():
    ours = {job: one for job, one in outcomes().items() if job.method == OURS}
    assert len(findings(ours, {}).claims) == 1  # beside what is printed
    elsewhere = {job._replace(table="yacht"): one for job, one in ours.items()}
    assert findings(elsewhere, {}).claims == []


def test_a_quick_run_needs_no_rival_and_is_recorded_and_drawn(tmp_path, monkeypatch):
    monkeypatch.delenv(measure.VARIABLE, raising=False)
    made = perform("bde", tmp_path, quick=True)
    assert [drawn.file for drawn in made.figures] == ["bde.png"]
    (row,) = made.numbers["rows"]
    assert (row["table"], row["method"], row["rows"]) == ("diabetes", OURS, 398)
    assert row["rmse"][0] < 1.2


def test_the_program_needs_nothing_of_the_experiments():
    """It is run by another Python, which has neither them nor, for bde, spos."""
    code = f"import runpy, sys; runpy.run_path({alone.__file__!r}); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"spos", "jax", "spos_experiments"} & set(ran.stdout.split())


def recorded():
    return record.read(HOME / "experiments" / "results" / "bde" / "record.json")


def test_the_page_quotes_the_record():
    made, page = recorded(), (HOME / "docs" / "tables.md").read_text()
    assert made.table.markdown() in page
    better = "on bike by RMSE; or bike by NLL; or energy by NLL; or yacht by RMSE"
    verdicts = [f"holds only when {better}", "holds", "not seen"]
    assert [claim.verdict for claim in made.claims] == verdicts
    seconds = {
        method: [np.mean(row["seconds"]) for row in made.numbers["rows"] if row["method"] == method]
        for method in (OURS, BY_README)
    }
    ours, theirs = (f"{min(each):.0f} to {max(each):.0f}" for each in seconds.values())
    words = " ".join(page.split())
    assert f"{ours} s of processor time" in words
    assert f"its README takes {theirs}." in words


def test_the_record_is_of_defaults_and_of_what_is_printed():
    made = recorded()
    expected = json.loads(json.dumps(dataclasses.asdict(Settings())))
    assert made.settings == expected
    assert made.numbers["printed"] == PRINTED
    assert made.numbers["settings"] == {OURS: {}, "BdeRegressor()": {}, BY_README: measure.README}
