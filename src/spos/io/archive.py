"""Arrays and a description in one `.npz` file that is whole or not there.

The file is written whole (`spos.io.files`), read strictly (`spos.io.npz`), and keeps a SHA-256 of
everything in it, which is compared on reading. Only numbers and JSON are stored, so that loading a
file never runs code: nothing is unpickled or evaluated, and no class is named in a file.

There are two levels:

* `write(path, arrays, meta)` and `read(path)`: arrays by name, and a description as JSON.
* `save_fields(path, format, fields, kinds)` and `load_fields(path, format, kinds)`: the fields of
  a dataclass or a named tuple by their types, which `fields_of(kind)` takes from its annotations.
  A field of arrays (`np.ndarray`, `jax.Array`, or `Any`, which is any pytree) becomes members of
  the file, and any other field a part of the description, where it is checked against its type
  when it comes back. A new kind of file needs no more than its class:

      archive.save_fields(path, "runs 1", run._asdict(), archive.fields_of(Run))
      run = Run(**archive.load_fields(path, "runs 1", archive.fields_of(Run)))

Every failure to make sense of a file passes one door, `making_sense`, and is a `DamagedFileError`.
"""

import contextlib
import dataclasses
import errno
import hashlib
import math
import os
import types
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import jax
import jax.numpy as jnp
import numpy as np

from spos.io import npz, schema, strictjson
from spos.io.files import whole
from spos.types import PyTree

_META, _DIGEST, _EXOTIC = "__meta__", "__sha256__", "__exotic__"


class DamagedFileError(ValueError):
    """The file cannot be trusted; the message says which and why."""


@contextlib.contextmanager
def making_sense(path: Path) -> Iterator[None]:
    """Inside, whatever goes wrong is the fault of the file: a `DamagedFileError` that names it."""
    try:
        yield
    except DamagedFileError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error)
        raise DamagedFileError(f"{path}: not a whole spos file ({reason[:200]})") from error


def write(path: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """Write arrays by name and a description.

    Raises:
        OSError: the file cannot be written; the message names it.
        TypeError, ValueError: something is neither numbers nor JSON.
    """
    content, exotic = {}, {}
    for name, array in arrays.items():
        array = np.asarray(array)
        if array.dtype.isbuiltin == 2:  # NumPy has no name for bfloat16 and its like
            exotic[name] = array.dtype.name
            array = array.view(f"u{array.dtype.itemsize}")
        content[name] = array
    content[_META] = np.frombuffer(strictjson.dump(plain({**meta, _EXOTIC: exotic})), np.uint8)
    content[_DIGEST] = np.frombuffer(digest(content), np.uint8)
    with whole(path) as file:
        npz.write(file, content)


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the description.

    Raises:
        FileNotFoundError: there is nothing of this name.
        DamagedFileError: there is something else than what `write` wrote.
    """
    if not os.path.lexists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with making_sense(path):
        content = npz.read(path)
        expected = content.pop(_DIGEST).tobytes()
        if digest(content) != expected:
            raise DamagedFileError(f"{path}: the checksum does not match the content")
        meta = schema.read(dict[str, Any], strictjson.load(content.pop(_META).tobytes()))
        for name, kind in schema.read(dict[str, str], meta.pop(_EXOTIC, {})).items():
            dtype = jnp.dtype(kind)
            if dtype.isbuiltin != 2 or dtype.itemsize != content[name].dtype.itemsize:
                raise DamagedFileError(f"{path}: {name} cannot be of type {kind[:20]}")
            content[name] = content[name].view(dtype)
        return content, meta


def fields_of(kind: type, without: Collection[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass or named tuple with their types, as `save_fields` wants them."""
    known = schema.fields(kind)
    if known is None:
        raise TypeError(f"kind must be a dataclass or a named tuple, got {kind!r}")
    return {name: hint for name, hint in known.items() if name not in without}


def save_fields(
    path: Path, format: int | str | None, fields: Mapping[str, Any], kinds: Mapping[str, Any]
) -> None:
    """Write one value for each field of `kinds`.

    Args:
        format: what the file is, and of which version; the same must be given to read it.
        fields: the values by name; those that `kinds` does not name are left out.
        kinds: the type of each field, as `fields_of` gives them.

    Raises:
        OSError: the file cannot be written; the message names it.
        TypeError, ValueError: something is neither numbers nor JSON.
    """
    arrays, meta = pack_fields(fields, kinds)
    write(path, arrays, meta if format is None else {"format": format, **meta})


def pack_fields(
    fields: Mapping[str, Any], kinds: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the description that `save_fields` writes, for a file of another kind."""
    arrays: dict[str, np.ndarray] = {}
    meta: dict[str, Any] = {}
    for name, kind in kinds.items():
        value = fields[name]
        if not _of_arrays(kind):
            meta[name] = plain(_bare(value))
            schema.read(kind, meta[name], name)  # what could not be read is not written
            continue
        if kind is np.ndarray or isinstance(value, np.ndarray | np.generic | jax.Array):
            found = {name: np.asarray(value)}
        else:
            found, meta[name] = pack(value, name)
        if twice := found.keys() & arrays.keys():
            raise ValueError(f"fields must not share the name {min(twice)} of an array")
        arrays |= found
    return arrays, meta


def load_fields(path: Path, format: int | str | None, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that `save_fields` wrote, each of its type.

    Raises:
        FileNotFoundError: there is nothing of this name.
        DamagedFileError: the file is damaged, or a field is missing or of another type.
        ValueError: it is a whole file, but of another format.
    """
    arrays, meta = read(path)
    found = meta.get("format")
    if type(found) is not type(format) or found != format:
        raise ValueError(f"{path}: must be a file of format {format!r}, got {str(found)[:50]!r}")
    with making_sense(path):
        return unpack_fields(arrays, meta, kinds)


def unpack_fields(
    arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], kinds: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields that `pack_fields` took apart, each of its type.

    Raises:
        ValueError: a field is missing or of another type.
    """
    return {name: _field(name, kind, arrays, meta) for name, kind in kinds.items()}


def _field(name: str, kind: Any, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Any:
    if _of_arrays(kind) and name in arrays:
        return arrays[name]
    if name not in meta:
        raise ValueError(f"it has no field {name!r}")
    if not _of_arrays(kind):
        return schema.read(kind, meta[name], name)
    value = unpack(arrays, meta[name])
    if kind is np.ndarray and not isinstance(value, np.ndarray):
        raise ValueError(f"{name} must be an array")
    return _rebuilt(kind, value)


def _rebuilt(kind: Any, value: Any) -> Any:
    """Records were taken apart into their fields, and their numbers made arrays: as they were."""
    inside = get_args(kind)
    if get_origin(kind) in (Union, types.UnionType):
        records = [each for each in inside if schema.fields(each) is not None]
        return _rebuilt(records[0], value) if records and isinstance(value, dict) else value
    if get_origin(kind) is list:
        return [_rebuilt(inside[0], each) for each in value]
    if (known := schema.fields(kind)) is not None:
        return kind(**{key: _rebuilt(known[key], part) for key, part in value.items()})
    return kind(value.item()) if kind in (bool, int, float) else value


def _of_arrays(kind: Any, loose: bool = True) -> bool:
    """Does a field of this type hold arrays? `Any` alone does, but a list of `Any` is JSON."""
    if kind is Any:
        return loose
    base, inside = get_origin(kind) or kind, get_args(kind)
    if base in (np.ndarray, jax.Array):
        return True
    loose = base in (Union, types.UnionType)
    known = schema.fields(kind) or {}
    return any(_of_arrays(k, loose) for k in (*inside, *known.values()))


def _bare(value: Any) -> Any:
    """Records as objects of their fields, which is how `schema.read` takes them."""
    if (known := schema.fields(type(value))) is not None:
        return {name: _bare(getattr(value, name)) for name in known}
    if isinstance(value, Mapping):
        return {key: _bare(item) for key, item in value.items()}
    return [_bare(item) for item in value] if isinstance(value, list | tuple) else value


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
    """The pytree that `pack` took apart.

    Raises:
        ValueError: the structure is not one that `pack` makes, or names an array that is missing.
    """
    match structure:
        case {"none": None, **rest} if not rest:
            return None
        case {"leaf": str(name), **rest} if not rest and name in arrays:
            return arrays[name]
        case {"dict": dict(content), **rest} if not rest:
            return {key: unpack(arrays, child) for key, child in content.items()}
        case {"list": list(content), **rest} if not rest:
            return [unpack(arrays, child) for child in content]
        case {"tuple": list(content), **rest} if not rest:
            return tuple(unpack(arrays, child) for child in content)
    raise ValueError(f"it is not the structure of a pytree: {str(structure)[:50]}")


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
