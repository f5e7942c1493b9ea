"""The first page of the reference: every name that its other pages show, with a sentence each.

The sentence is the first one of the docstring, and the names are read from the pages, so that
nothing is written down twice.
"""

import importlib
import inspect
import re
from pathlib import Path

INDEX = "api/index"
PAGES = re.compile(r"^```\{toctree\}\n(?::[^\n]*\n)*(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(
    r"^\.\. auto(function|class|exception|module):: (\S+)((?:\n   :.*)*)", re.MULTILINE
)
HEAD = re.compile(r"# (.*)\n\n((?:.+\n)+)")  # the title of a page, and what it begins with


def put_overview(app, docname, source):
    if docname == INDEX:
        source[0] += overview(Path(app.srcdir, INDEX).parent, source[0])


def overview(folder, text):
    """A section for each page of the reference, in the order of its table of contents."""
    (listed,) = PAGES.findall(text)
    return "".join(map(section, [folder / f"{name}.md" for name in listed.split()]))


def section(page):
    text = page.read_text(encoding="utf-8")
    title, lead = HEAD.match(text).groups()
    names = "\n".join(f"   {name}" for found in SHOWN.findall(text) for name in names_of(*found))
    return (
        f"\n## {title}\n\n{lead}[To this page]({page.name}).\n\n"
        f"```{{eval-rst}}\n.. autosummary::\n   :nosignatures:\n\n{names}\n```\n"
    )


def names_of(kind, name, options):
    """What one directive shows: a thing, or the things of a module."""
    if kind != "module":
        return [name]
    module = importlib.import_module(name)
    left_out = re.findall(r"[\w.]+", "".join(re.findall(r":exclude-members: (.*)", options)))
    own = getattr(module, "__all__", None) or [
        each
        for each, one in vars(module).items()
        if getattr(one, "__module__", "") == name and not each.startswith("_")
    ]
    return [
        f"{name}.{each}"
        for each in own
        if each not in left_out and not inspect.ismodule(getattr(module, each))
    ]


def setup(app):
    app.connect("source-read", put_overview)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
