"""Reading and writing `.npz` files strictly: arrays of numbers in a zip file, and nothing else.

A zip file states everything twice or three times, and readers differ in what they believe. This
one takes a file only if all of it agrees:

    member 0, member 1, …, directory, end          each begins where the one before it ends

* a member is stored as it is (or deflated, where the caller allows that up to a size),
* its size, checksum and name are the same before it and in the directory,
* it is an array whose type is one of numbers and whose shape times its item size is its size.

All of that is known from a few bytes a member, before room for an array is made, so that the room
is never more than the size of the file (or what the caller allows). Headers are matched by a
regular expression: nothing is evaluated or unpickled. Whatever is wrong is a `ValueError`.
"""

import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from spos.io.files import open_plain

MOST_MEMBERS, LONGEST_NAME, LONGEST_HEADER = 2**16 - 1, 1000, 4096
_MEMBER, _ENTRY = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L")
_END, _END64, _LOCATOR = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q"), "<4sLQL"
_TAIL64 = _END64.size + struct.calcsize(_LOCATOR)
_STORED, _DEFLATED, _UTF8, _ELSEWHERE, _ZIP64 = 0, 8, 0x800, 2**32 - 1, 1
_NUMBERS = re.compile(r"[|](?:b1|[iu]1)|[<>](?:[iu][248]|f[248]|c8|c16)")
_HEADER = re.compile(
    r"\{'descr': '(?P<type>[^']{3,4})', 'fortran_order': (?P<columns>True|False), "
    r"'shape': \((?P<shape>|\d{1,18},|\d{1,18}(?:, \d{1,18}){1,63})\), \} *\n"
)


class _Entry(NamedTuple):
    """A member, as the directory tells it."""

    name: str
    method: int
    flags: int
    crc: int
    packed: int  # bytes in the file
    size: int  # bytes of the member
    offset: int


def write(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Arrays of numbers by name, uncompressed, as `read` takes them and `numpy.load` too."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            if not (name.isprintable() and 0 < len(name.encode()) <= LONGEST_NAME):
                raise ValueError(f"arrays must have names that can be printed, got {name[:50]!r}")
            if not _NUMBERS.fullmatch(array.dtype.str):
                raise TypeError(f"{name} must hold numbers to be saved, got {array.dtype}")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read(
    path: Path, *, deflated: int = 0, wanted: Callable[[str], bool] = lambda name: True
) -> dict[str, np.ndarray]:
    """The arrays in a file, by name.

    Args:
        deflated: take members that are deflated, if all together have at most so many bytes.
        wanted: which arrays to read; what the others hold is not looked at.

    Raises:
        OSError: the file cannot be opened.
        ValueError: it is not a whole file of arrays of numbers.
    """
    with open_plain(path, links=True) as (file, size):
        try:
            members = {entry.name.removesuffix(".npy"): entry for entry in _directory(file, size)}
            chosen = {name: entry for name, entry in members.items() if wanted(name)}
            _must_unfold(chosen.values(), deflated)
            return {name: _array(file, entry) for name, entry in chosen.items()}
        except struct.error as error:
            raise ValueError("a part of it is cut short") from error


def _must_unfold(entries: Iterable[_Entry], most: int) -> None:
    packed = [entry for entry in entries if entry.method != _STORED]
    if packed and not most:
        raise ValueError(f"{packed[0].name} is compressed, which is not allowed here")
    if sum(entry.size for entry in packed) > most:
        raise ValueError(f"it would unfold to more than the {most:,} bytes allowed")


def _directory(file: IO[bytes], size: int) -> list[_Entry]:
    """All members, which fill the file from its beginning to the directory."""
    count, length, start = _end(file, size)
    if count > MOST_MEMBERS or count * _ENTRY.size > length:
        raise ValueError(f"it cannot have {count} members")
    listing = _take(file, start, length)
    entries, at, place = [], 0, 0
    for _ in range(count):
        entry, at = _entry(listing, at)
        if entry.offset != place:
            raise ValueError(f"{entry.name} is not where the member before it ends")
        place = _data(file, entry) + entry.packed
        if place > start:
            raise ValueError(f"{entry.name} is larger than the file")
        entries.append(entry)
    if at != length or place != start:
        raise ValueError("there is something between its members and its directory")
    if len({entry.name for entry in entries}) < count:
        raise ValueError("two of its members have one name")
    return entries


def _end(file: IO[bytes], size: int) -> tuple[int, int, int]:
    """How many members there are, and the length and place of the directory."""
    mark, *disks, here, count, length, start, comment = _END.unpack(
        _take(file, size - _END.size, _END.size)
    )
    if mark != b"PK\5\6" or disks != [0, 0] or here != count or comment:
        raise ValueError("it does not end like a zip file")
    rest = size - _END.size
    if start + length != rest:  # files above 2 GB say it again, in larger numbers
        tail = _take(file, rest - _TAIL64, _TAIL64)
        mark, _, _, _, *disks, here64, count64, length64, start64 = _END64.unpack_from(tail)
        again, disk, place, total = struct.unpack_from(_LOCATOR, tail, _END64.size)
        rest -= _TAIL64
        small = [min(count64, 2**16 - 1), min(length64, _ELSEWHERE), min(start64, _ELSEWHERE)]
        if (mark, again) != (b"PK\6\6", b"PK\6\7") or [*disks, disk, total] != [0, 0, 0, 1]:
            raise ValueError("it does not end like a zip file")
        if here64 != count64 or place != rest or [count, length, start] != small:
            raise ValueError("it has two ends that disagree")
        count, length, start = count64, length64, start64
    if start + length != rest:
        raise ValueError("its directory is not where it says")
    return count, length, start


def _entry(listing: bytes, at: int) -> tuple[_Entry, int]:
    """The entry of the directory at a place, and the place of the next one."""
    (
        mark,
        _,
        _,
        flags,
        method,
        _,
        _,
        crc,
        packed,
        size,
        named,
        extra,
        comment,
        disk,
        _,
        _,
        offset,
    ) = _ENTRY.unpack_from(listing, at)
    at += _ENTRY.size
    name, more = listing[at : at + named], listing[at + named : at + named + extra]
    if mark != b"PK\1\2" or disk or comment or len(more) != extra:
        raise ValueError("its directory is damaged")
    size, packed, offset = _large(more, size, packed, offset)
    if flags & ~_UTF8 or method not in (_STORED, _DEFLATED):
        raise ValueError("a member is encrypted, or compressed in another way")
    if method == _STORED and packed != size:
        raise ValueError("a member that is not compressed has two sizes")
    text = name.decode("utf-8" if flags else "ascii")
    if not (text.endswith(".npy") and text.isprintable() and len(name) <= LONGEST_NAME + 4):
        raise ValueError(f"a member is not an array: {text[:50]!r}")
    return _Entry(text, method, flags, crc, packed, size, offset), at + named + extra


def _large(extra: bytes, *numbers: int) -> tuple[int, ...]:
    """Numbers of which those that do not fit in 32 bits stand in an extra field."""
    at, wide = 0, b""
    while at < len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if at + 4 + length > len(extra):
            raise ValueError("an extra field is damaged")
        wide = extra[at + 4 : at + 4 + length] if kind == _ZIP64 else wide
        at += 4 + length
    found = iter(struct.unpack(f"<{len(wide) // 8}Q", wide))
    large = tuple(next(found, -1) if number == _ELSEWHERE else number for number in numbers)
    if min(large) < 0 or next(found, None) is not None:
        raise ValueError("an extra field is damaged")
    return large


def _data(file: IO[bytes], entry: _Entry) -> int:
    """Where the bytes of a member begin, if what stands before them agrees with the directory."""
    mark, _, flags, method, _, _, crc, packed, size, named, extra = _MEMBER.unpack(
        _take(file, entry.offset, _MEMBER.size)
    )
    rest = _take(file, entry.offset + _MEMBER.size, named + extra)
    size, packed = _large(rest[named:], size, packed)
    told = (mark, flags, method, crc, packed, size, rest[:named])
    name = entry.name.encode()
    if told != (b"PK\3\4", *(entry.flags, entry.method, entry.crc, entry.packed, entry.size), name):
        raise ValueError(f"{entry.name} is told in two ways that disagree")
    return entry.offset + _MEMBER.size + len(rest)


def _array(file: IO[bytes], entry: _Entry) -> np.ndarray:
    place = _data(file, entry)
    if entry.method == _DEFLATED:
        content = _unfolded(_take(file, place, entry.packed), entry)
        dtype, shape, order, begin = _header(content, entry)
        flat = np.frombuffer(bytearray(memoryview(content)[begin:]), dtype)
        crc = zlib.crc32(content)
    else:
        head = _take(file, place, min(entry.size, LONGEST_HEADER))
        dtype, shape, order, begin = _header(head, entry)
        flat = np.empty(math.prod(shape), dtype)
        file.seek(place + begin)
        if file.readinto(flat.view(np.uint8)) != flat.nbytes:  # type: ignore[attr-defined]
            raise ValueError(f"{entry.name} is cut short")
        crc = zlib.crc32(flat.view(np.uint8), zlib.crc32(head[:begin]))
    if crc != entry.crc:
        raise ValueError(f"the checksum of {entry.name} does not match")
    return flat.reshape(shape, order=order)


def _unfolded(packed: bytes, entry: _Entry) -> bytes:
    unfolding = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = unfolding.decompress(packed, entry.size + 1)  # 0 would mean: without a limit
    except zlib.error as error:
        raise ValueError(f"{entry.name} cannot be unfolded") from error
    if len(content) != entry.size or not unfolding.eof or unfolding.unused_data:
        raise ValueError(f"{entry.name} does not unfold to its size")
    return content


def _header(head: bytes, entry: _Entry) -> tuple[np.dtype, tuple[int, ...], str, int]:
    """Type, shape, order and where the numbers begin; together they make up the member."""
    wide = 2 if head[6:8] == b"\1\0" else 4
    begin = 8 + wide + int.from_bytes(head[8 : 8 + wide], "little")
    if head[:6] != b"\x93NUMPY" or head[6:8] not in (b"\1\0", b"\2\0") or begin > len(head):
        raise ValueError(f"{entry.name} does not begin like an array")
    found = _HEADER.fullmatch(head[8 + wide : begin].decode("ascii"))
    if found is None or not _NUMBERS.fullmatch(found["type"]):
        raise ValueError(f"{entry.name} is not an array of numbers")
    dtype = np.dtype(found["type"])
    shape = tuple(int(length) for length in found["shape"].split(",") if length.strip())
    if math.prod(shape) * dtype.itemsize != entry.size - begin:
        raise ValueError(f"{entry.name} does not have the size of its shape {shape}")
    return dtype, shape, "F" if found["columns"] == "True" else "C", begin


def _take(file: IO[bytes], place: int, length: int) -> bytes:
    """So many bytes from a place, all of them."""
    if place < 0:
        raise ValueError("it is cut short")
    file.seek(place)
    content = file.read(length)
    if len(content) != length:
        raise ValueError("it is cut short")
    return content
