"""The pages of documentation lead where they say, and name what is there."""

import importlib
import re
from pathlib import Path

import pytest

import spos

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


def is_there(name: str) -> bool:
    """Can it be had as it is written, `spos.rl.envs` too, which must be imported?"""
    here, path = spos, "spos"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        if not hasattr(here, part):
            try:
                importlib.import_module(path)
            except ImportError:
                return False
        here = getattr(here, part)
    return True


def named(text: str) -> set[str]:
    found = re.findall(r"(?<![\w./-])spos(?:\.[A-Za-z_]\w*)+(?![\w/])", text)
    return {name for name in found if not re.search(r"\.(NAME|npz|commands|md)$", name)}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name != "CHANGELOG.md"],  # which tells what has gone, too
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_every_name_of_the_library_is_there(page):
    assert [n for n in named(page.read_text(encoding="utf-8")) if not is_there(n)] == []


def test_a_name_that_is_not_there_is_found():
    assert named("`spos.rl.envs` and spos.bandwidth.") == {"spos.rl.envs", "spos.bandwidth"}
    assert is_there("spos.rl.envs")
    assert not is_there("spos.bandwidth")
