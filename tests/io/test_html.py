"""The page: well-formed, escaped, self-contained."""

import base64
import html.parser
import re

import pytest

from spos.io.files import write_whole
from spos.io.html import Picture, Section, Table, Text, page, write

PNG = b"\x89PNG\r\n\x1a\n not really"
EVIL = "<script>alert(\"1\")</script> & 'more'"
VOID = {"meta", "img", "br"}


class Outline(html.parser.HTMLParser):
    """Checks that tags close in order, and collects what there is."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def named(self, tag: str) -> list[dict]:
        return [attrs for name, attrs in self.tags if name == tag]


def outline(text: str) -> Outline:
    parsed = Outline()
    parsed.feed(text)
    parsed.close()
    assert parsed.open == []
    return parsed


@pytest.fixture
def everything() -> str:
    blocks = (
        Text(EVIL),
        Table((EVIL, "b"), [(EVIL, "2"), ("x", EVIL)], EVIL),
        Picture(PNG, EVIL, EVIL),
    )
    return page(EVIL, [Section("", (Text("opening"),)), Section(EVIL, blocks)])


def test_all_text_is_escaped_and_comes_back_as_written(everything):
    parsed = outline(everything)
    assert parsed.named("script") == []
    # title, h1, h2, paragraph, heading, two cells, two captions
    assert sum(piece == EVIL for piece in parsed.text) == 9
    assert parsed.named("img")[0]["alt"] == EVIL


def test_pictures_are_inside_the_page(everything):
    source = outline(everything).named("img")[0]["src"]
    head, data = source.split(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == PNG


def test_nothing_is_fetched_from_anywhere(everything):
    assert re.search(r"https?://|//\w", everything.replace("http-equiv", "")) is None
    parsed = outline(everything)
    for tag in ("link", "script", "iframe", "object"):
        assert parsed.named(tag) == []
    assert "url(" not in everything
    assert "@import" not in everything
    policy = [meta["content"] for meta in parsed.named("meta") if "http-equiv" in meta]
    assert policy[0].startswith("default-src 'none'")


def test_the_page_suits_phones_and_dark_rooms(everything):
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in outline(
        everything
    ).named("meta")
    assert "prefers-color-scheme: dark" in everything
    assert '<html lang="en">' in everything


def test_an_opening_has_no_heading():
    assert outline(page("t", [Section("", (Text("a"),))])).named("h2") == []


def test_a_table_needs_full_rows_and_a_picture_words():
    with pytest.raises(ValueError, match="2 cells of the headings"):
        Table(("a", "b"), [("1",)])
    with pytest.raises(ValueError, match="alt must say"):
        Picture(PNG, "  ")


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = write(tmp_path / "page.html", page("Größe β", []))
    assert "Größe β" in path.read_text(encoding="utf-8")
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, b"half")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
