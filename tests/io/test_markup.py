"""Markup: text is never read as HTML, whatever way it takes."""

import ast
from pathlib import Path

import pytest

from spos.io.markup import Markup

EVIL = "<script>alert(\"1\")</script> & 'more' $text ${text}"
SAFE = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#x27;more&#x27; $text ${text}"
ROOT = Path(__file__).parents[2]


def test_values_are_escaped_and_markup_is_not():
    inner = Markup("<b>$text</b>", text=EVIL)
    assert str(inner) == f"<b>{SAFE}</b>"
    assert str(Markup('<p title="$text">$inner</p>', text=EVIL, inner=inner)) == (
        f'<p title="{SAFE}"><b>{SAFE}</b></p>'
    )
    assert str(Markup.join([inner, EVIL, 3], "\n")) == f"<b>{SAFE}</b>\n{SAFE}\n3"


def test_text_made_of_markup_is_text_again():
    for text in (f"{Markup('<b></b>')}", str(Markup("<b></b>")) + "", [Markup("<b></b>")]):
        assert "<b>" not in str(Markup("$text", text=text))


def test_a_subclass_of_text_cannot_pretend():
    class Sly(str):
        def __html__(self):
            return self

    assert str(Markup("$text", text=Sly(EVIL))) == SAFE


def test_a_template_needs_all_its_values():
    with pytest.raises(KeyError):
        Markup("<p>$text</p>")


def templates(path):
    """The first argument of every call of Markup in a module, and its constants by name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Markup":
            yield node.args[0], constants
        if isinstance(node, ast.Attribute) and node.attr == "_text" and path.name != "markup.py":
            raise AssertionError(f"{path} reaches into Markup")


def test_every_template_stands_in_the_code():
    """A template that was put together could hold text of anyone."""
    seen = 0
    for folder in ("src", "experiments/spos_experiments"):
        for path in (ROOT / folder).rglob("*.py"):
            for template, constants in templates(path):
                seen += 1
                fixed = isinstance(template, ast.Constant) or (
                    isinstance(template, ast.Name) and template.id in constants
                )
                assert fixed, f"{path}:{template.lineno}: a template must be a text in the code"
    assert seen > 20


def test_nothing_else_makes_html():
    for folder in ("src", "experiments/spos_experiments"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "markup.py":
                assert "html.escape" not in path.read_text(encoding="utf-8"), path
