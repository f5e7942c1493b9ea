"""The strict reader: what it takes, and what it refuses before it makes room for it."""

import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from spos.io import npz

ARRAYS = {
    "file": np.arange(6, dtype=np.float32).reshape(2, 3),  # a name that numpy.savez cannot have
    "größe": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "scalar": np.float64(0.5),
    "empty": np.zeros((0, 3), np.int16),
    "none": np.zeros((3, 0, 2), np.uint8),
    "big end": np.arange(3, dtype=">f8"),
    "truth": np.array([True, False]),
    "complex": np.array([1 + 2j], np.complex64),
    "deep": np.ones((1,) * 64, np.int8),
}


def written(path, arrays=ARRAYS):
    with open(path, "wb") as file:
        npz.write(file, {name: np.asarray(array) for name, array in arrays.items()})
    return path


def assert_equal(found, expected):
    assert list(found) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].flags.writeable


def test_arrays_come_back_and_numpy_reads_them_too(tmp_path):
    path = written(tmp_path / "a.npz")
    assert_equal(npz.read(path), ARRAYS)
    with np.load(path, allow_pickle=False) as found:
        assert_equal({name: found[name] for name in found.files}, ARRAYS)


def test_what_numpy_writes_is_read(tmp_path):
    arrays = {name: array for name, array in ARRAYS.items() if name != "file"}
    np.savez(tmp_path / "a.npz", **arrays)
    assert_equal(npz.read(tmp_path / "a.npz"), arrays)
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    assert_equal(npz.read(tmp_path / "a.npz", deflated=10**6), arrays)
    with pytest.raises(ValueError, match="is compressed, which is not allowed here"):
        npz.read(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="would unfold to more than the 1,000 bytes"):
        npz.read(tmp_path / "a.npz", deflated=1000)


@pytest.mark.parametrize("limit", [0, 100, 300])
def test_files_with_large_numbers_are_read(tmp_path, monkeypatch, limit):
    """Above 2 GB a zip file has other fields, which a lower limit shows in a small one."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    path = written(tmp_path / "a.npz")
    assert b"PK\6\6" in path.read_bytes()
    assert_equal(npz.read(path), ARRAYS)


def test_only_what_is_wanted_is_looked_at(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones(3), names=np.array(["a"]), objects=np.array([{}]))
    assert list(npz.read(tmp_path / "a.npz", wanted=lambda name: name == "x")) == ["x"]
    with pytest.raises(ValueError, match=r"names\.npy is not an array of numbers"):
        npz.read(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("name", "array", "complaint"),
    [
        ("x", np.array(["text"]), "x must hold numbers to be saved, got <U4"),
        ("x", np.array([{}]), "x must hold numbers"),
        ("x", np.zeros(2, "f4,i4"), "x must hold numbers"),
        ("x", np.array(["2020-01-01"], "M8[D]"), "x must hold numbers"),
        ("a\0b", np.ones(1), "names that can be printed"),
        ("", np.ones(1), "names that can be printed"),
        ("n" * 1001, np.ones(1), "names that can be printed"),
    ],
)
def test_what_could_not_be_read_is_not_written(name, array, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        npz.write(io.BytesIO(), {name: array})


def zipped(*members, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


def header(text, version=b"\1\0"):
    wide = 2 if version == b"\1\0" else 4
    return b"\x93NUMPY" + version + len(text).to_bytes(wide, "little") + text.encode()


def array(descr="'<f8'", order="False", shape="(2,)", data=b"\0" * 16, end=" \n", **options):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}{end}"
    return header(text, **options) + data


def one(**options):
    return zipped(("a.npy", array(**options)))


def patched(content, **changes):
    """The zip file of one member with other numbers, both before the member and in the directory.

    Each change names a field and gives its value.
    """
    places = {  # in front of the member, in the directory
        "flags": ("<H", 6, 8),
        "method": ("<H", 8, 10),
        "crc": ("<L", 14, 16),
        "packed": ("<L", 18, 20),
        "size": ("<L", 22, 24),
    }
    content = bytearray(content)
    entry = content.index(b"PK\1\2")
    for name, value in changes.items():
        form, before, listed = places[name]
        struct.pack_into(form, content, before, value)
        struct.pack_into(form, content, entry + listed, value)
    return bytes(content)


GOOD = one()
TWO = zipped(("a.npy", array()), ("b.npy", array()))
NO_END, NO_ARRAY = "does not end like a zip file", "does not begin like an array"
NO_NUMBERS, NO_SIZE = "is not an array of numbers", "does not have the size of its shape"
BAD = {
    "empty": (b"", "cut short"),
    "text": (b"not a file of arrays", "cut short"),
    "a bare array": (array(), NO_END),
    "no members but a comment": (zipped() + b"more", NO_END),
    "something in front": (b"\0" + GOOD, NO_END),
    "something behind": (GOOD + b"\0", NO_END),
    "encrypted": (patched(GOOD, flags=1), "encrypted"),
    "sizes behind the member": (patched(GOOD, flags=8), "encrypted"),
    "another way to compress": (patched(GOOD, method=12), "encrypted"),
    "unknown way to compress": (patched(GOOD, method=99), "encrypted"),
    "two sizes": (patched(GOOD, size=2**31), "has two sizes"),
    "larger than the file": (patched(GOOD, size=2**31, packed=2**31), "larger than the file"),
    "sizes that stand nowhere": (patched(GOOD, size=2**32 - 1, packed=2**32 - 1), "extra field"),
    "another checksum": (patched(GOOD, crc=1), "checksum of a.npy"),
    "a checksum that is told in two ways": (GOOD.replace(GOOD[14:18], b"\0\0\0\1", 1), "disagree"),
    "two members of one name": (TWO.replace(b"b.npy", b"a.npy"), "have one name"),
    "a name that is told in two ways": (TWO.replace(b"b.npy", b"c.npy", 1), "disagree"),
    "a member that is not an array": (zipped(("a.txt", b"hello")), "is not an array: 'a.txt'"),
    "a name that is not text": (GOOD.replace(b"a.npy", b"\xff.npy"), "ascii"),
    "a name of no one": (GOOD.replace(b"a.npy", b"\0.npy"), "is not an array"),
    "too many members": (TWO[:-14] + b"\xff\xff\xff\xff" + TWO[-10:], "cannot have 65535"),
    "one member less than there is": (TWO[:-14] + b"\1\0\1\0" + TWO[-10:], "between its members"),
    "no magic": (zipped(("a.npy", b"NUMPY" + array())), NO_ARRAY),
    "a later version": (one(version=b"\3\0"), NO_ARRAY),
    "a header longer than its member": (zipped(("a.npy", b"\x93NUMPY\1\0\xff\xff")), NO_ARRAY),
    "a header of gigabytes": (zipped(("a.npy", b"\x93NUMPY\2\0\xff\xff\xff\xff")), NO_ARRAY),
    "a header that is cut": (zipped(("a.npy", b"\x93NUM")), NO_ARRAY),
    "objects": (one(descr="'|O'", shape="(1,)", data=b"\x80\x04N."), NO_NUMBERS),
    "fields": (one(descr="[('a', '<f8')]"), NO_NUMBERS),
    "text as numbers": (one(descr="'<U2'"), NO_NUMBERS),
    "an unknown type": (one(descr="'<f9'"), NO_NUMBERS),
    "code for a type": (one(descr="__import__('os').system('true')"), NO_NUMBERS),
    "code for a shape": (one(shape="(__import__('os').getpid(),)"), NO_NUMBERS),
    "code for an order": (one(order="print(1)"), NO_NUMBERS),
    "no shape": (
        zipped(("a.npy", header("{'descr': '<f8', 'fortran_order': False, }\n"))),
        NO_NUMBERS,
    ),
    "a negative shape": (one(shape="(-2,)"), NO_NUMBERS),
    "a shape that is not its size": (one(shape="(3,)"), NO_SIZE),
    "a shape in no order": (one(shape="(1, 2,)"), NO_NUMBERS),
    "a huge shape": (one(shape="(999999999999999999,)"), NO_SIZE),
    "huger than a machine can count": (
        one(shape="(999999999999999999, 999999999999999999)"),
        NO_SIZE,
    ),
    "nothing times a huge shape": (
        one(shape="(0, 999999999999999999, 999999999999999999)", data=b""),
        "too big",
    ),
    "more axes than arrays have": (
        one(shape=f"({', '.join(['1'] * 65)})", data=b"\0" * 8),
        NO_NUMBERS,
    ),
    "no end of the header": (one(end=""), NO_NUMBERS),
    "a header that is not ASCII": (one(end="ß\n"), "ascii"),
}


@pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD)
def test_what_is_not_whole_is_a_value_error(tmp_path, content, reason):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        npz.read(tmp_path / "a.npz", deflated=10**6)


def test_the_tests_above_begin_with_a_good_file(tmp_path):
    for content, names in ((GOOD, ["a"]), (TWO, ["a", "b"]), (zipped(), [])):
        (tmp_path / "a.npz").write_bytes(content)
        assert list(npz.read(tmp_path / "a.npz")) == names


@pytest.mark.parametrize(
    "content",
    [
        one(shape="(100000000,)"),
        patched(GOOD, size=2**31, packed=2**31),
        zipped(("a.npy", array(shape="(10000000,)", data=bytes(80_000_000))), method=8),
    ],
    ids=["shape", "size", "compressed"],
)
def test_no_room_is_made_for_what_is_not_there(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"\w"):
        npz.read(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"\w"):
        npz.read(tmp_path / "a.npz", deflated=10**6)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_a_compressed_member_must_unfold_to_its_size(tmp_path):
    content = zipped(("a.npy", array(shape="(1000,)", data=bytes(8000))), method=8)
    size = int.from_bytes(content[22:26], "little")
    for changes in ({"size": size - 8}, {"size": size + 8}, {"size": 0}):
        (tmp_path / "a.npz").write_bytes(patched(content, **changes))
        with pytest.raises(ValueError, match="does not unfold to its size"):
            npz.read(tmp_path / "a.npz", deflated=10**6)


@pytest.mark.parametrize("what", ["pipe", "folder", "device"])
def test_what_is_not_a_file_is_refused_at_once(tmp_path, what):
    path = tmp_path / "a.npz"
    if what == "pipe":
        os.mkfifo(path)  # opened carelessly, this would wait for ever
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        npz.read(path)
