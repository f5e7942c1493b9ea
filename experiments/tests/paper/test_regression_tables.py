"""`spos paper regression`: rows, errors and choices, on small tables."""

import dataclasses
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy import stats

from spos.networks.methods import METHODS
from spos.networks.rows import Rows
from spos_experiments.data import Table
from spos_experiments.frame import record
from spos_experiments.frame.perform import perform
from spos_experiments.paper import regression
from spos_experiments.paper.regression import protocol, published
from spos_experiments.paper.regression.work import Work

RECORDED = Path(__file__).parents[2] / "results" / "regression" / "runs"
TINY = dataclasses.replace(
    regression.Settings().quick(), methods=("spos",), fewest_steps=60, most_steps=60, particles=4
)


def table(rows=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(3.0, 2.0, (rows, 3))
    X[:, 2] = 7.0
    y = 10.0 * np.sin(X[:, 0]) + X[:, 1] + rng.normal(0, 0.5, rows)
    order = rng.permutation(rows)
    splits = ((order[:80], order[80:]), (order[10:], order[:10]))
    return Table("small", X, y, splits)


def test_scaling_uses_the_rows_that_are_trained_on():
    part = protocol.rows(table(), 0, validate=False)
    x = part.training.x
    np.testing.assert_allclose(x[:, :2].mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(x[:, :2].std(0), 1, rtol=1e-5)
    np.testing.assert_array_equal(x[:, 2], 0)  # constant
    assert abs(part.judged.x[:, 0].mean()) > 1e-3  # judged rows were not scaled by themselves
    raw = table()
    train, test = raw.splits[0]
    back = part.judged.y * part.unit + raw.y[train].mean()
    np.testing.assert_allclose(back, raw.y[test], rtol=1e-5)


def test_validation_is_a_tenth_of_the_training_part():
    raw = table()
    part, whole = (protocol.rows(raw, 0, validate) for validate in (True, False))
    sizes = [len(rows.y) for rows in (*part[:2], *whole[:2])]
    assert sizes == [72, 8, 80, 10]
    train = raw.splits[0][0]
    seen = np.concatenate([part.training.y, part.judged.y]) * part.unit
    assert np.ptp(np.sort(seen) - np.sort(raw.y[train])) < 1e-5  # but for the shift by the mean


def test_validation_rows_are_those_of_the_recorded_runs():
    """The split is by NumPy's generator of that number."""
    raw = table()
    train = raw.splits[1][0]
    order = np.random.default_rng(1).permutation(train)
    part = protocol.rows(raw, 1, validate=True)
    middle = raw.y[order[8:]].mean()
    np.testing.assert_allclose(part.judged.y * part.unit + middle, raw.y[order[:8]], rtol=1e-5)


def test_errors_are_those_of_the_mixture():
    """Of all networks, and of the newest; by NumPy and SciPy from the weights."""
    rng = np.random.default_rng(1)
    model = protocol.network(3, 4, protocol.Trial(1e-2))
    shapes = {"w0": (3, 4), "b0": (4,), "w1": (4, 1), "b1": (1,)}
    weights = {name: rng.normal(size=(5, *shape)) for name, shape in shapes.items()}
    log_precision = rng.normal(size=5)
    particles = {"weights": weights, "likelihood": log_precision, "prior": np.zeros(5)}
    particles = jax.tree.map(np.float32, particles)
    judged, unit = Rows(rng.normal(size=(7, 3)), rng.normal(size=7)), 3.0
    part = protocol.Part(judged, judged, unit)
    hidden = np.maximum(judged.x @ weights["w0"] + weights["b0"][:, None], 0.0)
    outputs = (hidden @ weights["w1"] + weights["b1"][:, None])[:, :, 0]
    sds = unit * np.exp(-0.5 * log_precision)[:, None]
    for found, kept in zip(protocol.judge(model, particles, 2, part), (2, 5), strict=True):
        some = outputs[-kept:]
        density = stats.norm.pdf(unit * judged.y, unit * some, sds[-kept:]).mean(0)
        assert found.ll == pytest.approx(np.log(density).mean(), rel=1e-5)
        error = np.sqrt(((some.mean(0) - judged.y) ** 2).mean())
        assert found.rmse == pytest.approx(unit * error, rel=1e-5)


@pytest.fixture(scope="module")
def outcome():
    return Work(TINY, "spos", table(), 0).outcome(lambda done: None)


def test_test_rows_have_no_say(outcome):
    """Other test rows change the errors, and nothing that was chosen."""
    raw = table()
    spoilt = raw.y.copy()
    spoilt[raw.splits[0][1]] += 100.0
    one = dataclasses.replace(TINY, splits=1)
    again = Work(one, "spos", raw._replace(y=spoilt), 0).outcome(lambda done: None)
    np.testing.assert_array_equal(again.validation[:, 0], outcome.validation[:, 0])
    assert (again.trial[0], again.averaged[0]) == (outcome.trial[0], outcome.averaged[0])
    assert again.rmse[0] > outcome.rmse[0] + 50.0


def test_a_split_is_the_same_alone(outcome):
    """From the settings of a row, one split by itself gives the numbers of the record."""
    shape = TINY.shape("spos", table())
    trial = dict(TINY.trials)["spos"][outcome.trial[1]]
    both = protocol.fit(shape, trial, protocol.rows(table(), 1, False), 0, 1)
    chosen = both[outcome.averaged[1]]
    assert (chosen.rmse, chosen.ll) == (outcome.rmse[1], outcome.ll[1])


def test_the_best_on_validation_is_taken(outcome):
    for split in range(2):
        values = outcome.validation[:, split]
        best = np.unravel_index(values.argmax(), values.shape)
        assert best == (outcome.trial[split], outcome.averaged[split])


def test_the_shape_of_a_run_follows_the_rows():
    settings = regression.Settings()

    def shape(rows):
        train, test = np.arange(rows - 10), np.arange(rows - 10, rows)
        few = Table("rows", np.zeros((rows, 2)), np.zeros(rows), ((train, test),))
        found = settings.shape("spos", few)
        return found.hidden, found.batch, found.steps

    assert shape(500) == (50, 100, settings.fewest_steps)
    assert shape(4010) == (50, 100, 6000)  # 150 epochs
    assert shape(10_000) == (50, 100, settings.most_steps)
    assert shape(20_000) == (100, 1000, settings.large_steps)


def test_recorded_runs_are_found():
    """A change of a setting's name or type would forget hours of runs."""
    settings = regression.Settings()
    for method in settings.methods:
        train, test = np.arange(455), np.arange(455, 506)
        boston = Table("boston", np.zeros((506, 13)), np.zeros(506), ((train, test),) * 20)
        assert (RECORDED / f"{Work(settings, method, boston, 0).name}-seed0.npz").exists()


def test_every_method_has_as_many_tries():
    assert len({len(trials) for trials in protocol.TRIALS.values()}) == 1
    assert set(protocol.TRIALS) == set(published.METHODS) == set(protocol.METHODS)
    assert set(protocol.METHODS.values()) <= set(METHODS)


def test_the_published_numbers():
    assert published.RMSE["boston", "spos"] == 2.829
    assert published.LL["kin8nm", "svgd"] == 0.986
    assert published.RMSE["year", "sgld"] == 8.707
    assert len(published.LL) == 30


def test_a_record_and_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("SPOS_DATA", raising=False)
    monkeypatch.setenv("SPOS_CACHE", str(tmp_path / "cache"))
    changed = {**dataclasses.asdict(TINY), "datasets": ("diabetes", "year"), "trials": TINY.trials}
    made = perform("regression", tmp_path, changed=changed)
    found, absent = made.numbers["rows"]
    assert (found["dataset"], found["method"], found["splits"]) == ("diabetes", "spos", 2)
    assert found["rmse"] == pytest.approx(np.mean(found["each_rmse"]), rel=1e-4)
    assert absent == {"dataset": "year", "missing": "data not available here"}
    assert (tmp_path / "regression" / "regression.png").exists()
    (kept,) = (tmp_path / "regression" / "runs").iterdir()
    before = kept.stat().st_mtime_ns
    again = perform("regression", tmp_path, changed=changed)  # trains nothing
    assert kept.stat().st_mtime_ns == before
    assert again.numbers == made.numbers
    other = Work(dataclasses.replace(TINY, particles=5), "spos", table(), 0)
    assert other.name != Work(TINY, "spos", table(), 0).name  # no stale run is taken
    assert record.read(tmp_path / "regression" / "record.json").numbers == made.numbers
