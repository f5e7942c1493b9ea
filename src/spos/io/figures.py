"""How a figure looks, in one place, and the picture of a result.

A method has the same colour in every figure, from a palette that colour-blind readers can tell
apart. Lines and panels are labelled where they are, so that no legend has to be looked up.
Matplotlib is only imported when something is drawn.
"""

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from spos.io.files import write_whole
from spos.names import parameters

DPI, FILM_DPI = 150, 120
COLOURS = {"spos": "#0072B2", "svgd": "#D55E00", "sgld": "#009E73"}
OTHER, TRUTH, FAINT, NOTE = "#CC79A7", "#333333", "#D9D9D9", "#666666"
WIDTH = 6.4  # inches: letters can still be read at half the width of a page

STYLE = {
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.size": 11.0,
    "axes.titlesize": 12.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 11.0,
    "axes.labelcolor": TRUTH,
    "axes.edgecolor": "#777777",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": TRUTH,
    "xtick.color": TRUTH,
    "ytick.color": TRUTH,
    "xtick.labelsize": 10.0,
    "ytick.labelsize": 10.0,
    "lines.linewidth": 2.2,
    "lines.solid_capstyle": "round",
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.useoffset": False,
}

MOST_MARGINALS = 6
MOST_POINTS = 1000  # of a curve over steps: more than a panel has pixels for
# field of the info, heading, whether to divide by the number of particles
TRACES = (
    ("epd", "spread of the cloud", True),
    ("drift_norm", "drift", False),
    ("bandwidth", "bandwidth η²", False),
)


@dataclass(frozen=True)
class Moving:
    """A figure that moves: `show(n)` brings it to frame n, which lasts `seconds`."""

    figure: Any
    show: Callable[[int], None]
    frames: int
    seconds: float


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


def colour(algorithm: str) -> str:
    return COLOURS.get(algorithm, OTHER)


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Everything drawn inside looks alike."""
    with _matplotlib().rc_context(STYLE):
        yield


def new_figure(width: float, height: float, *, shown: bool = False) -> Any:
    """An empty figure, in inches. One that is `shown` belongs to pyplot, whose `show` knows it."""
    _matplotlib()
    if shown:
        from matplotlib import pyplot

        return pyplot.figure(figsize=(width, height))
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def titled(
    height: float, title: str, note: str, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Any, Any]:
    """A figure with a title and quieter lines under it, and the panels in the room below."""
    figure = new_figure(WIDTH, height)
    head = 0.48 + 0.22 * (note.count("\n") + 1)
    figure.get_layout_engine().set(rect=(0.0, 0.0, 1.0, 1.0 - head / height))
    figure.text(0.015, 1.0 - 0.09 / height, title, fontsize=14, weight="bold", va="top")
    figure.text(
        0.015, 1.0 - 0.40 / height, note, color=NOTE, va="top", fontsize=10.5, linespacing=1.35
    )
    return figure, figure.subplots(rows, columns, **options)


def png(figure: Any) -> bytes:
    """The figure as a PNG, without the date or version that would make every file differ."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()


def gif(moving: Moving) -> bytes:
    """The frames as a GIF without end. All share the colours of the first one."""
    _matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(moving.figure)
    moving.figure.set_dpi(FILM_DPI)

    def frames() -> Iterator[np.ndarray]:
        for n in range(moving.frames):
            moving.show(n)
            canvas.draw()
            yield np.asarray(canvas.buffer_rgba())

    return gif_of_frames(frames(), moving.seconds)


def gif_of_frames(frames: Iterable[np.ndarray], seconds: float) -> bytes:
    """Pictures (height, width, 3 or 4), each of which lasts `seconds`, as a GIF without end."""
    from PIL import Image

    images: list[Any] = []
    for frame in frames:
        image = Image.fromarray(frame).convert("RGB")
        first = images[0] if images else image.quantize(32, Image.Quantize.MAXCOVERAGE)
        images.append(image.quantize(palette=first, dither=Image.Dither.NONE))
    buffer = io.BytesIO()
    pause = round(1000 * seconds)
    images[0].save(
        buffer, format="GIF", save_all=True, append_images=images[1:], duration=pause, loop=0
    )
    return buffer.getvalue()


def save(figure: Any, path: Any) -> Path:
    """Write the figure as a PNG, atomically."""
    path = Path(path)
    write_whole(path, png(figure))
    return path


def result_figure(result: Run) -> Any:
    """What the particles say, on top, and how the run went, below.

    Two parameters are shown as a scatter of particles, any other number as the histograms of the
    first six.
    """
    names, values = parameters(result.particles)
    algorithm = str(result.settings.get("algorithm", "?"))
    traces = _traces(result, len(values))
    pair = len(names) == 2
    shown = min(len(names), MOST_MARGINALS)
    columns = 1 if pair else min(shown, 3)
    rows = 1 if pair else -(-shown // columns)
    top = 3.6 if pair else 2.0 * rows + 0.4
    with style():
        figure = new_figure(WIDTH, top + (1.7 if traces else 0.0), shown=True)
        parts = figure.subfigures(2, 1, height_ratios=[top, 1.7]) if traces else [figure]
        parts[0].suptitle(_headline(result, names, len(values)), x=0.01, ha="left", fontsize=11)
        if pair:
            _scatter(parts[0].subplots(), names, values, colour(algorithm))
        else:
            panels = parts[0].subplots(rows, columns, squeeze=False).ravel()
            for axes, name, column in zip(panels, names[:shown], values.T, strict=False):
                _marginal(axes, name, column, colour(algorithm))
            for axes in panels[shown:]:
                axes.set_visible(False)
        if traces:
            for axes, (title, steps, series) in zip(
                parts[1].subplots(1, len(traces), squeeze=False).ravel(), traces, strict=True
            ):
                axes.plot(steps, series, color=colour(algorithm), linewidth=1.2)
                axes.set_title(title, fontsize=10, fontweight="normal")
                axes.set_xlabel("step", fontsize=10)
                axes.locator_params(nbins=3)
    return figure


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


def _marginal(axes: Any, name: str, values: np.ndarray, tint: str) -> None:
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


def _scatter(axes: Any, names: list[str], values: np.ndarray, tint: str) -> None:
    size = float(np.clip(4000.0 / len(values), 4.0, 40.0))
    axes.scatter(values[:, 0], values[:, 1], s=size, color=tint, alpha=0.6, linewidths=0)
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("drawing figures needs matplotlib: pip install 'spos[plot]'") from error
    return matplotlib
