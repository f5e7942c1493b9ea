"""The figures of `spos paper variance`."""

import math

import numpy as np

from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.variance.settings import COLOURS, PLAIN


def draw(record: Record) -> list[Drawing]:
    return [_noise(record), _moments(record)]


def _noise(record: Record) -> Drawing:
    noise, steps = record.numbers["noise"], record.settings["noise_steps"]
    names = record.settings["scores"]
    figure, axes = drawing.titled(
        4.2,
        "Noise of the score along a run",
        f"mean ‖estimate − exact‖² over {record.settings['noise_batches']} batches of "
        f"{record.settings['batch_size']}, as a share of that\nof the plain score; "
        f"{record.numbers['data']}, from the prior to the mode",
    )
    share = {name: np.asarray(noise[name]) / np.asarray(noise[PLAIN]) for name in names}
    for name in names:
        axes.plot(steps, share[name], color=COLOURS[name], marker="o", markersize=4)
    drawing.log_axes(axes, steps, _decades(np.concatenate(list(share.values()))))
    axes.set_xlabel("step")
    axes.set_ylabel("noise / plain")
    drawing.end_labels(
        axes, steps[-1], [share[n][-1] for n in names], names, [COLOURS[n] for n in names]
    )
    last = "; ".join(f"{name} {share[name][-1]:.2g}" for name in names[1:])
    return Drawing(
        "noise.png",
        figure,
        "Noise of score estimates against the step of a run, on logarithmic axes. Last "
        f"shares of the plain noise: {last}.",
        "SAGA begins as the plain score and gains as it meets every example; the control variate "
        "is good only near its centre.",
    )


def _decades(values: np.ndarray) -> list[float]:
    positive = [value for value in values if value > 0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    return [10.0**e for e in range(low, high + 1)]


def _moments(record: Record) -> Drawing:
    shares, methods = record.settings["shares"], record.settings["methods"]
    figure, panels = drawing.titled(
        5.6,
        "Posterior moments at equal numbers of gradients",
        f"{record.settings['passes']} passes over the data for each of "
        f"{record.settings['particles']} particles, over the step size;\n"
        "bars of ± 2 standard errors",
        rows=2,
        columns=len(methods),
        sharex=True,
        sharey="row",
        squeeze=False,
    )
    kinds = {"ratio": "variance / reference", "mean error": "error of the mean / sd"}
    lines = [(curve, row) for curve in record.numbers["curves"] for row in range(2)]
    for curve, row in lines:
        axes = panels[row, methods.index(curve["method"])]
        mean, se = np.asarray(curve[list(kinds)[row]], float).T
        tint = COLOURS[curve["score"]]
        axes.errorbar(shares, mean, yerr=2 * se, color=tint, marker="o", markersize=4, lw=1.8)
    for row, label in enumerate(kinds.values()):
        for axes in panels[row]:
            ticks = (1, 3, 10, 30, 100) if row == 0 else (0.01, 0.03, 0.1, 0.3, 1)
            drawing.log_axes(axes, shares, ticks)
            axes.set_xticks(shares, [f"{share:g}" for share in shares])
        panels[row, 0].set_ylabel(label)
    for column, method in enumerate(methods):
        panels[0, column].set_title(method)
        panels[0, column].axhline(1.0, color=drawing.NOTE, linewidth=0.8, zorder=0)
        panels[1, column].set_xlabel("step size · λ")
        for row, kind in enumerate(kinds):
            here = [c for c in record.numbers["curves"] if c["method"] == method]
            drawing.end_labels(
                panels[row, column],
                shares[-1],
                [c[kind][-1][0] for c in here],
                [c["score"] for c in here],
                [COLOURS[c["score"]] for c in here],
                fontsize=9,
                settle=column == row == 0,
            )
    return Drawing(
        "moments.png",
        figure,
        "Variance over reference and error of the mean against the step size, for SGLD and SPOS, "
        "with plain and reduced scores.",
        "A ratio of 1 is right. SPOS with few particles has a bias of its own.",
    )
