"""What attacks found, and the tables in which it is told."""

import json
import resource
from collections.abc import Callable, Iterable
from pathlib import Path
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


class Job(NamedTuple):
    """A part of a campaign, which may be done in a process of its own."""

    name: str
    run: Callable[[], Iterable[Score]]


class Journal:
    """What was found so far, one job a line, so that a campaign that was ended goes on, or several
    processes share it. Without a path it is forgotten."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def scores(self, job: Job) -> list[Score]:
        """Of a job, which is done if nobody has done it."""
        done = self._read()
        if job.name in done:
            return done[job.name]
        found = list(job.run())
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps([job.name, found]) + "\n")
        return found

    def _read(self) -> dict[str, list[Score]]:
        known = self.path is not None and self.path.exists()
        lines = self.path.read_text().splitlines() if known else []  # type: ignore[union-attr]
        return {name: [Score(*each) for each in scores] for name, scores in map(json.loads, lines)}


def report(jobs: Iterable[Job]) -> int:
    """Print a line for each score as it comes, and what broke; the exit code."""
    line = "{:<36} {:<13} {:>8} {:>8} {:>8} {:>8}"
    print(line.format("victim", "kind", *COLUMNS))
    broken, cases = [], 0
    for score in (score for job in jobs for score in job.run()):
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
