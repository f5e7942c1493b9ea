"""Claims and their verdicts on the page: counted, listed, and one by one."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from spos.io import html
from spos.io.markup import Markup
from spos_experiments.frame.record import HOLDS, NOT_SEEN, ONLY_WHEN, Claim, Record

# green, vermilion and blue that colour-blind readers can tell apart; a sign says the same
MARKS = {HOLDS: ("#009E73", "✓"), NOT_SEEN: ("#D55E00", "✗")}
PARTLY = ("var(--accent)", "◐")
KINDS = {HOLDS: "hold", ONLY_WHEN: "hold under a condition", NOT_SEEN: "were not seen"}
QUIET = "color:var(--soft);font-size:.88rem"
MANY = 3  # things that make a list instead of a sentence
MOST_OPEN = 4  # things of a list that stands open


def kind(claim: Claim) -> str:
    """One of the three kinds of verdict."""
    return claim.verdict if claim.verdict in MARKS else ONLY_WHEN


def conditions(verdict: str) -> tuple[str, list[str]]:
    """The beginning of a sentence, and the conditions that end it: "Holds, except when", ["…"]."""
    if verdict in MARKS:
        return verdict.capitalize(), []
    clause = verdict.removeprefix(ONLY_WHEN)
    fails = clause.startswith("not ")
    clauses = clause.removeprefix("not ").split("; nor ") if fails else clause.split("; or ")
    place = clauses[0].startswith(("on ", "against "))
    return ("Holds, except" if fails else "Holds only") + ("" if place else " when"), clauses


def told(claim: Claim) -> Markup:
    """The verdict as a sentence, or as a list where the conditions are many."""
    tint, mark = MARKS.get(claim.verdict, PARTLY)
    head, clauses = conditions(claim.verdict)
    if len(clauses) > MANY:
        listed = Markup.join(Markup("<li>$one</li>", one=clause) for clause in clauses)
        ending = Markup(
            ': <ul style="padding-left:1.1rem;margin:.2rem 0">$listed</ul>', listed=listed
        )
    else:
        first, last = ", ".join(clauses[:-1]), "".join(clauses[-1:])
        between = " or " if first else ""
        ending = Markup(" $clauses.", clauses=f"{first}{between}{last}") if last else Markup(".")
    return Markup(
        '<strong style="color:$tint">$mark $head</strong>$ending',
        tint=tint,
        mark=mark,
        head=head,
        ending=ending,
    )


@dataclass(frozen=True)
class Count:
    """How many claims hold, hold under a condition, and were not seen, as a bar and a sentence."""

    whose: str
    claims: Sequence[Claim]

    def html(self) -> Markup:
        found = Counter(kind(claim) for claim in self.claims)
        parts = [
            Markup(
                '<span style="flex:$number 0 4.5rem;border-top:8px solid $tint;padding-top:.2rem">'
                '<strong style="font-size:1.5rem">$number</strong><br>$mark $words</span>',
                number=found[each],
                tint=MARKS.get(each, PARTLY)[0],
                mark=MARKS.get(each, PARTLY)[1],
                words=words,
            )
            for each, words in KINDS.items()
            if found[each]
        ]
        return Markup(
            '<p style="margin-top:1.4rem">$whose</p>'
            '<div style="display:flex;gap:.5rem">$parts</div>',
            whose=f"Of {self.whose} {len(self.claims)} claims",
            parts=Markup.join(parts),
        )


@dataclass(frozen=True)
class Contents:
    """The sections with their experiments, each a link with the marks of its claims."""

    sections: Sequence[tuple[str, Sequence[tuple[Record, Sequence[Claim]]]]]

    def html(self) -> Markup:
        return Markup.join(
            Markup(
                '<p style="margin:.9rem 0 .2rem"><strong>$title</strong></p>'
                '<ul style="padding-left:1.1rem;margin:.2rem 0">$items</ul>',
                title=title,
                items=Markup.join(self._item(made, claims) for made, claims in experiments),
            )
            for title, experiments in self.sections
        )

    @staticmethod
    def _item(made: Record, claims: Sequence[Claim]) -> Markup:
        marks = [MARKS.get(claim.verdict, PARTLY) for claim in claims]
        signs = Markup.join(
            Markup('<span style="color:$tint">$mark</span>', tint=tint, mark=mark)
            for tint, mark in marks
        )
        return Markup(
            '<li><a href="#$place" style="color:inherit">$title</a> $signs</li>',
            place=made.experiment,
            title=made.title,
            signs=signs,
        )


@dataclass(frozen=True)
class Verdict:
    """A claim, what was measured, and what follows."""

    claim: Claim
    anchor: str

    def html(self) -> Markup:
        tint, _ = MARKS.get(self.claim.verdict, PARTLY)
        return Markup(
            '<div style="border-left:4px solid $tint;padding-left:.9rem;margin:0 0 1.4rem">'
            "<p><strong>$claim</strong></p>"
            "<div>$verdict</div>"
            "$measured"
            '<p style="$quiet">Rule: $rule <a href="#$anchor">Command</a></p>'
            "</div>",
            tint=tint,
            claim=self.claim.claim,
            verdict=told(self.claim),
            measured=_measured(self.claim.measured),
            anchor=self.anchor,
            quiet=QUIET,
            rule=self.claim.rule,
        )


@dataclass(frozen=True)
class Beside:
    """Claims beside the figures they are read from; below them where the window is narrow."""

    figures: Sequence[html.Block]
    claims: Sequence[html.Block]

    def html(self) -> Markup:
        columns = [
            Markup(
                '<div style="min-width:0;$fixed">$blocks</div>',
                fixed="position:sticky;top:1rem;align-self:start" if stays else "",
                blocks=Markup.join(block.html() for block in part),
            )
            for part, stays in ((self.figures, len(self.figures) == 1), (self.claims, False))
            if part
        ]
        return Markup(
            '<div class="wide" style="display:grid;gap:1.8rem;'
            'grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr))">$columns</div>',
            columns=Markup.join(columns),
        )


def _measured(text: str) -> Markup:
    """Sentences; one that lists three things or more becomes a list, folded where it is long."""
    return Markup.join(_sentence(one) for one in re.split(r"(?<=\.) (?=[A-Z])", text))


def _sentence(sentence: str) -> Markup:
    things = _things(sentence.removesuffix("."))
    if len(things) < MANY:
        return Markup("<p>$sentence</p>", sentence=sentence)
    # "By pet: cat: 1; dog: 2; cow: 4" has a head, "cat: 1; dog: 2; cow: 4" has none
    if things[0].count(": ") > things[-1].count(": "):
        head, _, things[0] = things[0].partition(": ")
    else:
        head = "Measured"
    items = Markup.join(Markup("<li>$thing</li>", thing=thing) for thing in things)
    listed = Markup('<ul style="padding-left:1.1rem;margin:.3rem 0">$items</ul>', items=items)
    if len(things) > MOST_OPEN:
        return folded(f"{head} ({len(things)})", listed)
    return Markup("<p>$head:</p>$listed", head=head, listed=listed)


def _things(text: str) -> list[str]:
    """What semicolons part, but for those in brackets."""
    things: list[str] = []
    for piece in text.split("; "):
        if things and things[-1].count("(") > things[-1].count(")"):
            things[-1] += f"; {piece}"
        else:
            things.append(piece)
    return things


def folded(summary: str, inside: Markup) -> Markup:
    """What opens at a touch: too long to stand open."""
    return Markup(
        "<details><summary>$summary</summary>$inside</details>", summary=summary, inside=inside
    )
