"""Ways to spoil a file, each a generator of contents for a seed.

Every generator takes the content of a good file and a random generator, and yields spoilt contents
without end. `flips` and `cuts` know nothing of the file. `headers` and `members` speak the language
of zip files and of the arrays in them, and `arrays` and `descriptions` that of `spos.io.archive`:
their files are whole, with the right checksums, and only say the wrong thing. `texts` does the same
to JSON.
"""

import copy
import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from spos.io import archive, npz

NUMBERS = (0, 1, 2, 7, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)
FIELDS = {  # of the three headers of a zip file: places of 16 bits, and of 32
    b"PK\3\4": ((4, 6, 8, 26, 28), (14, 18, 22, 30)),
    b"PK\1\2": ((6, 8, 10, 28, 30, 32, 34, 36), (16, 20, 24, 38, 42, 46)),
    b"PK\5\6": ((4, 6, 8, 10, 20), (12, 16)),
}
NAMES = ("../x.npy", "/x.npy", "x", "\u202e.npy", "y" * 2000)
JUNK = (b"[" * 10**5, b'{"a":' * 500, b"NaN", b"1e999", b"\xff", b"9" * 5000, b"]", b"{}")
TYPES = ("<f4", ">f8", "|b1", "<i8", "|u1", "<c16", "|O", "<U9", "|V8", "<f16", "<M8[s]", "f8", "")
SHAPES = ("()", "(1,)", "(0,)", "(-1,)", "(3, 4)", "(99999999999,)", "(9999999999, 0)", "(1e9,)")
LENGTHS = (0, 1, 2, 10, 117, 65535)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**63, 10**400, 0.5, -1e308, "", "text", "nan", "\ud800", "\0"),
    *([], {}, [[]], [None], {"a": 1}, {"leaf": "particles0"}, {"leaf": "no"}, {"none": None}),
    *({"dict": {}}, {"tuple": []}, {"list": [1]}, "x" * 10_000, [0] * 10_000, "inf"),
)


def flips(content: bytes, rng: random.Random) -> Iterator[bytes]:
    """A few bits turned over, half of the time near a header."""
    marks = [found.start() for found in re.finditer(rb"PK|\x93N", content)] or [0]
    while True:
        spoilt = bytearray(content)
        for _ in range(rng.choice((1, 1, 1, 2, 8))):
            near = rng.choice(marks) + rng.randrange(120)
            place = near if rng.random() < 0.5 else rng.randrange(len(content))
            spoilt[place % len(content)] ^= 1 << rng.randrange(8)
        yield bytes(spoilt)


def cuts(content: bytes, rng: random.Random) -> Iterator[bytes]:
    """Pieces that are missing, doubled, blank, exchanged or added."""
    size = len(content)
    while True:
        a, b = sorted((rng.randrange(size + 1), rng.randrange(size + 1)))
        c = min(size, a + rng.choice((1, 2, 8, 64, 512)))
        some = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 30, 200))))
        yield rng.choice(
            (
                content[:a],
                content[a:],
                content[:a] + content[b:],
                content[:b] + content[a:],
                content[:a] + bytes(c - a) + content[c:],
                content[:a] + some + content[a:],
                content[:a] + some + content[a + len(some) :],
                content + some,
                some + content,
                content[a:] + content[:a],
                content + content,
            )
        )


def headers(content: bytes, rng: random.Random) -> Iterator[bytes]:
    """Fields of the headers of a zip file with telling values, in one or in all of a kind."""
    heads = {mark: [m.start() for m in re.finditer(re.escape(mark), content)] for mark in FIELDS}
    while True:
        yield _other_numbers(content, heads, rng)


def members(content: bytes, rng: random.Random) -> Iterator[bytes]:
    """A zip file packed again, one of its arrays with another beginning, name or size."""
    while True:
        yield _other_members(content, rng)


def _other_numbers(content: bytes, heads: dict[bytes, list[int]], rng: random.Random) -> bytes:
    spoilt = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        mark = rng.choice(list(FIELDS))
        wide = rng.randrange(2)
        place, width = rng.choice(FIELDS[mark][wide]), 2 + 2 * wide
        value = rng.choice((*NUMBERS, len(content), rng.randrange(2**32))) % 2 ** (8 * width)
        for head in heads[mark] if rng.random() < 0.3 else [rng.choice(heads[mark])]:
            if head + place + width <= len(spoilt):
                struct.pack_into("<L" if wide else "<H", spoilt, head + place, value)
    return bytes(spoilt)


def _other_members(content: bytes, rng: random.Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = [(name, file.read(name)) for name in file.namelist()]
    n = rng.randrange(len(members))
    name, data = members[n]
    numbers = data[-rng.choice(LENGTHS) :]
    members[n] = rng.choice(
        (
            (name, _header(rng) + data[128:]),
            (name, _header(rng) + numbers),
            (name, numbers),
            (name, data + numbers),
            (
                rng.choice(("../x.npy", "/x.npy", "x", "\u202e.npy", members[0][0], "y" * 2000)),
                data,
            ),
        )
    )
    extra = [("more.npy", data)] * rng.choice((0, 0, 1))
    buffer = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED,) * 3 + (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(buffer, "w", method) as file:
        file.comment = rng.choice((b"", b"", b"a comment"))
        for name, data in members + extra:
            info = zipfile.ZipInfo(name)  # two of one name are wanted, and no warning
            info.compress_type = method
            file.NameToInfo.pop(name, None)
            file.writestr(info, data)
    return buffer.getvalue()


def _header(rng: random.Random) -> bytes:
    text = (
        f"{{'descr': '{rng.choice(TYPES)}', 'fortran_order': {rng.choice((True, False, 1))}, "
        f"'shape': {rng.choice(SHAPES)}, }}"
    )
    padded = text.ljust(rng.choice((117, 117, 0, 500))) + rng.choice(("\n", "\n", ""))
    version = rng.choice((b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\0\0"))
    wide = 2 if version == b"\1\0" else 4
    length = rng.choice((len(padded), len(padded), len(padded), 0, 2 ** (8 * wide) - 1))
    return b"\x93NUMPY" + version + length.to_bytes(wide, "little") + padded.encode()


def _archive(arrays: dict[str, np.ndarray], meta: bytes) -> bytes:
    """A whole archive, whatever the description says."""
    content = {**arrays, archive._META: np.frombuffer(meta, np.uint8)}
    content[archive._DIGEST] = np.frombuffer(archive.digest(content), np.uint8)
    buffer = io.BytesIO()
    npz.write(buffer, content)
    return buffer.getvalue()


def _opened(content: bytes) -> tuple[dict[str, np.ndarray], bytes]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    arrays.pop(archive._DIGEST)
    return arrays, arrays.pop(archive._META).tobytes()


def arrays(content: bytes, rng: random.Random) -> Iterator[bytes]:
    """Whole archives of which arrays are missing, exchanged, or of another type or shape."""
    good, meta = _opened(content)
    while True:
        spoilt = dict(good)
        for _ in range(rng.choice((1, 1, 2))):
            name = rng.choice(list(good))
            array = good[name]
            spoilt[name] = rng.choice(
                (
                    array[None],
                    array.ravel(),
                    array.ravel()[:0],
                    array.ravel()[:1].reshape(()) if array.size else array,
                    np.zeros((0, *array.shape[1:]), array.dtype),
                    np.ones(array.shape, rng.choice(("f8", "i2", "c8", "?", ">f4", "u1"))),
                    array * np.nan if array.dtype.kind == "f" else array,
                    good[rng.choice(list(good))],
                )
            )
            if rng.random() < 0.2:
                spoilt[f"{name}{rng.randrange(3)}"] = spoilt.pop(name)
            if rng.random() < 0.2:
                spoilt.pop(name, None)
        yield _archive(spoilt, meta)


def descriptions(content: bytes, rng: random.Random) -> Iterator[bytes]:
    """Whole archives whose description says something else."""
    good, meta = _opened(content)
    for text in texts(meta, rng):
        yield _archive(good, text)


def texts(content: bytes, rng: random.Random) -> Iterator[bytes]:
    """JSON with other values, without some, deeper, doubled, or not quite JSON."""
    good = json.loads(content)
    while True:
        value = copy.deepcopy(good)
        for _ in range(rng.choice((1, 1, 2, 4))):
            value = _changed(value, rng)
        text = json.dumps(value, ensure_ascii=rng.random() < 0.9).encode("utf-8", "surrogatepass")
        if rng.random() < 0.1:
            place = rng.randrange(len(text))
            text = text[:place] + rng.choice(JUNK) + text[place:]
        yield text


def _changed(value: Any, rng: random.Random) -> Any:
    """The value with one thing inside it changed, somewhere down a random path."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.1:
        other = copy.deepcopy(rng.choice(VALUES))
        return _nested(rng.choice((3, 90, 300)), value) if rng.random() < 0.1 else other
    key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
    if rng.random() < 0.15:
        del value[key]
    elif isinstance(value, dict) and rng.random() < 0.15:
        value[rng.choice(("", "type", "format", "class", "\ud800", key + " "))] = value.pop(key)
    elif isinstance(value, list) and rng.random() < 0.1:
        value.extend(value[: rng.choice((1, 1000))])
    else:
        value[key] = _changed(value[key], rng)
    return value


def _nested(levels: int, value: Any) -> Any:
    for _ in range(levels):
        value = [value]
    return value
