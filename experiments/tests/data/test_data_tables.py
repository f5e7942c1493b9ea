"""Data sets: found where they should be, read as they are, and refused when they are damaged."""

import hashlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from spos.cli import main
from spos_experiments import data
from spos_experiments.data import DataError, fetch
from spos_experiments.data.catalogue import FILES, UCI
from spos_experiments.data.tables import cache, listing, random_splits

REAL = Path(os.environ.get("SPOS_DATA", Path(__file__).parents[4] / "shared" / "data"))
needs_files = pytest.mark.skipif(
    not (REAL / "uci" / "boston.npz").exists(), reason="the real files are not here"
)
SIZE = 30


@pytest.fixture(autouse=True)
def nothing_around(tmp_path, monkeypatch):
    """No folder of the user, and an empty cache."""
    monkeypatch.delenv("SPOS_DATA", raising=False)
    monkeypatch.setenv("SPOS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()


def numbers(rows=SIZE, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    return {"X": rng.normal(size=(rows, columns)), "y": rng.normal(size=rows)}


def written(folder, name="boston", **changes):
    """A small file of this name; None leaves an array out."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {key: value for key, value in {**numbers(), **changes}.items() if value is not None}
    np.savez(folder / f"{name}.npz", **arrays)
    return folder


def assert_partitions(table):
    for train, test in table.splits:
        np.testing.assert_array_equal(
            np.sort(np.concatenate([train, test])), np.arange(len(table.y))
        )


@needs_files
@pytest.mark.parametrize("name", UCI)
def test_the_real_files_are_those_of_the_catalogue(name):
    table, entry = data.load(name, REAL), FILES[name]
    assert table.X.shape == (entry.rows, entry.columns)
    assert (table.X.dtype, table.y.dtype) == (np.float64, np.float64)
    assert len(table.splits) == entry.num_splits
    assert table.y.mean() == pytest.approx(entry.mean, abs=6e-5)
    assert (np.ptp(table.X, axis=0) == 0).sum() == entry.constant
    again = random_splits(entry.rows, entry.num_splits)
    np.testing.assert_array_equal(
        np.concatenate([rows for split in table.splits for rows in split]),
        np.concatenate([rows for split in again for rows in split]),
    )
    content = (REAL / "uci" / f"{name}.npz").read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry.sha256


@needs_files
@pytest.mark.parametrize(
    ("name", "rmse"), [("boston", 4.588), ("energy", 3.056), ("wine_red", 0.654), ("yacht", 8.970)]
)
def test_features_targets_and_splits_belong_together(name, rmse):
    """Ordinary least squares has the published test error."""
    table = data.load(name, REAL)
    X = np.column_stack([np.ones(len(table.y)), table.X])
    errors = []
    for train, test in table.splits:
        weights = np.linalg.lstsq(X[train], table.y[train])[0]
        errors.append(np.sqrt(np.mean((X[test] @ weights - table.y[test]) ** 2)))
    assert np.mean(errors) == pytest.approx(rmse, abs=6e-4)


@pytest.mark.skipif(not (REAL / "mnist.npz").exists(), reason="the real file is not here")
def test_the_real_images():
    table = data.load("mnist", REAL)
    assert (table.X.dtype, table.X.shape, table.y.shape) == (np.uint8, (70000, 28, 28), (70000,))
    [(train, test)] = table.splits
    assert (len(train), test[0], len(test)) == (60000, 60000, 10000)
    assert table.y[train[:10]].tolist() == list(fetch.FIRST_DIGITS)
    assert table.y[test[:5]].tolist() == [7, 2, 1, 0, 4]


@pytest.mark.parametrize(("name", "shape"), [("diabetes", (442, 10)), ("digits", (1797, 64))])
def test_the_bundled_sets_need_no_file(name, shape):
    table = data.load(name)
    assert (table.name, table.X.shape, len(table.splits)) == (name, shape, 20)
    assert table.y.dtype.kind == ("f" if name == "diabetes" else "i")
    assert (table.X.round(5) == table.X).all()  # raw measurements, not scaled ones
    assert_partitions(table)
    assert len(table.splits[0][0]) == round(0.9 * shape[0])


def test_without_scikit_learn_the_bundled_sets_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'spos\[demo\]'"):
        data.load("digits")


def test_splits_follow_the_published_recipe():
    splits = random_splits(11, 2)
    random = np.random.RandomState(1)
    for train, test in splits:
        order = random.choice(range(11), 11, replace=False)
        np.testing.assert_array_equal(train, order[:10])
        np.testing.assert_array_equal(test, order[10:])


def test_a_folder_comes_before_the_environment_and_that_before_the_cache(tmp_path, monkeypatch):
    for number, place in enumerate(("given", "named/uci", "cache")):
        written(tmp_path / place, "year", X=np.full((20, 90), number), y=np.zeros(20))
        written(tmp_path / place, "yacht", X=np.full((SIZE, 3), number))
    assert data.load("year").X[0, 0] == 2  # a file of unknown checksum is fine
    monkeypatch.setenv("SPOS_DATA", str(tmp_path / "named"))
    assert data.load("yacht").X[0, 0] == 1
    assert data.load("year").X[0, 0] == 2  # what the named folder has not
    assert data.load("yacht", tmp_path / "given").X[0, 0] == 0
    with pytest.raises(DataError, match=r"boston is not in .*empty"):
        data.load("boston", tmp_path / "empty")
    lines = {line.split()[0]: line for line in listing()}
    assert list(lines) == list(data.NAMES)
    assert lines["yacht"].endswith(str(tmp_path / "named" / "uci" / "yacht.npz"))
    assert lines["boston"].endswith("not found; spos data fetch boston")
    assert lines["power"].endswith("not found")
    assert lines["digits"].endswith("with scikit-learn")


def test_a_missing_set_says_what_to_do(monkeypatch):
    with pytest.raises(DataError) as caught:
        data.load("mnist")
    for advice in ("--data DIR", "SPOS_DATA", "`spos data fetch mnist`", "digits", str(cache())):
        assert advice in str(caught.value)
    with pytest.raises(DataError) as caught:
        data.load("power")
    assert "fetch" not in str(caught.value)
    assert "diabetes" in str(caught.value)


def test_the_cache_is_in_the_home_folder_unless_told(monkeypatch):
    monkeypatch.delenv("SPOS_CACHE")
    assert cache() == Path.home() / ".cache" / "spos"


def test_splits_come_from_the_file_or_from_the_recipe(tmp_path):
    rows = np.arange(SIZE, dtype=np.int32)
    own = {"n_splits": np.int64(1), "train_idx_0": rows[5:], "test_idx_0": rows[:5]}
    [(train, test)] = data.load("boston", written(tmp_path, **own)).splits
    np.testing.assert_array_equal(train, rows[5:])
    np.testing.assert_array_equal(test, rows[:5])
    table = data.load("protein", written(tmp_path, "protein"))
    assert len(table.splits) == 5
    assert_partitions(table)


@pytest.mark.parametrize("form", ["text", "npz"])
def test_the_years_are_split_in_their_order(form, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 90)).astype(np.float32), rng.integers(1922, 2012, 40)
    if form == "text":
        rows = [",".join(map(str, [year, *row])) for year, row in zip(y, X.tolist(), strict=True)]
        (tmp_path / "YearPredictionMSD.txt").write_text("\n".join(rows) + "\n")
    else:
        written(tmp_path, "year", X=X, y=y)
    table = data.load("year", tmp_path)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y)
    assert (table.X.dtype, table.y.dtype) == (np.float32, np.float64)
    [(train, test)] = table.splits
    np.testing.assert_array_equal(np.concatenate([train, test]), np.arange(40))
    assert len(train) == 40 * 463_715 // 515_345 == 35


def test_the_whole_file_of_years_has_the_standard_split(tmp_path, monkeypatch):
    monkeypatch.setattr("spos_experiments.data.tables.YEAR", FILES["year"]._replace(columns=1))
    written(tmp_path, "year", X=np.ones((515_345, 1), np.float32), y=np.ones(515_345))
    [(train, test)] = data.load("year", tmp_path).splits
    assert (len(train), len(test)) == (463_715, 51_630)


@pytest.mark.parametrize(
    "content", ["", "\n\n", "2001,1,2\n1999,1\n", "2001,a\n", "2001,1,2\n" * 3]
)
def test_a_damaged_file_of_years_is_refused(content, tmp_path):
    (tmp_path / "YearPredictionMSD.txt").write_text(content)
    with pytest.raises(DataError, match=r"YearPredictionMSD\.txt"):
        data.load("year", tmp_path)


ROWS = np.arange(SIZE)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"y": None}, "must hold X, y, but has no y"),
        ({"X": np.ones(SIZE)}, r"X must be rows of numbers, got float64 of shape \(30,\)"),
        ({"y": np.ones(SIZE - 1)}, r"got shapes \(30, 3\) and \(29,\)"),
        ({"X": np.ones((1, 3)), "y": np.ones(1)}, "at least two rows"),
        (
            {"X": np.full((SIZE, 3), "a")},
            "not a whole .npz file of numbers.*X.npy is not",
        ),
        ({"X": np.full((SIZE, 3), np.nan)}, "must hold finite numbers"),
        (
            {"y": np.full(SIZE, {"a": 1}, object)},
            "not a whole .npz file of numbers.*y.npy is",
        ),
        ({"n_splits": np.int64(1)}, "does not have the splits it promises.*train_idx_0"),
        ({"n_splits": np.ones(2)}, r"n_splits must be one number, got float64 of shape \(2,\)"),
        ({"n_splits": np.inf}, "does not have the splits it promises: n_splits is inf"),
        ({"n_splits": np.nan}, "n_splits is nan"),
        ({"n_splits": 1.5}, "n_splits is 1.5"),
        ({"n_splits": -1}, "n_splits is -1"),
        ({"n_splits": 10**18}, "n_splits is 1000000000000000000"),
        ({"n_splits": 1, "train_idx_0": ROWS, "test_idx_0": ROWS[:0]}, "got 30 and 0"),
        ({"n_splits": 1, "train_idx_0": ROWS[:0], "test_idx_0": ROWS}, "got 0 and 30"),
        (
            {"n_splits": 1, "train_idx_0": ROWS[5:] * 1.0, "test_idx_0": ROWS[:5]},
            "train_idx_0 must be the numbers of rows, got float64",
        ),
        (
            {"n_splits": 1, "train_idx_0": ROWS[6:].reshape(2, 12), "test_idx_0": ROWS[:6]},
            r"train_idx_0 must be the numbers of rows, got int64 of shape \(2, 12\)",
        ),
        ({"n_splits": 1, "train_idx_0": ROWS, "test_idx_0": ROWS[:3]}, "split 0 must hold each of"),
        ({"n_splits": 1, "train_idx_0": ROWS[4:], "test_idx_0": ROWS[:3]}, "30 rows exactly once"),
    ],
)
def test_wrong_arrays_are_refused(changes, complaint, tmp_path):
    written(tmp_path, **changes)
    with pytest.raises(DataError, match=complaint) as caught:
        data.load("boston", tmp_path)
    assert str(tmp_path / "boston.npz") in str(caught.value)


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "array", "empty"])
def test_a_damaged_archive_is_refused(damage, tmp_path):
    path = written(tmp_path) / "boston.npz"
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        content[len(content) // 2] ^= 255
    elif damage == "text":
        content = bytearray(b"CRIM,ZN\n1,2\n")
    elif damage == "empty":
        content = bytearray()
    path.write_bytes(content)
    if damage == "array":
        with open(path, "wb") as file:
            np.save(file, np.ones(3))
    with pytest.raises(DataError, match=r"boston\.npz is not a whole \.npz file"):
        data.load("boston", tmp_path)


def images(count, dtype=np.uint8, side=28):
    return np.zeros((count, side, side), dtype)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({}, None),
        ({"x_test": None}, "has no x_test"),
        ({"x_train": images(6, np.float32)}, "x_train must be images of bytes, got float32"),
        ({"x_test": images(2, side=8)}, r"got x_test as uint8 of shape \(2, 8, 8\)"),
        ({"y_train": np.zeros(5, np.uint8)}, r"got x_train as uint8 of shape \(6, 28, 28\)"),
        ({"y_test": np.zeros((2, 10), np.uint8)}, r"y_test must be .*got uint8 of shape \(2, 10\)"),
        ({"y_test": np.uint8(3)}, r"y_test must be a byte .*got uint8 of shape \(\)"),
        ({"y_test": np.full(2, 10, np.uint8)}, "a label from 0 to 9"),
        ({"x_test": images(0), "y_test": np.zeros(0, np.uint8)}, "got 6 and 0"),
        ({"x_train": images(0), "y_train": np.zeros(0, np.uint8)}, "got 0 and 2"),
    ],
)
def test_images_come_with_a_label_each(changes, complaint, tmp_path):
    parts = {"x_train": images(6), "x_test": images(2)}
    labels = {"y_train": np.arange(6, dtype=np.uint8), "y_test": np.arange(6, 8, dtype=np.uint8)}
    written(tmp_path, "mnist", **{**parts, **labels, **changes})
    if complaint is None:
        table = data.load("mnist", tmp_path)
        np.testing.assert_array_equal(table.y, np.arange(8))
        [(train, test)] = table.splits
        assert (train.tolist(), test.tolist()) == ([0, 1, 2, 3, 4, 5], [6, 7])
    else:
        with pytest.raises(DataError, match=complaint):
            data.load("mnist", tmp_path)


def test_arrays_that_are_not_needed_may_be_anything(tmp_path):
    written(tmp_path, names=np.array(["CRIM", "ZN", "CHAS"]), more=np.array([{}], object))
    assert data.load("boston", tmp_path).X.shape == (SIZE, 3)


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 9])
def test_the_fewest_rows_still_leave_one_for_the_test(rows, tmp_path):
    written(tmp_path, **numbers(rows))
    for train, test in data.load("boston", tmp_path).splits:
        assert len(train) + len(test) == rows
        assert len(test) >= 1
    years = np.zeros((2, 90)), np.zeros(2)
    written(tmp_path, "year", X=years[0], y=years[1])
    assert [len(part) for part in data.load("year", tmp_path).splits[0]] == [1, 1]


def test_a_small_file_cannot_unfold_to_a_huge_one(tmp_path):
    import tracemalloc

    zeros = np.zeros((2**20, 9))  # 75 megabytes in less than one
    np.savez_compressed(tmp_path / "boston.npz", X=zeros, y=zeros[:, 0])
    del zeros
    tracemalloc.start()
    with pytest.raises(DataError, match="would unfold to more than"):
        data.load("boston", tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_come_in_the_order_of_this_machine(order, tmp_path):
    written(tmp_path, X=numbers()["X"].astype(f"{order}f4"), y=np.arange(SIZE, dtype=f"{order}i2"))
    table = data.load("boston", tmp_path)
    assert table.X.dtype == np.float32
    assert table.X.dtype.isnative
    np.testing.assert_array_equal(table.y, np.arange(SIZE))


def test_a_file_in_place_of_a_folder_is_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    for arguments, place in [
        (["--data", str(tmp_path / "file")], "folder"),
        (["--data", "~nobody-at-all/data"], "folder"),  # without a home
        ([], "SPOS_DATA"),
        ([], "SPOS_CACHE"),
    ]:
        if place != "folder":
            monkeypatch.setenv(place, str(tmp_path / "file"))
        assert main(["data", "list", *arguments]) == 1
        printed = capsys.readouterr()
        [line] = printed.err.splitlines()
        assert line.startswith(f"spos data: {place} must name a folder, got ")
        monkeypatch.delenv(place, raising=False)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"x" * 10**6])
def test_a_damaged_note_of_a_checksum_is_one_sentence(content, tmp_path):
    written(tmp_path)
    (tmp_path / "boston.sha256").write_bytes(content)
    with pytest.raises(OSError, match=r"boston\.(npz is damaged|sha256)"):
        data.load("boston", tmp_path)


def test_the_cache_must_hold_the_known_file(tmp_path):
    written(cache())
    with pytest.raises(DataError, match="is damaged: its checksum is not"):
        data.load("boston")
    written(cache() / "uci", "yacht")
    with pytest.raises(DataError, match="is damaged"):
        data.load("yacht")
    assert data.load("boston", written(tmp_path / "own")).X.shape == (SIZE, 3)


@needs_files
def test_the_known_file_is_welcome_in_the_cache(tmp_path):
    (cache() / "yacht.npz").write_bytes((REAL / "uci" / "yacht.npz").read_bytes())
    assert data.load("yacht").X.shape == (308, 6)


def test_unknown_names_list_what_exists():
    with pytest.raises(ValueError, match=r"name must be one of boston, .*digits, got 'iris'"):
        data.load("iris")
    with pytest.raises(TypeError, match="folder must name a folder, got 3"):
        data.load("boston", 3)
