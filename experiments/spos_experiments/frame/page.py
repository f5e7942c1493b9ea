"""`spos report`: one page that shows what every recorded experiment found.

The page is made from the records alone. On top stands every claim with its verdict; then comes a
section for each experiment with its figures, its claims, its numbers and the command line that made
them. Each number links to that line.
"""

import html as text
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spos.io import html
from spos_experiments.frame import record
from spos_experiments.frame.record import HOLDS, NOT_SEEN, Claim, Record, RecordError
from spos_experiments.paper import EXPERIMENTS

TITLE = "The SPOS paper, measured"
# green, vermilion and blue that colour-blind readers can tell apart; a sign says the same
MARKS = {HOLDS: ("#009E73", "✓"), NOT_SEEN: ("#D55E00", "✗")}
PARTLY = ("#0072B2", "◐")
QUIET = "color:var(--soft);font-size:.88rem"


@dataclass(frozen=True)
class Command:
    """The line that makes a record again; numbers link to it."""

    made: Record

    def html(self) -> str:
        versions = ", ".join(f"{name} {number}" for name, number in self.made.versions.items())
        busy = self.made.cpu_seconds
        cores = f" ({busy:.0f} s of processor time)" if busy else ""
        note = f"Took {self.made.seconds:.0f} s{cores}; {versions}."
        return (
            f'<pre id="{_anchor(self.made)}" style="overflow-x:auto;padding:.6rem .8rem;'
            'border:1px solid var(--line);border-radius:6px"><code>'
            f"{text.escape(self.made.command)}</code></pre>"
            f'<p style="{QUIET}">{text.escape(note)}</p>'
        )


@dataclass(frozen=True)
class Place:
    """Somewhere to jump to."""

    name: str

    def html(self) -> str:
        return f'<div id="{text.escape(self.name)}"></div>'


@dataclass(frozen=True)
class Source:
    """Says which command the numbers above came from."""

    made: Record

    def html(self) -> str:
        return (
            '<p style="font-size:.88rem">Made by '
            f'<a href="#{_anchor(self.made)}"><code>{text.escape(self.made.command)}</code></a></p>'
        )


@dataclass(frozen=True)
class Verdict:
    """A claim, what was measured, and what follows."""

    claim: Claim
    made: Record

    def html(self) -> str:
        tint, _ = MARKS.get(self.claim.verdict, PARTLY)
        return (
            f'<div style="border-left:4px solid {tint};padding-left:.9rem;margin:1.2rem 0">'
            f"<p><strong>{text.escape(self.claim.claim)}</strong></p>"
            f"<p>{_verdict(self.claim)}</p>"
            f"{_measured(self.claim.measured)}"
            f'<p><a href="#{_anchor(self.made)}">The command behind these numbers</a></p>'
            f'<p style="{QUIET}">Rule: {text.escape(self.claim.rule)}</p>'
            "</div>"
        )


@dataclass(frozen=True)
class Overview:
    """Every claim and its verdict, each a link to its section."""

    records: Sequence[Record]

    def html(self) -> str:
        items = [
            f'<li style="margin:.5rem 0"><a href="#{made.experiment}" style="color:inherit">'
            f"{text.escape(claim.claim)}</a> {_verdict(claim)}</li>"
            for made in self.records
            for claim in made.claims
        ]
        return f'<ul style="padding-left:1.1rem">{"".join(items)}</ul>'


def build(folder: Path, out: Path) -> Path:
    """Write the page of all records in a folder; its path."""
    records = find(folder)
    sections = [_opening(records), *(_section(made, folder) for made in records)]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        return html.write(out, html.page(TITLE, sections))
    except OSError as error:
        raise OSError(f"cannot write the page {out}: {error.strerror}") from error


def find(folder: Path) -> list[Record]:
    """All records below a folder, in the order in which the experiments are listed."""
    paths = sorted(folder.glob(f"*/{record.FILE}"))
    if not paths:
        raise RecordError(f"there are no records in {folder}; make some with `spos paper all`")
    records = [record.read(path) for path in paths]
    for made, path in zip(records, paths, strict=True):
        if made.experiment != path.parent.name:
            raise RecordError(f"{path} is a record of {made.experiment!r}, not of its folder")
    order = {name: place for place, name in enumerate(EXPERIMENTS)}
    last = len(order)
    return sorted(records, key=lambda made: (order.get(made.experiment, last), made.experiment))


def _opening(records: Sequence[Record]) -> html.Section:
    about = (
        "The paper on stochastic particle-optimization sampling (AISTATS 2020) makes statements "
        "about synthetic experiments and draws others from its theory. Each one is put to the test "
        "here. A verdict follows from the numbers by a rule that was fixed before; “holds only "
        "when” names the conditions under which the statement was seen."
    )
    tiny = [made.experiment for made in records if made.quick]
    note = f"Tiny trial runs, from which nothing follows: {', '.join(tiny)}." if tiny else ""
    blocks: list[Any] = [html.Text(about), *([html.Text(note)] if note else []), Overview(records)]
    return html.Section("", blocks)


def _section(made: Record, folder: Path) -> html.Section:
    blocks: list[Any] = [Place(made.experiment), html.Text(made.about)]
    for figure in made.figures:
        path = folder / made.experiment / figure.file
        try:
            image = path.read_bytes()
        except OSError as error:
            raise RecordError(f"cannot read the figure {path}: {error.strerror}") from error
        blocks += [html.Picture(image, figure.alt, figure.caption)]
    blocks += [Verdict(claim, made) for claim in made.claims]
    blocks += [made.table, Source(made), Command(made)]
    return html.Section(made.title, blocks)


def _measured(sentence: str) -> str:
    """A sentence; one that lists many things after a colon becomes a list."""
    head, _, rest = sentence.partition(": ")
    things = rest.removesuffix(".").split("; ")
    if len(things) < 3:
        return f"<p>{text.escape(sentence)}</p>"
    items = "".join(f"<li>{text.escape(thing)}</li>" for thing in things)
    return f'<p>{text.escape(head)}:</p><ul style="padding-left:1.1rem">{items}</ul>'


def _verdict(claim: Claim) -> str:
    tint, mark = MARKS.get(claim.verdict, PARTLY)
    return f'<strong style="color:{tint}">{mark} {text.escape(claim.verdict)}</strong>'


def _anchor(made: Record) -> str:
    return f"command-{made.experiment}"
