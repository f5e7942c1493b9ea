"""One process at a time in a folder.

The lock is the operating system's own, on a file `.lock` in the folder, which also says who holds
it: process and host. The system lets go of it when a process ends, however that ends, so that what
a killed process leaves behind is free for the next one, on this host or (where the file system
passes locks on) another. A lock file by itself means nothing, and needs no clearing by hand. Where
the system or the file system has no locks, folders are not guarded.
"""

import contextlib
import os
import socket
import threading
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

NAME = ".lock"
_held: dict[str, "Lock"] = {}  # by folder, in this process


class FolderInUseError(OSError):
    """Another run works in the folder; the message says which."""


class Lock:
    """Holds a folder from its making until `release`.

    Raises:
        FolderInUseError: another process, or another thread of this one, holds it.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._process, self._thread = os.getpid(), threading.get_ident()
        self._handle: int | None = None
        self._key = os.path.realpath(folder)
        # a thread does one thing at a time: what it held before, it has given up without a word,
        # as a run that was ended by an error and is still seen from a traceback
        if (before := _held.get(self._key)) is not None and before._thread == self._thread:
            before.release()
        if fcntl is not None:
            self._handle = self._take()
            _held[self._key] = self

    def _take(self) -> int:
        while True:
            # never through a link: the file is written to
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(handle, 300).decode("utf-8", "replace").strip()
                os.close(handle)
                raise FolderInUseError(
                    f"the folder {self.path.parent} is in use by {holder or 'another process'}; "
                    "give each run a folder of its own, or wait until that one has ended"
                ) from None
            except OSError:  # no locks here
                return handle
            if self._is_mine(handle):
                with contextlib.suppress(OSError):  # on a full disk nobody learns who holds it
                    os.ftruncate(handle, 0)
                    os.write(handle, f"process {self._process} on {socket.gethostname()}".encode())
                return handle
            os.close(handle)  # the holder before removed it between our opening and locking

    def _is_mine(self, handle: int) -> bool:
        """Is the open file still the one of that name?"""
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(handle), os.lstat(self.path))
        return False

    def release(self) -> None:
        """Let go of the folder. A copy of the process (`os.fork`) lets go of nothing."""
        if self._handle is None or os.getpid() != self._process:
            return
        if self._is_mine(self._handle):
            with contextlib.suppress(OSError):
                self.path.unlink()  # while it is held: nobody can have locked it yet
        os.close(self._handle)
        self._handle = None
        if _held.get(self._key) is self:
            del _held[self._key]
