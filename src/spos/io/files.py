"""Figures and pages made from what was measured."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the place and rename, so that a file is whole or not there."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def make_writable(folder: Path) -> None:
    """The folder exists and can be written to, or an error that says why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise OSError(f"cannot write to the folder {folder}: {error.strerror}") from error
