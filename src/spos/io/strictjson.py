"""JSON without its surprises.

What `load` takes is UTF-8, of limited size and depth, without repeated names, without numbers that
are not finite and without halves of characters (lone surrogates, which no file and no terminal can
show). `dump` refuses to write what `load` would refuse to read.
"""

import json
import re
from typing import Any, NoReturn

import numpy as np

MOST_BYTES, MOST_DEPTH = 2**24, 200
# one that is never closed reaches to the end: a search that gave up would begin again at each quote
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_STEP = np.zeros(256, np.int8)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1


def dump(value: Any) -> bytes:
    """The value as JSON, or a `ValueError` that says why it is none."""
    content = json.dumps(value, allow_nan=False).encode()
    load(content)
    return content


def load(content: bytes) -> Any:
    """The value that JSON says, or a `ValueError` in one sentence."""
    if len(content) > MOST_BYTES:
        raise ValueError(f"JSON of {len(content):,} bytes is more than the {MOST_BYTES:,} allowed")
    if depth(content) > MOST_DEPTH:  # known before anything is built
        raise ValueError(f"JSON must not be nested deeper than {MOST_DEPTH} levels")
    value = json.loads(
        content.decode("utf-8"), object_pairs_hook=_object, parse_constant=_not_finite
    )
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("JSON must not hold halves of characters (lone surrogates)") from error
    return value


def depth(content: bytes) -> int:
    """How deep brackets are nested, without reading what they hold."""
    brackets = np.frombuffer(_STRINGS.sub(b"", content), np.uint8)
    return int(np.cumsum(_STEP[brackets], dtype=np.int32).max(initial=0))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("JSON must not name a field twice")
    return found


def _not_finite(text: str) -> NoReturn:
    raise ValueError(f"JSON must hold finite numbers, got {text}")
