"""`spos report`: one page that shows what every recorded experiment found.

The page is made from the records alone. Its front says how many of the paper's claims hold, hold
under a condition, or were not seen; then come the sections of the paper (`outline`), each
experiment with its claims beside its figures, its numbers and the command line that made them. Our
own claims stand apart, at the end. Each number links to its command.

Records may come from others. All text in them is escaped (`spos.io.markup`), and nothing gets into
the page but figures that lie beside their record: no other folder is named, no link is followed,
and what is not a PNG or GIF of a sane size is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spos.io import html
from spos.io.files import read_plain
from spos.io.markup import Markup
from spos_experiments.frame import outline, record
from spos_experiments.frame.record import Claim, Illustration, Record, RecordError
from spos_experiments.frame.verdicts import QUIET, Beside, Contents, Count, Verdict, folded
from spos_experiments.paper import EXPERIMENTS

TITLE = "The SPOS paper, measured"
MOST_BYTES = 2**24  # of a figure
MOST_ROWS = 30  # of a table that stands open


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
class Numbers:
    """The table of a record; a long one opens at a touch."""

    table: html.Table

    def html(self) -> Markup:
        rows = len(self.table.rows)
        if rows <= MOST_ROWS:
            return self.table.html()
        return folded(f"All numbers, {rows} rows", self.table.html())


@dataclass(frozen=True)
class Place:
    """Somewhere to jump to."""

    name: str

    def html(self) -> Markup:
        return Markup('<div id="$name"></div>', name=self.name)


def build(folder: Path, out: Path) -> Path:
    """Write the page of all records in a folder; its path."""
    records = find(folder)
    sections = _sections(records, folder)
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
    for path in paths:
        if path.parent.is_symlink():
            raise RecordError(f"{path.parent} is a link, which is not followed")
    records = [record.read(path) for path in paths]
    for made, path in zip(records, paths, strict=True):
        if made.experiment != path.parent.name:
            raise RecordError(f"{path} is a record of {made.experiment!r}, not of its folder")
    order = {name: place for place, name in enumerate(EXPERIMENTS)}
    last = len(order)
    return sorted(records, key=lambda made: (order.get(made.experiment, last), made.experiment))


def _sections(records: Sequence[Record], folder: Path) -> list[html.Section]:
    """The front, the paper's sections in their order, and what is our own."""
    ours, papers = _claims(records, own=True), _claims(records, own=False)
    parts = [
        (
            title,
            [(made, papers[made.experiment]) for made in records if outline.section(made) == title],
        )
        for title in outline.SECTIONS
    ]
    parts = [(title, inside) for title, inside in parts if inside]
    own = [(made, ours[made.experiment]) for made in records if ours[made.experiment]]
    whole = [
        _section(
            f"{title}: {made.title}" if made == inside[0][0] else made.title, made, claims, folder
        )
        for title, inside in parts
        for made, claims in inside
    ]
    beyond = [
        _section(made.title, made, claims, folder)
        for made, claims in own
        if outline.section(made) == outline.OURS
    ]
    beside = [
        Verdict(claim, _anchor(made))
        for made, claims in own
        if outline.section(made) != outline.OURS
        for claim in claims
    ]
    more = [html.Section("Our own claims about the paper's experiments", beside)] if beside else []
    contents = [*parts, (outline.OURS, own)] if own else parts
    return [
        _opening(records, papers, ours),
        html.Section("", [Contents(contents)]),
        *whole,
        *more,
        *beyond,
    ]


def _claims(records: Sequence[Record], *, own: bool) -> dict[str, list[Claim]]:
    """The claims that are our own, or the paper's, by experiment."""
    return {
        made.experiment: [claim for claim in made.claims if outline.is_own(made, claim) is own]
        for made in records
    }


def _opening(
    records: Sequence[Record],
    papers: Mapping[str, Sequence[Claim]],
    ours: Mapping[str, Sequence[Claim]],
) -> html.Section:
    about = (
        "The paper on stochastic particle-optimization sampling (AISTATS 2020) makes statements "
        "about experiments and draws others from its theory. Each one is put to the test here. A "
        "verdict follows from the numbers by a rule that was fixed before."
    )
    tiny = [made.experiment for made in records if made.quick]
    note = f"Tiny trial runs, from which nothing follows: {', '.join(tiny)}." if tiny else ""
    notes = [html.Text(note)] if note else []
    counts = [
        Count(whose, [claim for claims in theirs.values() for claim in claims])
        for whose, theirs in (("the paper's", papers), ("our own", ours))
        if any(theirs.values())
    ]
    return html.Section("", [html.Text(about), *notes, *counts])


def _section(heading: str, made: Record, claims: Sequence[Claim], folder: Path) -> html.Section:
    figures = [_picture(figure, folder / made.experiment) for figure in made.figures]
    verdicts = [Verdict(claim, _anchor(made)) for claim in claims]
    blocks: list[html.Block] = [Place(made.experiment), html.Text(made.about)]
    blocks += [Beside(figures, verdicts), Numbers(made.table), Command(made)]
    return html.Section(heading, blocks)


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


def _anchor(made: Record) -> str:
    return f"command-{made.experiment}"
