"""What attacks found, and the tables in which it is told."""

import resource
from collections.abc import Iterable
from typing import NamedTuple

COLUMNS = ("tried", "refused", "done", "broken")


class Score(NamedTuple):
    """What became of the attacks of a kind on a victim."""

    victim: str
    kind: str
    cases: int
    refused: int  # by an error that is meant for it
    done: int  # as if nothing had happened
    broken: list[str]


def report(scores: Iterable[Score]) -> int:
    """Print a line for each as it comes, and what broke; the exit code."""
    line = "{:<36} {:<13} {:>8} {:>8} {:>8} {:>8}"
    print(line.format("victim", "kind", *COLUMNS))
    broken, cases = [], 0
    for score in scores:
        print(line.format(*score[:5], len(score.broken)), flush=True)
        broken += score.broken
        cases += score.cases
    room = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{cases} tried, {len(broken)} broken; at most {room:.0f} MB in use")
    print(*broken, sep="\n")
    return 1 if broken else 0


def summary(attacks: dict[str, dict[str, list[Score]]]) -> str:
    """A table in Markdown: a row for each group of an attack."""
    rows = [f"| attack | on | {' | '.join(COLUMNS)} |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for attack, groups in attacks.items():
        for group, scores in groups.items():
            sums = [sum(score[n] for score in scores) for n in (2, 3, 4)]  # type: ignore[misc]
            numbers = [*sums, sum(len(score.broken) for score in scores)]
            group = group.replace("|", "into")  # a pipe of the shell is not one of the table
            rows.append(f"| {attack} | {group} | {' | '.join(f'{each:,}' for each in numbers)} |")
    return "\n".join(rows)
