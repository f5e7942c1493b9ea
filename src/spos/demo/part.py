"""What the experiments of the demo share: their form, and one way to sample."""

from dataclasses import dataclass
from typing import Any

import spos
from spos.io import html
from spos.result import Result


@dataclass(frozen=True)
class Figure:
    """A picture, the file it goes to, and what it shows in words."""

    file: str
    png: bytes
    alt: str


@dataclass(frozen=True)
class Part:
    """One experiment, ready to be shown."""

    heading: str
    setting: str
    findings: tuple[str, ...]
    table: html.Table
    figures: tuple[Figure, ...]


def sample(sampler: spos.Sampler, start: Any, num_steps: int, **options: Any) -> Result:
    result = spos.sample(sampler, start, num_steps, **options)
    if result.interrupted:  # a half-finished experiment would be shown as a whole one
        raise KeyboardInterrupt
    return result
