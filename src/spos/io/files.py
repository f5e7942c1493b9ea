"""Files that are whole or not there, and files that are what they seem.

Writing. There is one way: a file is written beside its place under a name of its own, flushed to
the disk and then renamed, so that a crash or a full disk leaves the old file. A failure is an
`OSError` that names the file that was wanted, not the one beside it.

Reading. A file that others made may be a pipe that never ends, a device, or a link that leads out
of its folder. `open_plain` opens regular files only, and `read_plain` knows how much it will read
before it reads.
"""

import contextlib
import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

PART = ".part"  # what a file is called while it is written


@contextlib.contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its place when all went well and vanishes otherwise.

    Raises:
        OSError: what went wrong, with the name of the file.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{PART}")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        if error.errno is None:
            raise OSError(f"cannot write {path}: {error}") from error
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # the new name is on the disk too, where that can be asked
        _flush_folder(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is whole or not there."""
    with whole(path) as file:
        file.write(content)


def make_writable(folder: Path) -> None:
    """The folder exists and can be written to, or an error that says why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"cannot write to the folder {folder}: {error.strerror}") from error


@contextlib.contextmanager
def open_plain(path: Path, *, links: bool) -> Iterator[tuple[IO[bytes], int]]:
    """A regular file to read from, and its size; `links` says whether a link may lead to it.

    Raises:
        OSError: it cannot be opened, or it is something else than a regular file.
    """
    # without O_NONBLOCK, opening a pipe would wait for a writer
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not links:
        if path.is_symlink():
            raise OSError(errno.ELOOP, "it is a link, which is not followed", str(path))
        flags |= getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        yield file, about.st_size


def read_plain(path: Path, most: int, *, links: bool) -> bytes:
    """The content of a regular file of at most so many bytes.

    Raises:
        OSError: it cannot be read, is larger, or is something else than a regular file.
    """
    with open_plain(path, links=links) as (file, size):
        if size > most:
            told = f"it has {size:,} bytes, more than the {most:,} that are allowed"
            raise OSError(errno.EFBIG, told, str(path))
        return file.read(most)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
