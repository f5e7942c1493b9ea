"""The API reference has every public name, and only names that are there."""

import re
import runpy

import pytest
from reference import DOCS, named, shown

from public_names import public_names

PAGES = sorted((DOCS / "api").glob("*.md"))
SHOWN = {page.name: shown(page.read_text(encoding="utf-8")) for page in PAGES}
PUBLIC = public_names()
HERE = [one for names in SHOWN.values() for one in named(names)]


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_is_in_the_reference(name):
    one = PUBLIC[name]
    owner = name.rpartition(".")[0]
    if owner in PUBLIC:  # a method, which its class brings along
        return
    assert any(one is other for other in HERE), (
        f"{name} is public: put it under its task into a page of docs/api"
    )


def test_nothing_stands_in_the_reference_twice():
    names = [name for page in SHOWN.values() for name in page]
    assert len(names) == len(set(names)) > 100


def test_the_first_page_names_what_all_pages_show():
    index = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    overview = runpy.run_path(str(DOCS / "_extensions" / "overview.py"))["overview"]
    text = overview(DOCS / "api", index)
    told = set(re.findall(r"^   (spos\.[\w.]+)$", text, re.MULTILINE))
    assert told == {name for names in SHOWN.values() for name in names}


def test_what_is_missing_is_found():
    page = "```{eval-rst}\n.. automodule:: spos.mesh\n   :members:\n   :exclude-members: shard\n```"
    assert "spos.mesh.gather" in shown(page)
    assert "spos.mesh.shard" not in shown(page)
    assert shown(".. autofunction:: spos.svgd") == {"spos.svgd"}
    assert shown(".. automodule:: spos.schedules\n   :members:") == set()  # it is another's alias
