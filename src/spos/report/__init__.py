"""Figures and pages made from what was measured."""

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the place and rename, so that a file is whole or not there."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
