"""What an attack found, and the table in which it is told."""

import resource
from typing import NamedTuple


class Score(NamedTuple):
    """What became of the attacks of a kind."""

    victim: str
    kind: str
    cases: int
    refused: int  # by an error that is meant for it
    read: int  # or done, as it should be
    broken: list[str]


def report(scores: list[Score]) -> int:
    """Print a table and what broke; the exit code."""
    wide = max(len(score.victim) for score in scores)
    columns = f"{{:<{wide}}} {{:<13}} {{:>8}} {{:>8}} {{:>8}} {{:>8}}"
    print(columns.format("victim", "kind", "cases", "refused", "done", "broken"))
    for score in scores:
        print(columns.format(*score[:5], len(score.broken)), flush=True)
    broken = [fault for score in scores for fault in score.broken]
    cases = sum(score.cases for score in scores)
    room = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{cases} cases, {len(broken)} broken; at most {room:.0f} MB in use")
    print(*broken[:400], sep="\n")
    return 1 if broken else 0
