"""The page as a file, and the command that opens it; no browser is needed here."""

import re
import webbrowser
from pathlib import Path

import pytest

from spos import playground
from spos.cli import main
from spos.playground.assembly import HERE, SCRIPTS, page


@pytest.fixture
def opened(monkeypatch):
    """What a browser would have been asked to open."""
    seen = []
    monkeypatch.setattr(webbrowser, "open", lambda address: seen.append(address) or True)
    return seen


def test_the_page_is_written_whole(tmp_path):
    there = playground.write(tmp_path / "new" / "page.html")
    text = there.read_text(encoding="utf-8")
    assert text == page()
    assert "{{" not in re.sub(r"<script.*</script>", "", text, flags=re.DOTALL)


def test_every_script_is_in_the_page_and_short():
    parts = {path.stem: path for path in (HERE / "parts").glob("*.js")}
    assert set(parts) == set(SCRIPTS)
    assert max(len(path.read_text().splitlines()) for path in parts.values()) <= 300


def test_nothing_comes_from_outside():
    text = page()
    assert "http://" not in text
    assert "https://" not in text
    assert not re.search(r"<link|<script[^>]* src=|@import|url\(", text)
    assert "default-src 'none'" in text


def test_the_command_prints_the_path_without_a_browser(opened, capsys):
    assert main(["playground", "--no-browser"]) == 0
    assert Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8") == page()
    assert opened == []


def test_the_command_opens_the_page_or_says_where_it_is(opened, monkeypatch, capsys):
    assert main(["playground"]) == 0
    assert len(opened) == 1
    assert opened[0].startswith("file:///")
    assert opened[0].endswith("/playground.html")
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert main(["playground"]) == 0
    assert Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8") == page()


def test_the_command_puts_the_page_where_it_is_told_to(opened, tmp_path, capsys):
    there = tmp_path / "folder" / "mine.html"
    assert main(["playground", "--out", str(there)]) == 0
    assert capsys.readouterr().out.strip() == str(there)
    assert there.read_text(encoding="utf-8") == page()
    assert opened == [there.as_uri()]
