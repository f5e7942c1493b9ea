"""The figures of `spos paper multimode`."""

from typing import Any

import numpy as np

from spos.io.figures import FAINT, TRUTH
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.multimode.protocol import exact_density
from spos_experiments.paper.multimode.settings import METHODS, READINGS


def draw(record: Record) -> list[Drawing]:
    found = record.numbers
    runs = {(each["reading"], each["method"]): each for each in found["runs"]}
    return [_histograms(record, runs), _by_basin(record, runs)]


def _histograms(record: Record, runs: dict[tuple[str, str], Any]) -> Drawing:
    settings = record.settings
    figure, panels = drawing.titled(
        6.0,
        f"{settings['particles']} particles that all start in one mode",
        f"where they are after {settings['num_steps']} steps: bars, {settings['repeats']} repeats "
        "together;\nticks, one of them; grey, the true density",
        rows=len(METHODS),
        columns=len(READINGS),
        sharex=True,
        sharey="col",
    )
    for column, reading in enumerate(READINGS):
        x, density = exact_density(reading)
        for row, method in enumerate(METHODS):
            axes, tint = panels[row, column], drawing.METHODS[method]
            points = np.asarray(runs[reading, method]["end"])
            axes.fill_between(x, density, color=FAINT, linewidth=0)
            axes.hist(points.ravel(), np.arange(-3, 4, 0.1), density=True, color=tint, alpha=0.7)
            axes.plot(x, density, color=TRUTH, linewidth=1.0)
            axes.plot(points[0], np.full(points.shape[1], -0.06 * density.max()), "|", color=tint)
            axes.axvline(settings["start"], color=TRUTH, linewidth=0.8, linestyle=":")
            axes.text(0.98, 0.85, method, transform=axes.transAxes, ha="right", color=tint,
                      weight="bold", size=12)  # fmt: skip
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            axes.set_ylim(-0.12 * density.max(), 1.8 * density.max())
        panels[0, column].set_title(reading, fontsize=11)
        panels[-1, column].set_xlabel("θ")
        panels[-1, column].set_xlim(-3.0, 3.6)
    reached = "; ".join(
        f"{m} on {r}: {runs[r, m]['basins at the end']:.1f}" for r in READINGS for m in METHODS
    )
    return Drawing(
        "modes.png",
        figure,
        "Histograms of the last particles over the true density, for three methods and two "
        f"readings of the formula. Basins with a particle, on average: {reached}.",
        "The dotted line is where all particles start. The bars are cut off where a method piles "
        "up its particles.",
    )


def _by_basin(record: Record, runs: dict[tuple[str, str], Any]) -> Drawing:
    found, settings = record.numbers, record.settings
    modes = np.asarray(found["modes"])
    places = np.arange(len(modes))
    figure, panels = drawing.titled(
        6.0,
        "Every basin: how many, and how soon",
        "above, the share of particles at the end (black: exact mass); below, the median\nstep of "
        "the first visit (hollow: not within the run)",
        rows=2,
        columns=len(READINGS),
        sharex=True,
        sharey="row",
    )
    for column, reading in enumerate(READINGS):
        shares, times = panels[:, column]
        exact = np.asarray(found["masses"][reading])
        shares.hlines(exact, places - 0.4, places + 0.4, color=TRUTH, linewidth=2)
        for n, method in enumerate(METHODS):
            each, tint = runs[reading, method], drawing.METHODS[method]
            x = places + 0.22 * (n - 1)
            share = np.asarray(each["share"])
            shares.errorbar(
                x, np.maximum(share, 3e-4), 2 * np.asarray(each["share se"]), fmt="o", color=tint,
                markersize=5, linewidth=1.2,
            )  # fmt: skip
            reached = np.asarray([np.nan if v is None else v for v in each["reached"]])
            times.plot(x, reached, "o", color=tint, markersize=5)
            never = np.isnan(reached)
            top = np.full(never.sum(), 1.7 * settings["num_steps"])
            times.plot(x[never], top, "o", color=tint, markersize=5, mfc="white")
            shares.text(0.02 + 0.2 * n, 1.03, method, transform=shares.transAxes, color=tint,
                        weight="bold")  # fmt: skip
        shares.set_title(f"{reading}\n", fontsize=11)
        shares.set_yscale("log")
        shares.set_ylim(2e-4, 1.5)
        times.set_yscale("log")
        times.axhline(settings["num_steps"], color=drawing.GRID)
        times.set_xticks(places, [f"{mode:.1f}".replace("-", "−") for mode in modes], fontsize=9)
        times.set_xlabel("basin of the mode at θ")
        for axes in (shares, times):
            axes.grid(axis="y", color=drawing.GRID, linewidth=0.6)
    panels[0, 0].set_yticks([1e-3, 1e-2, 0.1, 1], ["0.1 %", "1 %", "10 %", "100 %"])
    panels[0, 0].set_ylabel("share of particles")
    panels[1, 0].set_ylabel("step of the first visit")
    for axes in panels.ravel():
        axes.minorticks_off()
    return Drawing(
        "basins.png",
        figure,
        "Share of particles in each basin against its exact mass, and the median step at which a "
        "basin was first visited, for three methods and two readings of the formula.",
        "A share of zero stands at the lower edge.",
    )
