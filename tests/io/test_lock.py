"""One process at a time in a folder."""

import os
import subprocess
import sys
import threading

import pytest

from spos.io import lock
from spos.io.lock import FolderInUseError, Lock

HOLD = """
import sys
from pathlib import Path
from spos.io.lock import Lock
held = Lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_the_second_process_gets_one_sentence_and_the_dead_are_followed(tmp_path, holder):
    with pytest.raises(FolderInUseError) as caught:
        Lock(tmp_path)
    told = str(caught.value)
    assert f"{tmp_path} is in use by process {holder.pid} on " in told
    assert len(told.splitlines()) == 1
    holder.kill()
    holder.wait()
    assert (tmp_path / lock.NAME).exists()  # it could not clear up
    mine = Lock(tmp_path)
    assert f"process {os.getpid()} on " in (tmp_path / lock.NAME).read_text()
    mine.release()
    mine.release()
    assert os.listdir(tmp_path) == []


def test_a_lock_file_alone_means_nothing(tmp_path):
    (tmp_path / lock.NAME).write_text("process 1 on this host, which lives for ever")
    Lock(tmp_path).release()
    assert os.listdir(tmp_path) == []


def in_thread(function):
    found = []

    def run():
        try:
            found.append(function())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_another_thread_is_refused_and_the_same_one_follows_itself(tmp_path):
    first = Lock(tmp_path)
    assert isinstance(in_thread(lambda: Lock(tmp_path)), FolderInUseError)
    second = Lock(tmp_path)  # the first was given up without a word
    first.release()  # and may say so late
    assert isinstance(in_thread(lambda: Lock(tmp_path)), FolderInUseError)
    second.release()
    in_thread(lambda: Lock(tmp_path)).release()


def test_a_copy_of_the_process_lets_go_of_nothing(tmp_path):
    """As `os.fork` makes them, which a process with threads should not call."""
    mine = Lock(tmp_path)
    mine._process -= 1  # what the copy sees
    mine.release()
    assert (tmp_path / lock.NAME).exists()
    mine._process += 1
    mine.release()


def test_a_link_is_not_written_through(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / lock.NAME).symlink_to("precious")
    with pytest.raises(OSError, match="symbolic links"):
        Lock(tmp_path)
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_lock_that_was_removed_while_it_was_opened_is_not_one(tmp_path, monkeypatch):
    """The holder removes the file between the opening and the locking of another process."""
    first, real, opened = Lock(tmp_path), lock.fcntl.flock, []

    def flock(handle, how):
        if not opened:
            opened.append(handle)
            first.release()
        real(handle, how)

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    second = in_thread(lambda: Lock(tmp_path))
    assert second._is_mine(second._handle)
    second.release()


@pytest.mark.parametrize("lack", ["system", "file system"])
def test_where_there_are_no_locks_folders_are_not_guarded(tmp_path, monkeypatch, lack):
    def no_locks(handle, how):
        raise OSError(37, "No locks available")

    if lack == "system":
        monkeypatch.setattr(lock, "fcntl", None)
    else:
        monkeypatch.setattr(lock.fcntl, "flock", no_locks)
    first = Lock(tmp_path)
    second = in_thread(lambda: Lock(tmp_path))
    first.release()
    second.release()
