"""What came from a file, checked against the types that a class declares.

`read(kind, value)` walks a value of JSON beside a type: numbers, text, lists, objects by name, and
dataclasses and named tuples by their annotations, however deep. What fits comes back as that type
(a whole number where a number is wanted becomes a float, and the words by which JSON says inf and
nan become those). What does not is a `SchemaError` in one sentence that says where it stands, what
came and what is allowed. There is no list of fields to keep up to date: the annotations are it.
"""

import dataclasses
import functools
import math
import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

_WORDS = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    types.NoneType: "null",
    list: "a list",
    dict: "an object",
}
_NOT_FINITE = ("inf", "-inf", "nan")  # JSON has no such numbers, and text stands for them


class SchemaError(ValueError):
    """A value is not of its type; the message says where it stands."""


def read(kind: Any, value: Any, where: str = "it") -> Any:
    """The value as one of this type.

    Args:
        kind: `Any`, a type of JSON, a list, tuple or mapping of types, a union, a dataclass or a
            named tuple.
        value: as `spos.io.strictjson.load` gives it.
        where: what the value is called in a complaint.

    Raises:
        SchemaError: the value is of another type.

    Example:
        >>> read(list[float], [1, 2.5])
        [1.0, 2.5]
    """
    if kind is Any:
        return value
    if get_origin(kind) in (Union, types.UnionType):
        return _one_of(get_args(kind), value, where)
    if fields(kind) is not None:
        return _record(kind, value, where)
    if (origin := get_origin(kind) or kind) in (list, tuple, Sequence):
        return _list(kind, value, where)
    if origin in (dict, Mapping):
        inside = (*get_args(kind), Any, Any)[1]
        _must_be(dict, value, where)
        return {key: read(inside, v, f"{where}[{_shown(key)}]") for key, v in value.items()}
    return _scalar(kind, value, where)


@functools.cache
def fields(kind: Any) -> Mapping[str, Any] | None:
    """The fields of a dataclass or a named tuple with their types; None for other types."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(kind) if field.init)
    elif isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        names = kind._fields
    else:
        return None
    hints = get_type_hints(kind)
    return {name: hints.get(name, Any) for name in names}


def _record(kind: Any, value: Any, where: str) -> Any:
    _must_be(dict, value, where)
    known = fields(kind) or {}
    if strange := [name for name in value if name not in known]:
        raise SchemaError(f"{where} must not have the field {_shown(strange[0])}")
    if absent := [name for name in _needed(kind) if name not in value]:
        raise SchemaError(f"{where} must have the field {absent[0]!r}")
    found = {name: read(known[name], item, f"{where}.{name}") for name, item in value.items()}
    try:
        return kind(**found)
    except (TypeError, ValueError) as error:  # of a check of its own
        raise SchemaError(f"{where}: {error}") from error


def _needed(kind: Any) -> list[str]:
    if dataclasses.is_dataclass(kind):
        missing = dataclasses.MISSING
        return [
            field.name
            for field in dataclasses.fields(kind)
            if field.init and field.default is missing and field.default_factory is missing
        ]
    return [name for name in kind._fields if name not in kind._field_defaults]


def _list(kind: Any, value: Any, where: str) -> Any:
    _must_be(list, value, where)
    inside = get_args(kind)
    if get_origin(kind) is tuple and inside[-1:] != (...,):
        if len(value) != len(inside):
            raise SchemaError(f"{where} must have {len(inside)} entries, got {len(value)}")
        each = inside
    else:
        each = (inside[0] if inside else Any,) * len(value)
    found = [read(k, v, f"{where}[{n}]") for n, (k, v) in enumerate(zip(each, value, strict=True))]
    return tuple(found) if (get_origin(kind) or kind) is tuple else found


def _one_of(kinds: Sequence[Any], value: Any, where: str) -> Any:
    if value is None and types.NoneType in kinds:
        return None
    complaints = []
    for kind in kinds:
        if kind is not types.NoneType:
            try:
                return read(kind, value, where)
            except SchemaError as error:
                complaints.append(str(error))
    raise SchemaError(" or ".join(complaints))


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and value in _NOT_FINITE:
        return float(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 2**1000 else value
    _must_be(kind, value, where)
    if kind is float and not math.isfinite(value):
        raise SchemaError(f"{where} must be a finite number, got {value}")
    if kind is int and abs(value) >= 2**63:
        raise SchemaError(f"{where} must be a whole number of 64 bits, got a longer one")
    return value


def _must_be(kind: Any, value: Any, where: str) -> None:
    # a truth value is a whole number to Python, but not to a reader
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        word = _WORDS.get(kind, getattr(kind, "__name__", str(kind)))
        raise SchemaError(f"{where} must be {word}, got {_shown(value)}")


def _shown(value: Any) -> str:
    """The value in a sentence: short, however long it is."""
    if isinstance(value, Mapping | list):
        return f"{_WORDS[type(value)]} of {len(value)}"
    text = repr(value) if not isinstance(value, int) or abs(value) < 2**63 else "a long number"
    return text if len(text) <= 60 else text[:57] + "…"
