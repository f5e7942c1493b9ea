"""`spos demo`: three small experiments that show what the library is for, in half a minute.

1. **Collapse.** A standard normal in more and more dimensions: SVGD loses the variance, SPOS keeps
   it.
2. **Many modes.** All particles start in one of seven modes: SVGD stays there, noise gets out.
3. **A regression.** Real data, unknown noise, predictions with intervals, checked against the
   exact posterior.

Each experiment gives a `Part`: text, one table and its figures. The same parts become the lines on
the terminal, the PNG files and the page `report.html`. Every number in them is computed here.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from spos.demo.collapse import collapse
from spos.demo.modes import many_modes
from spos.demo.part import Part
from spos.demo.regression import regression
from spos.io import figures, html
from spos.io.files import make_writable, write_whole
from spos.result import versions

TITLES: dict[Callable[[int], Part], str] = {
    collapse: "variance by dimension",
    many_modes: "seven modes",
    regression: "regression on the diabetes data",
}
EXPERIMENTS = tuple(TITLES)


def run(out: Path, seed: int = 0) -> list[Part]:
    """Run everything, print the tables, and write the figures and the page into the folder."""
    began = time.monotonic()
    _require()
    make_writable(out)
    parts = []
    for number, experiment in enumerate(EXPERIMENTS, start=1):
        print(f"[{number}/{len(EXPERIMENTS)}] {TITLES[experiment]} …", file=sys.stderr, flush=True)
        with figures.style():
            part = experiment(seed)
            for figure in part.figures:
                write_whole(out / figure.file, figure.png)
        print(f"\n{part.heading}\n\n{part.table.text()}\n", flush=True)
        for finding in part.findings:
            print(finding)
        parts.append(part)
    page = html.page("What spos does", _sections(parts, seed, time.monotonic() - began))
    html.write(out / "report.html", page)
    files = ", ".join(figure.file for part in parts for figure in part.figures)
    print(f"\n{time.monotonic() - began:.0f} s. The page is {out / 'report.html'}, beside {files}.")
    return parts


def _sections(parts: list[Part], seed: int, seconds: float) -> list[html.Section]:
    opening = html.Section(
        "",
        (
            html.Text(
                "Bayesian inference with a cloud of particles: the kernel moves and spreads them "
                "(SVGD), noise lets them explore (SGLD), and SPOS does both at once."
            ),
        ),
    )
    body = [
        html.Section(
            part.heading,
            (
                html.Text(part.setting),
                *(html.Picture(figure.png, figure.alt) for figure in part.figures),
                *(html.Text(finding) for finding in part.findings),
                part.table,
            ),
        )
        for part in parts
    ]
    made = ", ".join(f"{name} {version}" for name, version in versions().items())
    closing = html.Section(
        "How this page was made",
        (html.Text(f"spos demo --seed {seed}, in {seconds:.0f} s on this machine: {made}."),),
    )
    return [opening, *body, closing]


def _require() -> None:
    """All that is needed, before any time is spent."""
    try:
        import matplotlib  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{error.name} is not installed, get it with: pip install 'spos[demo]'"
        ) from error
