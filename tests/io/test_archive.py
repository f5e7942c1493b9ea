"""Archives: what was saved comes back with its types, or the file is named as damaged."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from spos.io import archive
from spos.io.archive import DamagedFileError


class Note(NamedTuple):
    text: str
    value: float


class Scale(NamedTuple):
    centre: np.ndarray
    unit: float


@dataclass(frozen=True)
class Run:
    tree: Any
    curve: np.ndarray
    named: Mapping[str, np.ndarray]
    scale: Scale
    settings: Mapping[str, Any]
    count: int
    seconds: float
    passed: bool | None
    notes: tuple[Note, ...] = ()
    bare: Any = None
    maker: Any = field(default=None, repr=False)  # not saved


FIELDS = archive.fields_of(Run, without=["maker"])
RUN = Run(
    tree={"w": (jnp.ones((2, 3)), None), "b": [np.arange(2.0)]},
    curve=np.linspace(0, 1, 5),
    named={"a b": np.arange(3), "c": np.zeros(0)},
    scale=Scale(np.ones(2), 0.1),
    settings={"beta": 2, "deep": [{"x": None}]},
    count=3,
    seconds=float("inf"),
    passed=None,
    notes=(Note("fine", 1.0), Note("", float("nan"))),
    bare=jnp.arange(4),
)


def saved(path, run=RUN, format="runs 1"):
    archive.save_fields(path, format, vars(run), FIELDS)
    return path


def assert_same(one, other):
    left, right = jax.tree.flatten(one), jax.tree.flatten(other)
    assert left[1] == right[1]
    for a, b in zip(left[0], right[0], strict=True):
        np.testing.assert_array_equal(a, b)


def test_fields_come_back_with_their_types(tmp_path):
    found = Run(**archive.load_fields(saved(tmp_path / "run.npz"), "runs 1", FIELDS))
    for name in FIELDS:
        assert_same(getattr(found, name), getattr(RUN, name))
    assert isinstance(found.scale, Scale)
    assert isinstance(found.scale.unit, float)
    assert isinstance(found.notes[0], Note)
    assert found.maker is None
    assert os.listdir(tmp_path) == ["run.npz"]


def test_another_format_is_told_from_damage(tmp_path):
    path = saved(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=r"run\.npz: must be a file of format 2, got 'runs 1'"):
        archive.load_fields(path, 2, FIELDS)
    saved(path, format=None)
    assert archive.load_fields(path, None, FIELDS)["count"] == 3


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("count", 3.5, "count must be a whole number"),
        ("passed", "yes", "passed must be true or false"),
        ("settings", [1], "settings must be an object"),
        ("notes", [{"text": "a"}], "must have the field 'value'"),
        ("tree", {"leaf": "gone"}, "not the structure of a pytree"),
        ("tree", {"class": "os.system"}, "not the structure of a pytree"),
        ("tree", {"dict": {}, "list": []}, "not the structure of a pytree"),
        ("tree", ["leaf", "curve"], "not the structure of a pytree"),
        ("scale", {"leaf": "curve"}, ""),
        ("scale", {"dict": {"centre": {"leaf": "curve"}}}, "unit"),
        ("scale", {"dict": {"unit": {"leaf": "curve"}, "centre": {"none": None}}}, ""),
        ("named", None, "not the structure of a pytree"),
    ],
)
def test_a_field_of_another_type_is_damage(tmp_path, name, value, complaint):
    path = saved(tmp_path / "run.npz")
    arrays, meta = archive.read(path)
    archive.write(path, arrays, {**meta, name: value})
    with pytest.raises(DamagedFileError, match=rf"run\.npz: .*{complaint}"):
        archive.load_fields(path, "runs 1", FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_is_missing_is_damage(tmp_path, name):
    path = saved(tmp_path / "run.npz")
    arrays, meta = archive.read(path)
    arrays.pop(name, None)
    meta.pop(name, None)
    archive.write(path, arrays, meta)
    with pytest.raises(DamagedFileError, match=f"it has no field '{name}'"):
        archive.load_fields(path, "runs 1", FIELDS)


def test_what_could_not_be_read_is_not_written(tmp_path):
    path = tmp_path / "run.npz"
    for wrong in ({"count": 0.5}, {"settings": {"name": "\ud800"}}, {"curve": np.array(["a"])}):
        with pytest.raises((TypeError, ValueError), match=r"\w"):
            archive.save_fields(path, 1, vars(RUN) | wrong, FIELDS)
    with pytest.raises(ValueError, match="share the name tree0"):
        archive.save_fields(
            path, 1, vars(RUN) | {"tree0": np.ones(1)}, {**FIELDS, "tree0": np.ndarray}
        )
    deep: Any = []
    for _ in range(150):
        deep = [deep]
    with pytest.raises(ValueError, match="nested deeper"):
        archive.save_fields(path, 1, vars(RUN) | {"tree": deep}, FIELDS)
    assert os.listdir(tmp_path) == []


def test_only_classes_with_fields_have_fields():
    with pytest.raises(TypeError, match="kind must be a dataclass or a named tuple"):
        archive.fields_of(int)


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "int4"])
def test_small_numbers_survive(tmp_path, kind):
    array = np.asarray([1, 2, 3], getattr(ml_dtypes, kind))
    archive.write(tmp_path / "a.npz", {"x": array}, {})
    found = archive.read(tmp_path / "a.npz")[0]["x"]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    "exotic",
    [{"x": "object"}, {"x": "O"}, {"x": "float64"}, {"gone": "bfloat16"}, {"x": "int4"}, [], 3],
)
def test_a_file_cannot_ask_for_another_type(tmp_path, monkeypatch, exotic):
    monkeypatch.setattr(archive, "plain", lambda meta: {archive._EXOTIC: exotic})
    archive.write(tmp_path / "a.npz", {"x": np.ones(3)}, {})
    with pytest.raises(DamagedFileError, match=r"a\.npz"):
        archive.read(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "content", [b"[1]", b"null", b"{", b"[" * 10**5, b'{"a": NaN}', b'{"a": "\\ud800"}', b""]
)
def test_a_description_that_is_no_object_is_damage(tmp_path, monkeypatch, content):
    monkeypatch.setattr(archive.strictjson, "dump", lambda value: content)
    archive.write(tmp_path / "a.npz", {"x": np.ones(3)}, {})
    with pytest.raises(DamagedFileError, match=r"a\.npz"):
        archive.read(tmp_path / "a.npz")


def test_a_link_to_nowhere_is_damage_and_nothing_is_missing(tmp_path):
    (tmp_path / "link.npz").symlink_to("gone.npz")
    with pytest.raises(DamagedFileError, match=r"link\.npz"):
        archive.read(tmp_path / "link.npz")
    with pytest.raises(FileNotFoundError, match=r"gone\.npz"):
        archive.read(tmp_path / "gone.npz")


@pytest.mark.parametrize(
    "error", [RecursionError("deep"), MemoryError(), KeyError("x"), AttributeError("x"), OSError(5)]
)
def test_whatever_goes_wrong_passes_the_one_door(tmp_path, error):
    with pytest.raises(DamagedFileError, match=r"a\.npz: not a whole"):  # noqa: SIM117
        with archive.making_sense(tmp_path / "a.npz"):
            raise error
