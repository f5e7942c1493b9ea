"""The picture of a result: what the particles say, and how the run went."""

from collections.abc import Mapping
from typing import Any, Protocol

import jax
import numpy as np

from spos.io.figures import TRUTH, WIDTH, colour, new_figure, style
from spos.names import parameters
from spos.types import PyTree

MOST_PAIRS = 4  # parameters that are shown in pairs; more of them as histograms alone
MOST_MARGINALS = 6
MOST_POINTS = 1000  # of a curve over steps: more than a panel has pixels for
# field of the info, heading, whether to divide by the number of particles
TRACES = (
    ("epd", "spread of the cloud", True),
    ("drift_norm", "drift", False),
    ("bandwidth", "bandwidth η²", False),
)


class Run(Protocol):
    """What is drawn of a `spos.Result`, which lives a floor above."""

    @property
    def particles(self) -> Any: ...
    @property
    def info(self) -> Mapping[str, np.ndarray]: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...
    @property
    def num_steps(self) -> int: ...
    @property
    def interrupted(self) -> bool: ...


def result_figure(result: Run, truth: PyTree = None, *, shown: bool = True) -> Any:
    """What the particles say, on top, and how the run went, below.

    Two to four parameters are shown in pairs with their histograms, and of any other number the
    histograms of the first six. `truth` is a particle; it is marked in every panel. A figure that
    is `shown` belongs to pyplot.
    """
    names, values = parameters(result.particles)
    true = true_values(truth, names)
    algorithm = str(result.settings.get("algorithm", "?"))
    traces = _traces(result, len(values))
    top = _height(len(names))
    with style():
        figure = new_figure(WIDTH, top + (1.7 if traces else 0.0), shown=shown)
        parts = figure.subfigures(2, 1, height_ratios=[top, 1.7]) if traces else [figure]
        parts[0].suptitle(_headline(result, names, len(values)), x=0.01, ha="left", fontsize=11)
        if 1 < len(names) <= MOST_PAIRS:
            _pairs(parts[0], names, values, colour(algorithm), true)
        else:
            _marginals(parts[0], names, values, colour(algorithm), true)
        if traces:
            for axes, (title, steps, series) in zip(
                parts[1].subplots(1, len(traces), squeeze=False).ravel(), traces, strict=True
            ):
                axes.plot(steps, series, color=colour(algorithm), linewidth=1.2)
                axes.set_title(title, fontsize=10, fontweight="normal")
                axes.set_xlabel("step", fontsize=10)
                axes.locator_params(nbins=3)
    return figure


def true_values(truth: PyTree, names: list[str]) -> np.ndarray | None:
    """The numbers of a particle that is known to be true, in the order of the names."""
    if truth is None:
        return None
    found, values = parameters(jax.tree.map(lambda leaf: np.asarray(leaf)[None], truth))
    if found != names:
        raise ValueError(
            f"truth must be one particle with the parameters {', '.join(names[:6])}, "
            f"but has {', '.join(found[:6])}"
        )
    return values[0]


def _height(count: int) -> float:
    if 1 < count <= MOST_PAIRS:
        return max(1.5 * count, 4.0) + 0.4
    return 2.0 * -(-min(count, MOST_MARGINALS) // 3) + 0.4


def _marginals(
    figure: Any, names: list[str], values: np.ndarray, tint: str, truth: np.ndarray | None
) -> None:
    """The histograms of the first parameters."""
    shown = min(len(names), MOST_MARGINALS)
    columns = min(shown, 3)
    panels = figure.subplots(-(-shown // columns), columns, squeeze=False).ravel()
    for n, axes in enumerate(panels):
        axes.set_visible(n < shown)
        if n < shown:
            _marginal(axes, names[n], values[:, n], tint, truth if truth is None else truth[n])


def _pairs(
    figure: Any, names: list[str], values: np.ndarray, tint: str, truth: np.ndarray | None
) -> None:
    """Histograms on the diagonal, and below it every pair; a column shares its axis."""
    count = len(names)
    panels = figure.subplots(count, count, squeeze=False, sharex="col")
    for row in range(count):
        for column in range(count):
            axes = panels[row, column]
            if column > row:
                axes.set_visible(False)
            elif column == row:
                one = None if truth is None else truth[row]
                _marginal(axes, names[row], values[:, row], tint, one)
            else:
                both = [column, row]
                one = None if truth is None else truth[both]
                _scatter(axes, ["", names[row] if column == 0 else ""], values[:, both], tint, one)
                axes.tick_params(labelleft=column == 0)
            axes.tick_params(labelsize=8, labelbottom=row == count - 1)


def _headline(result: Run, names: list[str], count: int) -> str:
    kind = str(result.settings.get("algorithm", "?")).upper()
    hidden = len(names) - MOST_MARGINALS
    note = f", {hidden} more parameter{'s' * (hidden > 1)} not shown" if hidden > 0 else ""
    cut = " (interrupted)" if result.interrupted else ""
    return f"{kind}: {count} particles after {result.num_steps} steps{cut}{note}"


def _traces(result: Run, count: int) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """The curves that have something to show: a method without a kernel has no bandwidth."""
    found = []
    for field, title, divide in TRACES:
        series = np.asarray(result.info.get(field, ()), np.float64) / (count if divide else 1)
        if np.isfinite(series).any():
            every = -(-len(series) // MOST_POINTS)
            found.append((title, np.arange(len(series))[::every], series[::every]))
    return found


def _marginal(
    axes: Any, name: str, values: np.ndarray, tint: str, truth: float | None = None
) -> None:
    # bins as wide as the number of particles can bear; all in one place still gets a bar
    low, high = values.min(), values.max()
    room = max(0.5 * abs(low), 0.5) if high == low else 0.0
    bins = int(np.clip(3.0 * len(values) ** (1 / 3), 5, 60))
    axes.hist(values, bins=bins, range=(low - room, high + room), color=tint, alpha=0.75)
    axes.plot(values, np.zeros_like(values), "|", color=TRUTH, markersize=5, alpha=0.5)
    axes.set_title(name, fontsize=10)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=4)
    if truth is not None:
        axes.axvline(truth, color=TRUTH, linewidth=1.5, linestyle="--")


def _scatter(
    axes: Any, names: list[str], values: np.ndarray, tint: str, truth: np.ndarray | None = None
) -> None:
    size = float(np.clip(4000.0 / len(values), 4.0, 40.0))
    axes.scatter(values[:, 0], values[:, 1], s=size, color=tint, alpha=0.6, linewidths=0)
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    if truth is not None:
        axes.plot(truth[0], truth[1], "+", color=TRUTH, markersize=14, markeredgewidth=2.5)
