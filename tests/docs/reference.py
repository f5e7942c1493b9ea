"""What the pages show, as Sphinx reads them: names of the reference, cells of tutorials."""

import operator
import re
from pathlib import Path

import spos
from public_names import members

DOCS = Path(__file__).parents[2] / "docs"
DIRECTIVE = re.compile(
    r"^\.\. auto(function|class|exception|module):: (\S+)((?:\n   :.*)*)", re.MULTILINE
)
TUTORIALS = sorted((DOCS / "tutorials").glob("[0-9]*.md"))
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def cells(text):
    """The code of a tutorial, without the options of its cells."""
    return [
        re.sub(r"\A(?:---\n.*?---\n|(?::.*\n)*)", "", code, flags=re.S)
        for code in CELL.findall(text)
    ]


def shown(text: str) -> set[str]:
    """The names that a page shows; a class brings its methods along."""
    found: set[str] = set()
    for kind, name, options in DIRECTIVE.findall(text):
        if kind != "module":
            found.add(name)
            continue
        left_out = re.findall(r"[\w.]+", "".join(re.findall(r":exclude-members: (.*)", options)))
        everything = ":imported-members:" in options
        own = {
            full
            for full, one in members(_named(name), name)
            if full.rpartition(".")[0] == name and (everything or one.__module__ == name)
        }
        found |= own - {f"{name}.{each}" for each in left_out}
    return found


def named(names: set[str]) -> list[object]:
    """What the names stand for, since one thing may be public under two of them."""
    return [_named(name) for name in names]


def _named(name: str) -> object:
    return operator.attrgetter(name.removeprefix("spos."))(spos)
