"""`spos report`: one page that shows what every recorded experiment found.

The page is made from the records alone. On top stands every claim with its verdict; then comes a
section for each experiment with its figures, its claims, its numbers and the command line that made
them. Each number links to that line.

Records may come from others. All text in them is escaped (`spos.io.markup`), and nothing gets into
the page but figures that lie beside their record: no other folder is named, no link is followed,
and what is not a PNG or GIF of a sane size is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spos.io import html
from spos.io.files import read_plain
from spos.io.markup import Markup
from spos_experiments.frame import record
from spos_experiments.frame.record import (
    HOLDS,
    NOT_SEEN,
    Claim,
    Illustration,
    Record,
    RecordError,
)

TITLE = "The SPOS paper, measured"
# green, vermilion and blue that colour-blind readers can tell apart; a sign says the same
MARKS = {HOLDS: ("#009E73", "✓"), NOT_SEEN: ("#D55E00", "✗")}
PARTLY = ("#0072B2", "◐")
QUIET = "color:var(--soft);font-size:.88rem"
MOST_BYTES = 2**24  # of a figure


@dataclass(frozen=True)
class Command:
    """The line that makes a record again; numbers link to it."""

    made: Record

    def html(self) -> Markup:
        versions = ", ".join(f"{name} {number}" for name, number in self.made.versions.items())
        busy = self.made.cpu_seconds
        cores = f" ({busy:.0f} s of processor time)" if busy else ""
        return Markup(
            '<pre id="$anchor" style="overflow-x:auto;padding:.6rem .8rem;'
            'border:1px solid var(--line);border-radius:6px"><code>$command</code></pre>'
            '<p style="$quiet">$note</p>',
            anchor=_anchor(self.made),
            command=self.made.command,
            quiet=QUIET,
            note=f"Took {self.made.seconds:.0f} s{cores}; {versions}.",
        )


@dataclass(frozen=True)
class Place:
    """Somewhere to jump to."""

    name: str

    def html(self) -> Markup:
        return Markup('<div id="$name"></div>', name=self.name)


@dataclass(frozen=True)
class Source:
    """Says which command the numbers above came from."""

    made: Record

    def html(self) -> Markup:
        return Markup(
            '<p style="font-size:.88rem">Made by <a href="#$anchor"><code>$command</code></a></p>',
            anchor=_anchor(self.made),
            command=self.made.command,
        )


@dataclass(frozen=True)
class Verdict:
    """A claim, what was measured, and what follows."""

    claim: Claim
    made: Record

    def html(self) -> Markup:
        tint, _ = MARKS.get(self.claim.verdict, PARTLY)
        return Markup(
            '<div style="border-left:4px solid $tint;padding-left:.9rem;margin:1.2rem 0">'
            "<p><strong>$claim</strong></p>"
            "<p>$verdict</p>"
            "$measured"
            '<p><a href="#$anchor">The command behind these numbers</a></p>'
            '<p style="$quiet">Rule: $rule</p>'
            "</div>",
            tint=tint,
            claim=self.claim.claim,
            verdict=_verdict(self.claim),
            measured=_measured(self.claim.measured),
            anchor=_anchor(self.made),
            quiet=QUIET,
            rule=self.claim.rule,
        )


@dataclass(frozen=True)
class Overview:
    """Every claim and its verdict, each a link to its section."""

    records: Sequence[Record]

    def html(self) -> Markup:
        items = [
            Markup(
                '<li style="margin:.5rem 0"><a href="#$place" style="color:inherit">$claim</a> '
                "$verdict</li>",
                place=made.experiment,
                claim=claim.claim,
                verdict=_verdict(claim),
            )
            for made in self.records
            for claim in made.claims
        ]
        return Markup('<ul style="padding-left:1.1rem">$items</ul>', items=Markup.join(items))


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
    """All records below a folder, in the order of their names' first appearance in the paper."""
    paths = sorted(folder.glob(f"*/{record.FILE}"))
    if not paths:
        raise RecordError(f"there are no records in {folder}; make some with `spos paper all`")
    for path in paths:
        if path.parent.is_symlink():
            raise RecordError(f"{path.parent} is a link, which is not followed")
    records = [record.read(path) for path in paths]
    for made, path in zip(records, paths, strict=True):
        if made.experiment != path.parent.name:
            raise RecordError(f"{path} is a record of {made.experiment!r}, not of its folder")
    order = {name: place for place, name in enumerate(ORDER)}
    return sorted(records, key=lambda made: (order.get(made.experiment, 99), made.experiment))


ORDER = ("gaussian", "particles", "posterior", "multimode", "toys", "collapse", "theory")


def _opening(records: Sequence[Record]) -> html.Section:
    about = (
        "The paper on stochastic particle-optimization sampling (AISTATS 2020) makes statements "
        "about synthetic experiments and draws others from its theory. Each one is put to the test "
        "here. A verdict follows from the numbers by a rule that was fixed before; “holds only "
        "when” names the conditions under which the statement was seen."
    )
    tiny = [made.experiment for made in records if made.quick]
    note = f"Tiny trial runs, from which nothing follows: {', '.join(tiny)}." if tiny else ""
    notes = [html.Text(note)] if note else []
    blocks: list[html.Block] = [html.Text(about), *notes, Overview(records)]
    return html.Section("", blocks)


def _section(made: Record, folder: Path) -> html.Section:
    blocks: list[html.Block] = [Place(made.experiment), html.Text(made.about)]
    blocks += [_picture(figure, folder / made.experiment) for figure in made.figures]
    blocks += [Verdict(claim, made) for claim in made.claims]
    blocks += [made.table, Source(made), Command(made)]
    return html.Section(made.title, blocks)


def _picture(figure: Illustration, folder: Path) -> html.Picture:
    """A figure beside its record, which `Illustration` knows by a bare name."""
    path = folder / figure.file
    try:
        image = read_plain(path, MOST_BYTES, links=False)
        return html.Picture(image, figure.alt, figure.caption)
    except OSError as error:
        raise RecordError(f"cannot read the figure {path}: {error.strerror}") from error
    except ValueError as error:
        raise RecordError(f"cannot use the figure {path}: {error}") from error


def _measured(sentence: str) -> Markup:
    """A sentence; one that lists many things after a colon becomes a list."""
    head, _, rest = sentence.partition(": ")
    things = rest.removesuffix(".").split("; ")
    if len(things) < 3:
        return Markup("<p>$sentence</p>", sentence=sentence)
    items = Markup.join(Markup("<li>$thing</li>", thing=thing) for thing in things)
    return Markup(
        '<p>$head:</p><ul style="padding-left:1.1rem">$items</ul>', head=head, items=items
    )


def _verdict(claim: Claim) -> Markup:
    tint, mark = MARKS.get(claim.verdict, PARTLY)
    return Markup(
        '<strong style="color:$tint">$mark $verdict</strong>',
        tint=tint,
        mark=mark,
        verdict=claim.verdict,
    )


def _anchor(made: Record) -> str:
    return f"command-{made.experiment}"
