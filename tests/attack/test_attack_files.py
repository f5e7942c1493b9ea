"""A short form of the attacks on files: a few hundred, within seconds."""

import tempfile
from pathlib import Path

import pytest

from attack import files
from attack.victims import BLIND, MAKERS, Victim
from attack.victims import victims as good_files

CASES = 12


@pytest.fixture(scope="module")
def victims():
    with tempfile.TemporaryDirectory() as folder:
        yield dict(zip(MAKERS, good_files(Path(folder)), strict=True))


@pytest.mark.parametrize("name", MAKERS)
def test_a_spoilt_file_is_refused_or_read_as_what_it_was(victims, name):
    for kind in victims[name].kinds:
        assert files.attack(victims[name], kind, CASES).broken == []


def test_an_attack_that_succeeds_is_seen(tmp_path):
    """By readers that look at nothing, or fail in another way."""
    path = tmp_path / "file"
    path.write_bytes(b"a good file")
    careless = Victim("careless", path, path.read_bytes, path.read_bytes, BLIND)
    assert "read as something else" in files.attack(careless, "flips", 3).broken[0]

    def fragile():
        if path.read_bytes() != b"a good file":
            raise KeyError("x")

    broken = files.attack(careless._replace(read=fragile), "cuts", 3).broken
    assert "KeyError: 'x'" in broken[0]
    assert path.read_bytes() == b"a good file"
