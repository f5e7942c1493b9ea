"""Runs that have ended are files."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from spos.cli import main
from spos.io import archive
from spos_experiments.frame import resume


class Outcome(NamedTuple):
    curve: np.ndarray
    error: float
    words: list[str]
    cloud: Any = None


MADE = Outcome(np.arange(3.0), 0.5, ["a"], {"x": np.ones((2, 2))})
TREES = ("cloud",)


def same(one, two):
    np.testing.assert_array_equal(one.curve, two.curve)
    assert (one.error, one.words) == (two.error, two.words)
    assert (one.cloud is None) == (two.cloud is None)
    if one.cloud is not None:
        np.testing.assert_array_equal(one.cloud["x"], two.cloud["x"])


@pytest.mark.parametrize("made", [MADE, MADE._replace(cloud=None)])
def test_an_outcome_is_made_once(made, tmp_path):
    place, calls = resume.store(tmp_path, "some") / "run.npz", []

    def make():
        calls.append(1)
        resume.state(place).mkdir()
        (resume.state(place) / "half").write_text("done")
        return made

    for _ in range(2):
        same(resume.outcome(place, Outcome, make, TREES), made)
    assert calls == [1]
    assert list(place.parent.iterdir()) == [place]  # what it kept before is gone
    assert place.parent == tmp_path / "runs" / "some"


def test_what_an_interrupted_run_kept_is_kept(tmp_path):
    place = resume.store(tmp_path) / "run.npz"

    def make():
        resume.state(place).mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resume.outcome(place, Outcome, make)
    assert list(place.parent.iterdir()) == [resume.state(place)]


def test_jobs_in_turn_count_only_what_is_missing(tmp_path):
    places = {name: tmp_path / f"{name}.npz" for name in ("first", "second", "third")}
    plain = MADE._replace(cloud=None)
    resume.write(places["second"], plain)
    ticks, made = [], []

    def make(job, state, tick):
        made.append((job, state.name))
        tick(2, error=0.1)
        return plain

    def tick(*given, **values):
        ticks.append((*given, *values.values()))

    found = dict(resume.in_turn(places, Outcome, make, len, tick))
    assert list(found) == list(places)
    for one in found.values():
        same(one, plain)
    assert made == [("first", "first"), ("third", "third")]
    assert ticks == [(0, 10), (2, 10, 0.1), (5, 10), (5, 10), (7, 10, 0.1), (10, 10)]


def test_a_mark_tells_settings_apart():
    assert resume.mark(1, "a") == resume.mark(1, "a") != resume.mark(1, "b")


@pytest.mark.parametrize("spoil", ["cut", "without its curve", "with more"])
def test_a_file_that_is_no_outcome_is_named(tmp_path, spoil):
    place = tmp_path / "run.npz"
    resume.write(place, MADE, TREES)
    arrays, rest = archive.read(place)
    if spoil == "cut":
        place.write_bytes(place.read_bytes()[:-30])
    elif spoil == "with more":
        archive.write(place, arrays, {**rest, "more": 1})
    else:
        arrays.pop("curve")
        archive.write(place, arrays, rest)
    with pytest.raises(archive.DamagedFileError, match=r"run\.npz: not a whole spos file"):
        resume.read(place, Outcome, TREES)


def test_a_damaged_run_is_one_sentence_of_the_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "run.npz").write_bytes(b"PK")
    monkeypatch.setattr(
        "spos_experiments.frame.perform.perform",
        lambda *_: resume.read(tmp_path / "run.npz", Outcome),
    )
    assert main(["paper", "gaussian"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("spos paper: ")
    assert "run.npz: not a whole spos file" in told
