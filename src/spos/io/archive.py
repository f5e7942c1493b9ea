"""Arrays and a description in one `.npz` file that is whole or not there.

A file is written beside its place, flushed to the disk and then renamed, so that a crash leaves the
old file. A SHA-256 of everything in it is kept inside and checked on reading. Only plain numeric
arrays and JSON are stored: nothing is ever unpickled.
"""

import dataclasses
import hashlib
import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.types import PyTree

_META, _DIGEST, _EXOTIC = "__meta__", "__sha256__", "__exotic__"
UNREADABLE = (
    *(OSError, ValueError, TypeError, KeyError, EOFError),  # TypeError: a bare .npy array
    *(zipfile.BadZipFile, zlib.error),
)


class DamagedFileError(ValueError):
    """The file cannot be trusted; the message says which and why."""


def write(path: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    content, exotic = {}, {}
    for name, array in arrays.items():
        array = np.asarray(array)
        if array.dtype.kind == "V":  # NumPy has no name for bfloat16 and its like
            exotic[name] = array.dtype.name
            array = array.view(f"u{array.dtype.itemsize}")
        content[name] = array
    meta = {**meta, _EXOTIC: exotic}
    content[_META] = np.frombuffer(json.dumps(plain(meta), allow_nan=False).encode(), np.uint8)
    content[_DIGEST] = np.frombuffer(digest(content), np.uint8)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            np.savez(file, allow_pickle=False, **content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the description, or `DamagedFileError`."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            content = {name: arrays[name] for name in arrays.files}
        expected = content.pop(_DIGEST).tobytes()
        if digest(content) != expected:
            raise DamagedFileError(f"{path}: the checksum does not match the content")
        meta = json.loads(content.pop(_META).tobytes())
        for name, dtype in meta.pop(_EXOTIC, {}).items():
            content[name] = content[name].view(jnp.dtype(dtype))
        return content, meta
    except FileNotFoundError:
        raise
    except DamagedFileError:
        raise
    except UNREADABLE as error:
        raise DamagedFileError(f"{path}: not a whole spos file ({error})") from error


def digest(arrays: Mapping[str, np.ndarray]) -> bytes:
    """SHA-256 over names, types, shapes and bytes."""
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hasher.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        hasher.update(array.view(np.uint8).data if array.ndim else array.tobytes())
    return hasher.digest()


def pack(tree: PyTree, prefix: str) -> tuple[dict[str, np.ndarray], Any]:
    """The leaves of a pytree as named arrays, and its structure as JSON.

    Dicts, lists and tuples come back as they were. Any other node comes back as a dict of its
    fields, since rebuilding it would mean trusting the file to name a class.
    """
    arrays: dict[str, np.ndarray] = {}

    def visit(node: Any) -> Any:
        if node is None:
            return {"none": None}
        if isinstance(node, dict) and all(isinstance(key, str) for key in node):
            return {"dict": {key: visit(child) for key, child in node.items()}}
        if type(node) in (list, tuple):
            return {type(node).__name__: [visit(child) for child in node]}
        children, _ = jax.tree_util.tree_flatten_with_path(node, is_leaf=lambda x: x is not node)
        if len(children) == 1 and not children[0][0]:
            name = f"{prefix}{len(arrays)}"
            array = np.asarray(node)
            arrays[name] = array
            return {"leaf": name}
        simple = jax.tree_util.keystr
        return {"dict": {simple(path, simple=True): visit(child) for path, child in children}}

    return arrays, visit(tree)


def unpack(arrays: Mapping[str, np.ndarray], structure: Any) -> PyTree:
    """The pytree that `pack` took apart."""
    [(kind, content)] = structure.items()
    if kind == "none":
        return None
    if kind == "leaf":
        return arrays[content]
    if kind == "dict":
        return {key: unpack(arrays, child) for key, child in content.items()}
    children = [unpack(arrays, child) for child in content]
    return children if kind == "list" else tuple(children)


def plain(value: Any) -> Any:
    """Settings as JSON can hold them; functions and objects become their names."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic | np.ndarray | jax.Array) and not isinstance(
        value, jax.core.Tracer
    ):
        return plain(np.asarray(value).tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"type": type(value).__name__.lower(), **fields}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [plain(item) for item in value]
    return getattr(value, "__qualname__", type(value).__name__)
