"""How a figure looks, in one place.

A method has the same colour in every figure, from a palette that colour-blind readers can tell
apart. Lines and panels are labelled where they are, so that no legend has to be looked up.
Matplotlib is only imported when something is drawn.
"""

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spos.io.files import write_whole

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


@dataclass(frozen=True)
class Moving:
    """A figure that moves: `show(n)` brings it to frame n, which lasts `seconds`."""

    figure: Any
    show: Callable[[int], None]
    frames: int
    seconds: float


def colour(algorithm: str) -> str:
    """Of a method; a fit has that of SPOS."""
    return COLOURS.get("spos" if algorithm.startswith("fit") else algorithm, OTHER)


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Everything drawn inside looks alike."""
    matplotlib = _matplotlib()
    with matplotlib.rc_context(STYLE):
        yield
        interactive = matplotlib.is_interactive()
    # the first figure of a notebook makes it interactive, which must outlast the context
    matplotlib.interactive(interactive)


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


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("drawing figures needs matplotlib: pip install 'spos[plot]'") from error
    return matplotlib
