"""The pages of documentation lead where they say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *(ROOT / "experiments").glob("*.md"),
    *(ROOT / "experiments" / "benchmarks").glob("*.md"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    near = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in near if not (page.parent / link).exists()] == []
