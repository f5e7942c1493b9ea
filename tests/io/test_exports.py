"""Files for machines with NumPy alone, read by code that may not import the rest of the library: a
spoilt one is one sentence that names it, at once and without much memory."""

import json
import os

import numpy as np
import pytest

from attack.victims import made

ABOUT = {"deployed": "__meta__", "export": "about"}


@pytest.fixture(params=ABOUT, scope="module")
def good(request, tmp_path_factory):
    victim = made(request.param, tmp_path_factory.mktemp(request.param))
    return request.param, victim, victim.path.read_bytes()


@pytest.fixture
def victim(good):
    name, victim, content = good
    victim.path.unlink(missing_ok=True)
    victim.path.write_bytes(content)
    return name, victim


def arrays_of(path):
    with np.load(path) as file:
        return dict(file)


def refused(victim, sentence):
    with pytest.raises(ValueError, match=rf"path must name a file.*\.npz.*{sentence}"):
        victim.read()


def test_a_compressed_file_is_refused_before_it_is_unpacked(victim):
    _, victim = victim
    arrays = arrays_of(victim.path) | {"more": np.zeros(10**6)}
    np.savez_compressed(victim.path, **arrays)
    refused(victim, "compressed")


def test_a_pipe_is_refused_at_once(victim):
    _, victim = victim
    victim.path.unlink()
    os.mkfifo(victim.path)
    refused(victim, "regular file")


def test_every_word_of_the_description_is_needed(victim):
    name, victim = victim
    arrays = arrays_of(victim.path)
    about = json.loads(arrays[ABOUT[name]].tobytes())
    for word in about.keys() - {"environment", "__exotic__"}:  # told, and of use elsewhere
        rest = {key: value for key, value in about.items() if key != word}
        text = np.frombuffer(json.dumps(rest).encode(), np.uint8)
        np.savez(victim.path, **{**arrays, ABOUT[name]: text})
        refused(victim, "")


@pytest.mark.parametrize("spoilt", [np.nan, 1e39, "another shape"])
def test_arrays_that_could_not_predict_are_refused(victim, spoilt):
    _, victim = victim
    arrays = arrays_of(victim.path)
    first = arrays["w0"].astype(np.float64)
    arrays["w0"] = first[:, :, :-1] if isinstance(spoilt, str) else np.full_like(first, spoilt)
    with np.errstate(all="ignore"):
        arrays["w0"] = arrays["w0"].astype(np.float32)
    np.savez(victim.path, **arrays)
    refused(victim, "")


def test_what_is_not_there_is_missing(victim):
    _, victim = victim
    victim.path.unlink()
    with pytest.raises(FileNotFoundError, match="npz"):
        victim.read()
