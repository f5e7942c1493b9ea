"""Fetching: the conversion, with small frames in place of the network; the store; the command."""

import hashlib
import sys

import numpy as np
import pandas as pd
import pytest

from spos.cli import main
from spos_experiments import data
from spos_experiments.data import DataError
from spos_experiments.data.catalogue import FILES, Entry
from spos_experiments.data.fetch import FIRST_DIGITS, FIRST_SONG, convert, store

ENTRY = Entry("a stand-in", rows=4, columns=2, num_splits=3, mean=2.5)


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """An empty cache, and a network that refuses every call."""
    monkeypatch.delenv("SPOS_DATA", raising=False)
    monkeypatch.setenv("SPOS_CACHE", str(tmp_path / "cache"))
    for scheme in ("http", "https"):
        monkeypatch.setenv(f"{scheme}_proxy", "http://127.0.0.1:9")
        monkeypatch.delenv(f"{scheme.upper()}_PROXY", raising=False)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def frame(**columns):
    return pd.DataFrame(
        {"a": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 4.0], "b": [5, 6, 7, 9], **columns}
    )


def test_a_frame_becomes_features_and_a_target():
    arrays = convert("yacht", ENTRY, frame(), "y")
    np.testing.assert_array_equal(arrays["X"], [[1, 5], [2, 6], [3, 7], [4, 9]])
    np.testing.assert_array_equal(arrays["y"], [1, 2, 3, 4])
    assert (arrays["X"].dtype, arrays["y"].dtype) == (np.float64, np.float64)


def test_without_a_name_the_last_column_is_the_target():
    arrays = convert("yacht", ENTRY._replace(mean=6.75), frame(), None)
    np.testing.assert_array_equal(arrays["y"], [5, 6, 7, 9])


def test_classes_in_words_of_digits_are_numbers():
    classes = pd.Series(["0", "1", "0", "1"], dtype="category")
    arrays = convert("boston", ENTRY, frame(b=classes), "y")
    np.testing.assert_array_equal(arrays["X"][:, 1], [0, 1, 0, 1])


def test_a_second_target_does_not_become_a_feature():
    both = frame(Cooling_Load=[4.0, 3.0, 2.0, 1.0])
    arrays = convert("energy", ENTRY._replace(other="cooling"), both, "y")
    assert arrays["X"].shape == (4, 2)
    with pytest.raises(DataError, match="4 rows and 2 features, but what came has 4 and 3"):
        convert("energy", ENTRY, both, "y")


def test_constant_features_may_be_missing():
    few = frame().drop(columns="b")
    assert convert("naval", ENTRY._replace(constant=1), few, "y")["X"].shape == (4, 1)
    with pytest.raises(DataError, match="what came has 4 and 1"):
        convert("naval", ENTRY, few, "y")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (frame(b=["x", "y", "z", "w"]), "column b of yacht does not hold numbers"),
        (frame(b=[1.0, None, 2.0, 3.0]), "column b of yacht has values that are missing"),
        (frame()[:3], "4 rows and 2 features, but what came has 3 and 2"),
        (frame(y=[1.0, 2.0, 3.0, 5.0]), "has a mean of 2.5, but that of what came is 2.75"),
    ],
)
def test_what_is_not_the_known_set_is_refused(given, complaint):
    with pytest.raises(DataError, match=complaint):
        convert("yacht", ENTRY, given, "y")


def song(**changes):
    columns = {"year": [2001.0, 1999.0], "t1": [49.94357, 0.0], "t2": [21.47114, 0.0]}
    return pd.DataFrame({**columns, **changes})


def test_years_keep_their_order_or_are_refused():
    entry = FILES["year"]._replace(rows=2, columns=2)
    arrays = convert("year", entry, song(), "year")
    assert arrays["X"].dtype == np.float32
    assert (arrays["y"][0], *arrays["X"][0].tolist()) == pytest.approx(FIRST_SONG)
    with pytest.raises(DataError, match="rows of year are not in their order"):
        convert("year", entry, song()[::-1], "year")


def test_digits_become_images(monkeypatch):
    monkeypatch.setattr("spos_experiments.data.fetch.MNIST_TRAIN", 8)
    pixels = np.arange(10 * 784).reshape(10, 784) % 256
    given = pd.DataFrame(pixels).assign(label=[str(digit) for digit in FIRST_DIGITS])
    entry = FILES["mnist"]._replace(rows=10)
    arrays = convert("mnist", entry, given, "label")
    assert {name: array.shape for name, array in arrays.items()} == {
        "x_train": (8, 28, 28),
        "y_train": (8,),
        "x_test": (2, 28, 28),
        "y_test": (2,),
    }
    np.testing.assert_array_equal(arrays["x_test"][1].ravel(), pixels[9])
    assert all(array.dtype == np.uint8 for array in arrays.values())
    with pytest.raises(DataError, match="rows of mnist are not in their order"):
        convert("mnist", entry, given[::-1], "label")


@pytest.fixture
def stored(tmp_path):
    (tmp_path / "cache").mkdir()
    return store("yacht", tmp_path / "cache", convert("yacht", ENTRY, frame(), "y"))


def test_what_was_stored_is_loaded_with_splits_of_its_own(stored):
    table = data.load("yacht")
    np.testing.assert_array_equal(table.X, [[1, 5], [2, 6], [3, 7], [4, 9]])
    assert len(table.splits) == 20
    for train, test in table.splits:
        assert sorted([*train, *test]) == [0, 1, 2, 3]
    digest, name = stored.with_suffix(".sha256").read_text().split()
    assert (digest, name) == (hashlib.sha256(stored.read_bytes()).hexdigest(), "yacht.npz")
    assert sorted(path.name for path in stored.parent.iterdir()) == ["yacht.npz", "yacht.sha256"]


def test_a_stored_file_that_changed_is_refused_wherever_it_lies(stored, tmp_path):
    stored.write_bytes(stored.read_bytes() + b"\0")
    for folder in (None, stored.parent):
        with pytest.raises(DataError, match=r"yacht\.npz is damaged.*fetch or copy it again"):
            data.load("yacht", folder)
    stored.with_suffix(".sha256").write_text("")
    with pytest.raises(DataError, match="is damaged"):
        data.load("yacht")


def test_storing_again_replaces_the_file(stored):
    store("yacht", stored.parent, {"X": np.zeros((5, 1)), "y": np.zeros(5)})
    assert data.load("yacht").X.shape == (5, 1)


def test_a_crash_between_note_and_file_leaves_nothing_believed(stored, monkeypatch):
    from spos_experiments.data import fetch

    write = fetch.write_whole

    def only_the_note(path, content):
        if path.suffix == ".npz":
            raise OSError("disk full")
        write(path, content)

    monkeypatch.setattr(fetch, "write_whole", only_the_note)
    with pytest.raises(OSError, match="disk full"):
        store("yacht", stored.parent, {"X": np.zeros((5, 1)), "y": np.zeros(5)})
    with pytest.raises(DataError, match="is damaged"):
        data.load("yacht")


def one_line(capsys) -> str:
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    return line


def test_without_a_network_the_command_ends_with_a_sentence(tmp_path, capsys):
    assert main(["data", "fetch", "yacht"]) == 1
    line = one_line(capsys)
    assert line.startswith("spos data: cannot fetch yacht from OpenML (set 42370): ")
    assert "refused" in line
    assert list((tmp_path / "cache").iterdir()) == []


def test_sets_that_cannot_be_fetched_say_so(capsys):
    assert main(["data", "fetch", "power"]) == 1
    assert "power is not on OpenML" in one_line(capsys)
    assert main(["data", "fetch", "digits"]) == 1
    assert "comes with scikit-learn" in one_line(capsys)


def test_a_missing_library_and_a_blocked_folder_are_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    assert main(["data", "fetch", "yacht", "--out", str(tmp_path / "file")]) == 1
    assert "cannot write to the folder" in one_line(capsys)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert main(["data", "fetch", "yacht", "--out", str(tmp_path)]) == 1
    assert one_line(capsys).endswith("pip install 'spos[demo]' pandas")


def test_the_list_says_where_each_set_is(stored, tmp_path, capsys):
    assert main(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(data.NAMES)
    assert next(line for line in lines if line.startswith("yacht")).endswith(str(stored))
    assert main(["data", "list", "--data", str(tmp_path)]) == 0
    assert str(stored) not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data"], "required: ACTION"),
        (["data", "fetch"], "required: NAME"),
        (["data", "fetch", "iris"], "invalid choice: 'iris' (choose from 'boston'"),
    ],
)
def test_wrong_arguments_are_exit_code_2(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
