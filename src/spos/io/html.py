"""One self-contained page: text, tables and figures in a single HTML file.

Figures are inlined, there are no scripts, and a content policy forbids the browser to fetch
anything. The page follows the reader's light or dark mode and reads well on a phone. All of it is
`spos.io.markup.Markup`, which escapes every text.
"""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from spos.io.files import write_whole
from spos.io.markup import Markup

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
SIGNATURES = {b"\x89PNG\r\n\x1a\n": "png", b"GIF87a": "gif", b"GIF89a": "gif"}

CSS = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b6570; --paper: #ffffff;
        --line: #d9dee3; --accent: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #a3adb8; --paper: #15181b; --line: #343b42; --accent: #56b4e9; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0 1rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.5rem 0 0.5rem; padding-top: 1rem;
     border-top: 1px solid var(--line); }
p { margin: 0.6rem 0; overflow-wrap: break-word; }
a { color: var(--accent); }
summary { cursor: pointer; }
.wide { --room: min(76rem, 100vw - 3rem); width: max(100%, var(--room));
        margin: 1rem 0 1rem min(0px, (100% - var(--room)) / 2); }
figure { margin: 1rem 0; }
figure img { display: block; width: 100%; height: auto; background: #ffffff;
             border: 1px solid var(--line); border-radius: 6px; padding: 4px; }
figcaption, caption { color: var(--soft); font-size: 0.88rem; text-align: left; }
figcaption { margin-top: 0.4rem; }
caption { padding-bottom: 0.4rem; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.7rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
thead th { white-space: normal; border-bottom: 2px solid var(--accent); vertical-align: bottom; }
tbody th { font-weight: normal; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
@media (max-width: 30rem) {
  table { font-size: 0.82rem; }
  th, td { padding: 0.25rem 0.4rem; }
}
"""


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$css</style>
</head>
<body>
<main>
<h1>$title</h1>
$body
</main>
</body>
</html>
"""


class Block(Protocol):
    """A piece of a page."""

    def html(self) -> Markup: ...


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str

    def html(self) -> Markup:
        return Markup("<p>$text</p>", text=self.text)


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first cell of a row names it."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def __post_init__(self) -> None:
        if not self.headings:
            raise ValueError("headings must name at least one column, got none")
        for row in self.rows:
            if len(row) != len(self.headings):
                raise ValueError(
                    f"rows must have the {len(self.headings)} cells of the headings, got {row!r}"
                )

    def text(self) -> str:
        """The table in columns of characters."""
        cells = [list(self.headings), *(list(row) for row in self.rows)]
        widths = [max(len(row[n]) for row in cells) for n in range(len(self.headings))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if n == 0 else cell.rjust(width)
                for n, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        )

    def markdown(self) -> str:
        """The table for a page of documentation."""
        rule = ["---", *["---:"] * (len(self.headings) - 1)]
        lines = (self.headings, rule, *self.rows)
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def html(self) -> Markup:
        return Markup(
            '<div class="scroll"><table>$caption<thead><tr>$head</tr></thead>'
            "<tbody>$body</tbody></table></div>",
            caption=Markup("<caption>$text</caption>", text=self.caption) if self.caption else "",
            head=Markup.join(Markup('<th scope="col">$cell</th>', cell=c) for c in self.headings),
            body=Markup.join(self._row(row) for row in self.rows),
        )

    @staticmethod
    def _row(row: Sequence[str]) -> Markup:
        first, *rest = row
        return Markup(
            '<tr><th scope="row">$first</th>$rest</tr>',
            first=first,
            rest=Markup.join(Markup("<td>$cell</td>", cell=cell) for cell in rest),
        )


@dataclass(frozen=True)
class Picture:
    """A PNG or GIF, and in `alt` what it shows for those who cannot see it."""

    image: bytes
    alt: str
    caption: str = ""

    def __post_init__(self) -> None:
        if not self.alt.strip():
            raise ValueError("alt must say what the picture shows, got nothing")
        if self.kind is None:
            raise ValueError(f"image must be a PNG or a GIF, but begins with {self.image[:8]!r}")

    @property
    def kind(self) -> str | None:
        """By its signature."""
        found = (kind for mark, kind in SIGNATURES.items() if self.image.startswith(mark))
        return next(found, None)

    def html(self) -> Markup:
        return Markup(
            '<figure><img src="data:image/$kind;base64,$data" alt="$alt" style="max-width:100%">'
            "$caption</figure>",
            kind=self.kind,
            data=base64.b64encode(self.image).decode("ascii"),
            alt=self.alt,
            caption=Markup("<figcaption>$text</figcaption>", text=self.caption)
            if self.caption
            else "",
        )


@dataclass(frozen=True)
class Section:
    """A heading (none, for the opening) and what stands under it."""

    heading: str
    blocks: Sequence[Block] = field(default_factory=tuple)

    def html(self) -> Markup:
        heading = Markup("<h2>$text</h2>", text=self.heading) if self.heading else ""
        lines = [Markup("<section>$heading", heading=heading)]
        lines += [block.html() for block in self.blocks]
        return Markup.join([*lines, Markup("</section>")], "\n")


def page(title: str, sections: Iterable[Section]) -> str:
    """The whole page as text."""
    body = Markup.join((section.html() for section in sections), "\n")
    return str(Markup(PAGE, policy=Markup(POLICY), title=title, css=Markup(CSS), body=body))


def write(path: Path, text: str) -> Path:
    """Write a page, atomically."""
    write_whole(path, text.encode("utf-8"))
    return path
