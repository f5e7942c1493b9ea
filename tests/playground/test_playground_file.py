"""The page as a file, and the command that opens it; no browser is needed here."""

import re
import webbrowser

from spos import playground
from spos.cli import main
from spos.playground.build import HERE, SCRIPTS, build


def test_the_page_is_what_its_parts_make():
    remedy = "make it anew with: python -m spos.playground.build"
    assert playground.PAGE.read_text(encoding="utf-8") == build(), remedy


def test_every_script_is_in_the_page_and_short():
    parts = {path.stem: path for path in (HERE / "parts").glob("*.js")}
    assert set(parts) == set(SCRIPTS)
    assert max(len(path.read_text().splitlines()) for path in parts.values()) <= 300


def test_nothing_comes_from_outside():
    page = build()
    assert "http://" not in page
    assert "https://" not in page
    assert not re.search(r"<link|<script[^>]* src=|@import|url\(", page)
    assert "default-src 'none'" in page


def test_the_command_prints_the_path_without_a_browser(monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    assert main(["playground", "--no-browser"]) == 0
    assert capsys.readouterr().out.strip() == str(playground.PAGE)
    assert opened == []


def test_the_command_opens_the_page_or_says_where_it_is(monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    assert main(["playground"]) == 0
    assert opened == [playground.PAGE.as_uri()]
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert main(["playground"]) == 0
    assert capsys.readouterr().out.strip() == str(playground.PAGE)
