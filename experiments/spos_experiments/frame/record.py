"""What an experiment leaves on disk: one JSON file that says everything about it.

A record holds the settings, the seed, the versions, the command line that makes it again, the
numbers, the claims that were put to the test, and which figures belong to it. Figures and the
report are drawn from records alone. Lists of numbers stay on one line, so that a change between two
runs can be read as a difference of text.

A record may come from others: `read` takes it only if every field is of the type that is declared
here (`spos.io.schema`).
"""

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spos.io import archive, schema, strictjson
from spos.io.files import read_plain, write_whole
from spos.io.html import Table
from spos.plots import rich

FORMAT = 1
FOLDER = Path("experiments/results")  # for all records, unless another is asked for
FILE = "record.json"
_EXPERIMENT = re.compile(r"[a-z0-9_-]+")
_FIGURE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*\.(?:png|gif)")
HOLDS, ONLY_WHEN, NOT_SEEN = "holds", "holds only when ", "not seen"


class RecordError(OSError):
    """A record that cannot be used; the message says which and why."""


@dataclass(frozen=True)
class Claim:
    """A statement, what was measured about it, and what follows by a rule fixed beforehand."""

    claim: str
    measured: str
    verdict: str
    rule: str

    def __post_init__(self) -> None:
        known = self.verdict in (HOLDS, NOT_SEEN) or (
            self.verdict.startswith(ONLY_WHEN) and len(self.verdict) > len(ONLY_WHEN)
        )
        if not known:
            raise ValueError(
                f"verdict must be {HOLDS!r}, {NOT_SEEN!r} or start with {ONLY_WHEN!r}, "
                f"got {self.verdict!r}"
            )


def verdict(cases: Mapping[str, bool], lead: str = "") -> str:
    """The verdict on a claim that was tried under several named conditions.

    `lead` makes a clause of a name, such as "run as SVGD"; with it, conditions that nearly all hold
    are told by the few that do not.
    """
    if not cases:
        raise ValueError("cases must name at least one condition, got none")
    met = [name for name, holds in cases.items() if holds]
    failed = [name for name, holds in cases.items() if not holds]
    if not met:
        return NOT_SEEN
    if not failed:
        return HOLDS
    if lead and len(met) > 2 * len(failed):
        return f"{ONLY_WHEN}not {lead}{'; nor '.join(failed)}"
    return ONLY_WHEN + lead + "; or ".join(met)


@dataclass(frozen=True)
class Illustration:
    """A PNG or GIF beside the record, and what it shows in words."""

    file: str
    alt: str
    caption: str

    def __post_init__(self) -> None:
        if not _FIGURE.fullmatch(self.file):
            raise ValueError(
                f"file must be the bare name of a .png or .gif beside the record, got {self.file!r}"
            )
        if not self.alt.strip():
            raise ValueError(f"alt must say what {self.file} shows, got nothing")


@dataclass(frozen=True)
class Record:
    """One experiment, complete."""

    experiment: str
    title: str
    about: str
    command: str
    quick: bool
    seed: int
    seconds: float
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    claims: Sequence[Claim]
    table: Table
    figures: Sequence[Illustration]
    numbers: Mapping[str, Any]
    cpu_seconds: float | None = (
        None  # of all cores; unlike `seconds`, other programs hardly touch it
    )

    def __post_init__(self) -> None:
        if not _EXPERIMENT.fullmatch(self.experiment):
            raise ValueError(
                f"experiment must be a name of a-z, 0-9, _ and -, got {self.experiment!r}"
            )
        files = [figure.file for figure in self.figures]
        if len(set(files)) < len(files):
            raise ValueError(f"figures must be different files, got {', '.join(files)}")

    def _repr_html_(self) -> str:
        """For notebooks: the table, and every claim with its verdict."""
        claims = [[claim.claim, claim.verdict] for claim in self.claims]
        return rich.block_html(
            [rich.Text(self.title), self.table, Table(["claim", "verdict"], claims)]
        )


def write(path: Path, record: Record) -> None:
    """Write the record, atomically."""
    fields = {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}
    fields["claims"] = [dataclasses.asdict(claim) for claim in record.claims]
    fields["figures"] = [dataclasses.asdict(figure) for figure in record.figures]
    fields["table"] = dataclasses.asdict(record.table)
    fields["settings"] = archive.plain(dict(record.settings))
    write_whole(path, (_lines({"format": FORMAT, **fields}, depth=2) + "\n").encode("utf-8"))


def read(path: Path) -> Record:
    """The record in a file, or a `RecordError`."""
    try:
        content = read_plain(path, strictjson.MOST_BYTES, links=False)
        found = schema.read(dict[str, Any], strictjson.load(content))
    except OSError as error:
        raise RecordError(f"cannot read the record {path}: {error.strerror}") from error
    except ValueError as error:
        raise RecordError(f"{path} is not a record: {error}") from error
    if "format" not in found:
        raise RecordError(f"{path} is not a record: it has no format version")
    version = found.pop("format")
    if type(version) is not int or version != FORMAT:
        raise RecordError(
            f"{path} has the record format {version!r:.20}, but this version of spos reads "
            f"{FORMAT}; make it again with `spos paper`"
        )
    try:
        return schema.read(Record, found, "the record")
    except schema.SchemaError as error:
        raise RecordError(f"{path} is not a complete record: {error}") from error


def numbers(values: Any, digits: int = 5) -> Any:
    """Arrays as lists of so many significant digits; what is not finite becomes null."""
    if isinstance(values, Mapping):
        return {str(key): numbers(value, digits) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [numbers(value, digits) for value in values]
    if hasattr(values, "shape"):
        return numbers(np.asarray(values).tolist(), digits)
    if isinstance(values, float):
        return float(f"{values:.{digits}g}") if math.isfinite(values) else None
    return values


def _lines(value: Any, depth: int, indent: int = 0) -> str:
    """JSON with a line for each entry down to some depth, and no further."""
    pad, close = "\n" + " " * (indent + 1), "\n" + " " * indent
    if depth and isinstance(value, Mapping) and value:
        inside = [
            f"{json.dumps(key)}: {_lines(item, depth - 1, indent + 1)}"
            for key, item in value.items()
        ]
        return "{" + pad + ("," + pad).join(inside) + close + "}"
    if depth and isinstance(value, list) and value and isinstance(value[0], dict | list):
        inside = [_lines(item, depth - 1, indent + 1) for item in value]
        return "[" + pad + ("," + pad).join(inside) + close + "]"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)
