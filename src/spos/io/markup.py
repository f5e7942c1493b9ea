"""Text that a browser reads as HTML, made so that no other text ever is.

A piece of `Markup` is made in one way: from a template that stands in the code, with `$name` where
a value goes. A value that is Markup itself goes in as it is, and any other is text, which is
escaped, in an attribute as well as between tags. There is no way to declare a text harmless.

    >>> str(Markup("<p>$text</p>", text="1 < 2"))
    '<p>1 &lt; 2</p>'
"""

import html
from collections.abc import Iterable
from string import Template
from typing import LiteralString


class Markup:
    """HTML from a template of the code and values of anywhere.

    Args:
        template: a text in the code, never one that was put together.
        values: what stands for `$name` in it, by name.
    """

    __slots__ = ("_text",)

    def __init__(self, template: LiteralString, /, **values: object) -> None:
        escaped = {name: _escaped(value) for name, value in values.items()}
        self._text = Template(template).substitute(escaped)

    def __str__(self) -> str:
        return self._text

    @classmethod
    def join(cls, parts: Iterable[object], between: LiteralString = "") -> "Markup":
        """One part after the other; what is not Markup is text."""
        joined = cls("")
        joined._text = _escaped(between).join(_escaped(part) for part in parts)
        return joined


def _escaped(value: object) -> str:
    return str(value) if isinstance(value, Markup) else html.escape(str(value))
