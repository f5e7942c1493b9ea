"""Estimators on tables that are read: larger than memory, checked once, never held whole."""

import numpy as np
import pytest

import spos
from spos.estimators import streamed
from spos.loop import feed

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=400)
SMALL = {"n_particles": 4, "num_steps": 300, "random_state": 0}
PLAIN = {"noise": "constant", "target_transform": "none", **SMALL}


class Table:
    """Rows by their numbers, as a file would give them."""

    def __init__(self, x=X):
        self.x, self.most, self.seen = x, 0, set()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, rows):
        self.most = max(self.most, len(rows))
        self.seen |= set(rows.tolist())
        return self.x[rows]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(streamed, "BLOCK", 100 * X[0].nbytes)
    monkeypatch.setattr(streamed, "SOME", 120)
    monkeypatch.setattr(feed, "BLOCK_BYTES", 1)


def test_a_table_that_is_read_is_learnt():
    table = Table()
    assert spos.SPOSRegressor((), **PLAIN).fit(table, Y).score(X, Y) > 0.97
    assert table.seen == set(range(400))  # all rows were looked at
    assert table.most <= 120  # but never all at once


def test_a_memory_mapped_file_gives_the_bits_of_any_other_source(tmp_path, monkeypatch):
    path = tmp_path / "x"
    X.tofile(path)
    mapped = np.memmap(path, X.dtype, "r", shape=X.shape)
    assert not streamed.is_source(mapped)  # joblib makes such files of arrays
    monkeypatch.setattr(streamed, "LARGE", X.nbytes)
    assert streamed.is_source(mapped)
    one, other = (spos.SPOSRegressor((), **PLAIN).fit(x, Y).predict(X) for x in (mapped, Table()))
    assert np.array_equal(one, other)


def test_classes_and_weights_of_a_table_that_is_read():
    labels = np.where(Y > 0, "up", "down")
    model = spos.SPOSClassifier((), class_weight="balanced", **SMALL)
    model.fit(Table(), labels, sample_weight=np.ones(400))
    assert (model.predict(X) == labels).mean() > 0.95
    assert model.classes_.tolist() == ["down", "up"]


def test_parts_may_be_read_too():
    model = spos.SPOSRegressor((), **PLAIN)
    for _ in range(2):
        model.partial_fit(Table(X[:360]), Y[:360])  # as many as the others train on
    assert model.n_rows_seen_ == 720
    assert model.score(X, Y) > 0.9


def test_rows_of_the_validation_set_are_never_trained_on():
    """The places that are left, of ten rows without three."""
    left = streamed.Inputs(np.arange(10.0)[:, None], np.array([0, 4, 9]))
    assert len(left) == 7
    assert left[np.arange(7)].ravel().tolist() == [1, 2, 3, 5, 6, 7, 8]
    assert left[np.array([3, 0, 3])].ravel().tolist() == [5, 1, 5]


def test_what_is_drawn_is_distinct_and_complete():
    chosen = streamed._distinct(np.random.RandomState(0), 50, 50)
    assert sorted(chosen) == list(range(50))


class Short(Table):
    def __getitem__(self, rows):
        return self.x[rows[:-1]] if len(rows) > 50 else self.x[rows]


def test_what_is_wrong_with_a_table_is_told():
    broken = X.copy()
    broken[390, 1] = np.nan
    model = spos.SPOSRegressor((), **PLAIN)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(Table(broken), Y)
    with pytest.raises(ValueError, match="must have as many rows, got 400, 399 and 399"):
        model.fit(Table(), Y[:399])
    with pytest.raises(ValueError, match="X must give a row for each of 100, got 99"):
        model.fit(Short(), Y)
    with pytest.raises(ValueError, match="sample_weight must be at least 0"):
        model.fit(Table(), Y, sample_weight=-np.ones(400))


@pytest.mark.parametrize("kind", [list, tuple, np.asarray])
def test_what_is_in_memory_is_no_source(kind):
    assert not streamed.is_source(kind([[1.0], [2.0]]))
