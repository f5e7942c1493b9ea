"""Everything public says what it takes and what it gives, and its examples run."""

import doctest
import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import spos
from public_names import parameters, public_names

PUBLIC = public_names()
HEADINGS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Example", "Examples", "Note")
OBVIOUS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def sections(text: str) -> dict[str, str]:
    """The sections of a Google-style docstring by their headings; the summary is under ""."""
    found, heading = {"": ""}, ""
    for line in inspect.cleandoc(text).splitlines():
        if line.rstrip(":") in HEADINGS and line.endswith(":"):
            heading = line.rstrip(":")
            found[heading] = ""
        else:
            found[heading] += line + "\n"
    return found


def documented(text: str) -> set[str]:
    """The names at the beginning of the entries of an `Args:` or `Attributes:` section."""
    entries = re.findall(r"^ {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \([^)]*\))?:", text, re.MULTILINE)
    return {name.strip().lstrip("*") for entry in entries for name in entry.split(",")}


def faults(one: object) -> list[str]:
    """What the docstring lacks."""
    text = one.__doc__ or ""
    if not text.strip():
        return ["it has no docstring"]
    parts = sections(text)
    found = []
    if not parts[""].strip().splitlines()[0].rstrip().endswith((".", "?", "…", ":")):
        first = parts[""].strip().split("\n\n")[0]
        if not first.endswith((".", "?", ":")):
            found.append(f"its summary does not end in a full stop: {first!r}")
    known = documented(parts.get("Args", "")) | documented(parts.get("Attributes", ""))
    for parameter in parameters(one):
        if parameter.kind not in OBVIOUS and parameter.name not in known:
            found.append(f"{parameter.name} is not documented")
    if inspect.isclass(one):
        return found
    extra = documented(parts.get("Args", "")) - {each.name for each in parameters(one)}
    found += [f"{name} is documented and no parameter" for name in sorted(extra)]
    nothing = inspect.signature(one).return_annotation in (None, "None")
    if not nothing and not {"Returns", "Yields"} & set(parts):
        found.append("it has no Returns:")
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_is_documented(name):
    found = faults(PUBLIC[name])
    assert not found, f"{name}: {'; '.join(found)}"


EXAMPLES = [name for name, one in PUBLIC.items() if ">>>" in (one.__doc__ or "")]
TEXTS = {"spos": spos.__doc__} | {name: PUBLIC[name].__doc__ for name in EXAMPLES}


@pytest.mark.parametrize("name", TEXTS)
def test_the_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for what an example saves
    names = {"spos": spos, "jax": jax, "jnp": jnp, "np": np, "optax": optax}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    example = doctest.DocTestParser().get_doctest(TEXTS[name], names, name, None, 0)
    said = []
    runner.run(example, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_what_is_offered_by_name_is_public():
    offered = {name for name in dir(spos) if not name.startswith("_")}
    assert offered == {*spos.__all__, "SPOSClassifier", "SPOSRegressor"}
    assert not [name for name in offered if not hasattr(spos, name)]


def test_faults_are_found():
    def bad(one, other, *rest):
        """Say something

        Args:
            one: is here.
            third: is not.
        """
        return one

    assert faults(bad) == [
        "its summary does not end in a full stop: 'Say something'",
        "other is not documented",
        "third is documented and no parameter",
        "it has no Returns:",
    ]
    assert faults(lambda: None) == ["it has no docstring"]
    assert len(EXAMPLES) > 20
