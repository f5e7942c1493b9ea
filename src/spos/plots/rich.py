"""What notebooks show: a table and a small figure, as HTML in which all text is escaped."""

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any

from spos.io import figures
from spos.io.html import Block, Picture, Table, Text
from spos.io.markup import Markup

MOST_ROWS = 12


def block_html(blocks: Iterable[Block], width: str = "36rem") -> str:
    """Blocks of a page inside a notebook's cell."""
    inside = Markup.join(block.html() for block in blocks)
    return str(Markup('<div style="max-width:$width">$inside</div>', width=width, inside=inside))


def cut(headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> Table:
    """A table with no more rows than a reader would look at."""
    hidden = len(rows) - MOST_ROWS
    note = f"{caption} ({hidden} more rows)" if hidden > 0 else caption
    return Table(headings, rows[:MOST_ROWS], note)


def picture(draw: Any, alt: str) -> list[Block]:
    """A figure as a block; none where Matplotlib is not installed."""
    with contextlib.suppress(ImportError):
        return [Picture(figures.png(draw()), alt)]
    return []


__all__ = ["Text", "block_html", "cut", "picture"]
