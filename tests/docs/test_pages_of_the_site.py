"""What can be said of the site without building it: `make docs` does that."""

import ast
import re
import runpy
import tomllib

import pytest
from reference import DOCS, TUTORIALS, cells

TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_is_text_with_code_that_reads_and_ends_in_what_could_go_wrong(page):
    text = page.read_text(encoding="utf-8")
    assert len(cells(text)) > 2
    for code in cells(text):
        ast.parse(code)
    assert "plt." in text or ".plot" in text  # something to look at
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[-1] == "What could go wrong"


def test_pages_link_to_pages_of_the_site():
    for page in DOCS.rglob("*.md"):
        links = re.findall(r"\]\(([^)#\s:]+\.md)", page.read_text(encoding="utf-8"))
        outside = [link for link in links if DOCS not in (page.parent / link).resolve().parents]
        assert not outside, f"{page.name} links to {outside}, which the site does not have"


def listed(page):
    """The pages that a page has in its tables of contents."""
    found = set()
    for table in TOCTREE.findall(page.read_text(encoding="utf-8")):
        for line in table.splitlines():
            if line and not line.startswith(":"):
                found |= {path.resolve() for path in page.parent.glob(f"{line}.md")}
    return found


def test_every_page_is_in_one_table_of_contents():
    pages = set(DOCS.rglob("*.md"))
    tables = [one for page in pages for one in listed(page)]
    assert sorted(pages - set(tables)) == [DOCS / "index.md"]
    assert len(tables) == len(set(tables))


def test_the_start_names_every_extra_that_a_user_may_want():
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["project"]
    first_cells = re.findall(r"^\| (`.*?) \|", (DOCS / "start.md").read_text("utf-8"), re.MULTILINE)
    told = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    assert told == set(project["optional-dependencies"]) - {"test", "docs", "lint"}


def test_the_badges_say_what_is_so():
    badges = runpy.run_path(str(DOCS / "badges.py"))
    assert (DOCS / "images" / "badges.svg").read_text(encoding="utf-8") == badges["svg"]()
    told = ", ".join(" ".join(fact) for fact in badges["facts"]())
    assert f"![{told}](docs/images/badges.svg)" in (DOCS.parent / "README.md").read_text()


def test_the_gallery_shows_every_tutorial_and_one_of_its_pictures():
    gallery = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r":link: (\w+)", gallery) == [page.stem for page in TUTORIALS]
    assert re.findall(r"tutorial_(\w+)\.png", gallery) == [page.stem for page in TUTORIALS]
    for page in TUTORIALS:
        assert re.search(r"^picture: \d$", page.read_text(encoding="utf-8"), re.MULTILINE)
