"""Pieces that the figures of the experiments share.

`titled` is the library's frame of a figure: 6.4 inches wide, so that its letters can still be read
at half the width of a page.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from spos.io.figures import COLOURS, NOTE, titled

__all__ = ["GRID", "METHODS", "NOTE", "end_labels", "error_grid", "log_axes", "ramp", "titled"]

GRID = "#E4E4E4"
# from few to many, light to dark, in an order that survives without colour
RAMP = ("#E8A33D", "#D1713C", "#A8475A", "#74356F", "#3F2B63", "#101C38")
METHODS = {"SPOS": COLOURS["spos"], "SVGD": COLOURS["svgd"], "SGLD": COLOURS["sgld"]}


def error_grid(found: Mapping[str, Any], title: str, note: str, ticks: Sequence[float]) -> Any:
    """Errors against iterations: a row for each method, a column for each bandwidth."""
    x, curves = np.asarray(found["iterations"]), found["curves"]
    methods, widths, sizes = (
        list(dict.fromkeys(curve[key] for curve in curves))
        for key in ("method", "bandwidth", "particles")
    )
    tints = dict(zip(sizes, ramp(len(sizes)), strict=True))
    shape = {"rows": len(methods), "columns": len(widths)}
    figure, panels = titled(
        2.0 * len(methods) + 1.6, title, note, **shape, sharex=True, sharey=True, squeeze=False
    )
    for curve in curves:
        axes = panels[methods.index(curve["method"]), widths.index(curve["bandwidth"])]
        y, se, tint = np.asarray(curve["error"]), np.asarray(curve["se"]), tints[curve["particles"]]
        axes.fill_between(x, np.maximum(y - 2 * se, 1e-9), y + 2 * se, color=tint, alpha=0.2, lw=0)
        axes.plot(x, y, color=tint, linewidth=1.6)
    highest = max(max(curve["error"]) for curve in curves)
    lowest = min(min(curve["error"]) for curve in curves)
    for axes in panels.ravel():
        log_axes(axes, (1, 10, 100, 1000), ticks)
        axes.set_ylim(0.8 * lowest, 1.4 * highest)
        axes.set_xlim(1, x[-1])
    for axes in panels[-1]:
        axes.set_xlabel("iteration")
    for axes in panels[:, 0]:
        axes.set_ylabel("error")
    places = list(zip(panels.ravel(), product(methods, widths), strict=True))
    for axes, (method, width) in places:
        axes.set_title(f"{method}, {width}", fontsize=11)
    for axes, (method, width) in places:
        here = [c for c in curves if (c["method"], c["bandwidth"]) == (method, width)]
        end_labels(
            axes,
            float(x[-1]),
            [c["error"][-1] for c in here],
            [f"{'M = ' if c['particles'] == 1 else ''}{c['particles']}" for c in here],
            [tints[c["particles"]] for c in here],
            fontsize=9,
            settle=axes is panels[0, 0],
            weight="bold",
        )
    return figure


def ramp(count: int) -> list[str]:
    """So many colours from few to many."""
    places = np.linspace(0, len(RAMP) - 1, count).round().astype(int) if count > 1 else [3]
    return [RAMP[place] for place in places]


def log_axes(axes: Any, x: Any, y: Sequence[float] = ()) -> None:
    """Logarithmic axes with plain numbers at a few ticks; without `y` those are found here."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if not len(y):
        y = [v for e in range(-6, 6) for v in (10.0**e, 3 * 10.0**e) if low <= v <= high]
    shown = [x[0]]
    for tick in x[1:]:  # numbers closer than a factor of three would touch
        shown += [tick] if tick >= 3 * shown[-1] else []
    axes.set_xticks(shown, [f"{tick:g}" for tick in shown])
    axes.set_yticks(y, [f"{tick:g}" for tick in y])
    axes.minorticks_off()
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def end_labels(
    axes: Any,
    x: float,
    heights: Sequence[float],
    texts: Sequence[str],
    colours: Sequence[str],
    *,
    fontsize: float = 10.0,
    gap: float = 1.15,
    settle: bool = True,
    **options: Any,
) -> None:
    """Label lines at their right ends; labels that would overlap are moved apart.

    Call it when the limits of the axes are final. `gap` is the distance of two labels, in lines.
    The layout must have settled where things are, which takes a while: once a figure is enough.
    """
    figure = axes.figure
    if settle:
        figure.draw_without_rendering()
    places = axes.transData.transform([(x, y) for y in heights])[:, 1]
    need = gap * fontsize * figure.dpi / 72
    order = np.argsort(places)
    spread = _apart(places[order], need)
    box = axes.get_window_extent()
    for rank, n in enumerate(order):
        height = (spread[rank] - box.y0) / box.height
        place = (axes.transData.transform((x, heights[n]))[0] - box.x0) / box.width
        axes.annotate(
            texts[n],
            (place, height),
            xycoords="axes fraction",
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=colours[n],
            fontsize=fontsize,
            annotation_clip=False,
            **options,
        )


def _apart(places: np.ndarray, need: float) -> np.ndarray:
    """The sorted places moved as little as need be to have `need` between neighbours."""
    offsets = need * np.arange(len(places))
    free = places - offsets
    # isotonic regression by pooling: neighbours that want to pass each other share their mean
    blocks: list[tuple[float, int]] = []
    for value in free:
        total, count = float(value), 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before, size = blocks.pop()
            total, count = total + before, count + size
        blocks.append((total, count))
    return np.concatenate([np.full(count, total / count) for total, count in blocks]) + offsets
