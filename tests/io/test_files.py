"""Files: whole or not there, and what they seem."""

import os
import subprocess
import sys

import numpy as np
import pytest

from spos.io import archive
from spos.io.files import make_writable, open_plain, read_plain, whole, write_whole


def test_a_file_takes_its_place_when_it_is_whole(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with whole(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
        [part] = [name for name in os.listdir(tmp_path) if name != "a"]
        assert part.startswith(f".a.{os.getpid()}-")
        assert part.endswith(".part")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_two_writers_do_not_meet(tmp_path):
    with whole(tmp_path / "a") as one, whole(tmp_path / "a") as other:
        one.write(b"one")
        other.write(b"other")
    assert (tmp_path / "a").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path, error):
    write_whole(tmp_path / "a", b"old")

    def fail():
        with whole(tmp_path / "a") as file:
            file.write(b"half")
            raise error("a reason")

    with pytest.raises(error, match="a reason"):
        fail()
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_an_error_names_the_file_that_was_wanted(tmp_path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "nowhere" / "a", tmp_path / "folder"):
        with pytest.raises(OSError, match=r"\[Errno") as caught:
            write_whole(path, b"new")
        assert caught.value.filename == str(path)
        assert caught.value.errno is not None


FULL = """
import resource, signal, sys
from pathlib import Path
import numpy as np
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from spos.io import archive
archive.write(Path(sys.argv[1]), {"x": np.zeros(10_000)}, {})
"""


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "run.npz"
    archive.write(path, {"x": np.ones(3)}, {})
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last == f"OSError: [Errno 27] File too large: '{path}'"
    assert "Exception ignored" not in done.stderr
    np.testing.assert_array_equal(archive.read(path)[0]["x"], np.ones(3))
    assert os.listdir(tmp_path) == ["run.npz"]


def test_a_folder_is_made_or_named(tmp_path):
    make_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write to the folder .*file"):
        make_writable(tmp_path / "file")


def test_reading_follows_links_only_where_told(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    (tmp_path / "link").symlink_to("a")
    assert read_plain(tmp_path / "link", 10, links=True) == b"content"
    with pytest.raises(OSError, match="is a link, which is not followed"):
        read_plain(tmp_path / "link", 10, links=False)
    with pytest.raises(OSError, match="7 bytes, more than the 6 that are allowed"):
        read_plain(tmp_path / "a", 6, links=False)


def test_a_link_that_comes_late_is_not_followed_either(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"content")
    (tmp_path / "link").symlink_to("a")
    monkeypatch.setattr("pathlib.Path.is_symlink", lambda path: False)
    with pytest.raises(OSError, match="symbolic links"):
        read_plain(tmp_path / "link", 10, links=False)


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(OSError, match="not a regular file"),
        open_plain(tmp_path / "pipe", links=True),
    ):
        pass
