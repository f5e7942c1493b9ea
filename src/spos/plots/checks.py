"""A verdict as a picture: how near every check came to its limit."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from spos.io.figures import COLOURS, TRUTH, WIDTH, new_figure, style

LEAST, MOST = 0.02, 20.0  # of what is drawn, in limits


class Checked(Protocol):
    """A check of `spos.auto.verdict`, which lives a floor above."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def limit(self) -> float: ...
    @property
    def passed(self) -> bool: ...


def share_of_limit(check: Checked) -> float:
    """Above 1 where the check failed, whether its limit is the most or the least allowed."""
    best = 1.0 if check.name == "R-hat" else 0.0
    value, limit = check.value - best, check.limit - best
    if not (np.isfinite(value) and value > 0.0 and limit > 0.0):
        return LEAST if check.passed else MOST
    most = (value <= limit) == check.passed
    return value / limit if most else limit / value


def verdict_figure(checks: Sequence[Checked], title: str) -> Any:
    """A bar a check, with what was found and its limit; beyond the line it has failed."""
    if not checks:
        raise ValueError("there are no checks to draw: the run was interrupted before them")
    shares = [float(np.clip(share_of_limit(check), LEAST, MOST)) for check in checks]
    tints = [COLOURS["sgld"] if check.passed else COLOURS["svgd"] for check in checks]
    with style():
        figure = new_figure(WIDTH, 0.32 * len(checks) + 1.2, shown=True)
        axes = figure.subplots()
        axes.barh(range(len(checks)), shares, left=0.0, color=tints, height=0.6)
        axes.axvline(1.0, color=TRUTH, linewidth=1.5, linestyle="--")
        axes.set_yticks(range(len(checks)), [check.name for check in checks])
        for place, check in enumerate(checks):
            told = f" {check.value:.4g} of {check.limit:.4g}"
            axes.text(1.0, place, told, transform=axes.get_yaxis_transform(), va="center", size=9)
        axes.set_xscale("log")
        axes.set_xlim(0.7 * LEAST, max(2.0, 1.3 * max(shares)))
        axes.invert_yaxis()
        axes.set(xlabel="share of what is allowed (dashed: the limit)", title=title)
    return figure
