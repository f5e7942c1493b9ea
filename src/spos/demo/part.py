"""What the experiments of the demo share: their form, the frame of a figure, one way to sample."""

from dataclasses import dataclass
from typing import Any

import spos
from spos.io import figures, html
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


def titled(height: float, title: str, note: str, *, rows: int = 1, sharex: bool = False) -> Any:
    """A figure with a title, a quieter line under it, and its panels in the room below."""
    figure = figures.new_figure(6.4, height)
    figure.get_layout_engine().set(rect=(0.0, 0.0, 1.0, 1.0 - 0.66 / height))
    figure.text(0.015, 1.0 - 0.09 / height, title, fontsize=14, weight="bold", va="top")
    figure.text(0.015, 1.0 - 0.38 / height, note, color="#666666", va="top")
    return figure, figure.subplots(rows, 1, sharex=sharex)


def sample(sampler: spos.Sampler, start: Any, num_steps: int, **options: Any) -> Result:
    result = spos.sample(sampler, start, num_steps, **options)
    if result.interrupted:  # a half-finished experiment would be shown as a whole one
        raise KeyboardInterrupt
    return result
