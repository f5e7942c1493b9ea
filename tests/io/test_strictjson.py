"""JSON without its surprises."""

import time

import pytest

from spos.io import strictjson

GOOD = {"a": [1, 2.5, None, True, 'ß \U0001f600 [{"\\'], "": {"b": {}}, "n": -1e-300}


def nested(levels, brackets="[]"):
    return (brackets[0] * levels + brackets[1] * levels).encode()


def test_values_come_back():
    assert strictjson.load(strictjson.dump(GOOD)) == GOOD


def test_depth_is_that_of_brackets_outside_of_strings():
    assert strictjson.depth(b'{"[[[": [1, {"a\\"[": []}]}') == 4
    assert strictjson.depth(b'"[[["') == 0
    assert strictjson.depth(b"") == 0
    assert strictjson.depth(nested(5) + nested(3)) == 5


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (nested(201), "deeper than 200"),
        (nested(10**6), "deeper than 200"),
        (b'{"a":' * 10**5, "deeper than 200"),
        (b'"' + b"a" * 2**24 + b'"', "more than the 16,777,216 allowed"),
        (b'{"a": 1, "a": 2}', "name a field twice"),
        (b"NaN", "finite numbers, got NaN"),
        (b"[-Infinity]", "finite numbers, got -Infinity"),
        (b"[1e999]", "Out of range float"),
        (b'"\\ud800"', "halves of characters"),
        (b'{"\\udfff": 1}', "halves of characters"),
        (b'"\xff"', "utf-8"),
        (b"\xef\xbb\xbf1", "BOM"),
        (b"9" * 5000, "digits"),
        (b'"open', "Unterminated"),
        (b"", "Expecting value"),
        (b"[1] 2", "Extra data"),
        (b"1" + b"\0", "Extra data"),
    ],
)
def test_what_would_surprise_is_one_sentence(content, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        strictjson.load(content)
    assert len(str(caught.value).splitlines()) == 1


def test_the_deepest_that_is_allowed_can_be_read():
    assert strictjson.depth(nested(200)) == 200
    assert strictjson.load(nested(200))


@pytest.mark.parametrize("value", [float("nan"), "\ud800", {"\ud800": 1}, "a" * 2**24])
def test_what_could_not_be_read_is_not_written(value):
    with pytest.raises(ValueError, match=r"\w"):
        strictjson.dump(value)


@pytest.mark.parametrize("unit", [b'"', b'\\"', b"[", b'"a\\', b'["",', b"{}", b'"\\'])
def test_the_worst_texts_take_no_time(unit):
    began = time.monotonic()
    with pytest.raises(ValueError, match=r"\w"):
        strictjson.load(unit * (2**20 // len(unit)))
    assert time.monotonic() - began < 5.0  # a search that begins again takes minutes
