"""Records of others: what is none is one sentence, and a page embeds nothing from outside."""

import json
import os
import re

import pytest

from spos.cli import main
from spos.io.html import Table
from spos_experiments.frame import page, record
from spos_experiments.frame.record import Claim, Illustration, Record

PNG = b"\x89PNG\r\n\x1a\nnot really"
SECRET = b"root:x:0:0"
EVIL = "<script>alert('1')</script>\" onload=\"x"


@pytest.fixture
def folder(tmp_path):
    """The folder of one good record, with a secret outside."""
    made = Record(
        experiment="gaussian", title="Title", about="About.", quick=False, seed=0,
        command="spos paper gaussian", seconds=1.5, settings={"n": 1}, versions={"spos": "0.1.0"},
        claims=[Claim("Cats.", "3 of 4.", "holds", "Most.")], table=Table(("a", "b"), [("1", "2")]),
        figures=[Illustration("pets.png", "Three cats.", "A caption.")], numbers={"x": [1.0]},
    )  # fmt: skip
    place = tmp_path / "results" / "gaussian"
    place.mkdir(parents=True)
    record.write(place / record.FILE, made)
    (place / "pets.png").write_bytes(PNG)
    (tmp_path / "secret.txt").write_bytes(SECRET)
    (tmp_path / "secret.png").write_bytes(PNG + SECRET)
    return place


def changed(folder, change):
    """The record with its JSON changed by a function."""
    path = folder / record.FILE
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def refused(folder, capsys) -> str:
    """The one sentence by which the report is refused."""
    assert main(["report", "--results", str(folder.parent)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith("spos report: ")
    assert not (folder.parent / "report.html").exists()
    return line


@pytest.mark.parametrize(
    "file",
    [
        "/etc/passwd",
        "../../secret.txt",
        "../../secret.png",
        "../gaussian/pets.png",
        "./pets.png",
        "sub/pets.png",
        "..",
        "",
        ".png",
        "pets.png\n",
        "pets.svg",
        "record.json",
        "pets\0.png",
        "C:\\pets.png",
    ],
)
def test_only_a_bare_name_is_a_figure(folder, capsys, file):
    changed(folder, lambda content: content["figures"][0].update(file=file))
    assert "file must be the bare name of a .png or .gif" in refused(folder, capsys)


def test_no_link_is_followed(folder, tmp_path, capsys):
    (folder / "pets.png").unlink()
    (folder / "pets.png").symlink_to(tmp_path / "secret.png")
    assert "it is a link, which is not followed" in refused(folder, capsys)
    (folder / "pets.png").unlink()
    (folder / "pets.png").write_bytes(PNG)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert "is a link, which is not followed" in refused(folder, capsys)
    folder.unlink()
    folder.mkdir()
    (folder / record.FILE).symlink_to(tmp_path / "elsewhere" / record.FILE)
    assert "it is a link, which is not followed" in refused(folder, capsys)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (SECRET, "image must be a PNG or a GIF, but begins with b'root:x:0'"),
        (b"", "image must be a PNG or a GIF"),
        (b"<svg onload='alert(1)'>", "image must be a PNG or a GIF"),
        (b"GIF8", "image must be a PNG or a GIF"),
        (PNG + bytes(2**24), "more than the 16,777,216 that are allowed"),
        (None, "it is not a regular file"),
    ],
)
def test_only_pictures_of_a_sane_size_are_embedded(folder, capsys, content, complaint):
    (folder / "pets.png").unlink()
    if content is None:
        os.mkfifo(folder / "pets.png")
    else:
        (folder / "pets.png").write_bytes(content)
    assert complaint in refused(folder, capsys)


def test_a_picture_is_embedded_once(folder, capsys):
    changed(folder, lambda content: content["figures"].extend(content["figures"] * 1000))
    assert "figures must be different files" in refused(folder, capsys)


@pytest.mark.parametrize("name", [EVIL, "Gaussian", "a b", "a.b", "", "gaußian", "../gaussian"])
def test_names_are_plain(folder, capsys, name):
    changed(folder, lambda content: content.update(experiment=name))
    assert "experiment must be a name of a-z, 0-9, _ and -" in refused(folder, capsys)


def texts(value, at=()):
    """The places of all texts in a record."""
    if isinstance(value, str):
        yield at
    for key, item in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value if isinstance(value, list) else ())
    ):
        yield from texts(item, (*at, key))


def test_no_text_of_a_record_becomes_markup(folder):
    def evil(content):
        for at in list(texts(content)):
            if at[0] == "experiment" or at[-1] in ("verdict", "file"):
                continue
            place = content
            for key in at[:-1]:
                place = place[key]
            place[at[-1]] = EVIL
        content["claims"][0]["verdict"] = f"holds only when {EVIL}"
        content["versions"][EVIL] = EVIL

    changed(folder, evil)
    text = page.build(folder.parent, folder.parent / "report.html").read_text(encoding="utf-8")
    assert text.count("&lt;script&gt;") >= 15
    assert "<script" not in text
    assert not re.search(r"<[^>]*onload=\"", text)


WRONG = (None, True, 3, -1.5, "text", [], {}, [1], {"a": 1}, [[]], [None], 10**30)


@pytest.mark.parametrize("field", [f for f in Record.__dataclass_fields__ if f != "cpu_seconds"])
def test_a_field_of_another_type_is_one_sentence(folder, capsys, field):
    before = (folder / record.FILE).read_text()
    good = json.loads(before)[field]
    for value in WRONG:
        changed(folder, lambda content, value=value: content.update({field: value}))
        if fits(good, value):
            main(["report", "--results", str(folder.parent)])  # no traceback
            (folder.parent / "report.html").unlink(missing_ok=True)
            capsys.readouterr()
        else:
            assert "is not a complete record: " in refused(folder, capsys)
        (folder / record.FILE).write_text(before)
    changed(folder, lambda content: content.pop(field))
    assert f"must have the field '{field}'" in refused(folder, capsys)


def fits(good, value):
    """Could such a value be in place of the good one? A whole number may stand for a number."""
    if isinstance(good, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, bool) or isinstance(good, bool):
        return type(good) is type(value)
    return isinstance(value, type(good))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[" * 10**6, "nested deeper than 200"),
        (b'{"format": 1, "a": ' * 10**5, "nested deeper than 200"),
        (b'{"format": 1, "title": "\\ud800"}', "halves of characters"),
        (b'{"format": 1, "title": "\xff"}', "utf-8"),
        (b'{"format": 1, "format": 1}', "name a field twice"),
        (b'{"format": 1, "seconds": NaN}', "finite numbers"),
        (b'{"format": 1, "seconds": 1e999}', "Out of range"),
        (b'{"format": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"format": {"a": [' + b"1," * 500 + b"1]}}", "has the record format {'a': [1, 1"),
        (b'{"format": 1, "strange": 1}', "must not have the field 'strange'"),
        (b" " * 2**24 + b"{}", "more than the 16,777,216 that are allowed"),
    ],
)
def test_json_of_another_kind_is_one_sentence(folder, capsys, content, complaint):
    (folder / record.FILE).write_bytes(content)
    assert complaint in refused(folder, capsys)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda c: c["table"].update(headings=[], rows=[[]]), "name at least one column"),
        (lambda c: c["table"].update(rows=[["1"]]), "2 cells of the headings"),
        (lambda c: c["table"].update(rows=[["1", 2]]), "table.rows[0][1] must be text, got 2"),
        (lambda c: c["figures"][0].update(alt=" "), "alt must say what pets.png shows"),
        (lambda c: c["claims"][0].update(verdict="true!"), "verdict must be"),
        (lambda c: c["versions"].update(spos=1), "versions['spos'] must be text, got 1"),
        (lambda c: c.update(seed=2**70), "seed must be a whole number of 64 bits"),
        (lambda c: c.update(format=True), "has the record format True"),
    ],
)
def test_what_a_class_forbids_is_one_sentence(folder, capsys, change, complaint):
    changed(folder, change)
    assert complaint in refused(folder, capsys)
