"""How a run went: a strip of clouds over time, and its bandwidth."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from spos.cloud import squared_distances
from spos.io.figures import FAINT, TRUTH, WIDTH, colour, new_figure, style
from spos.names import parameters
from spos.types import PyTree

MOST_DISTANCES = 1000  # particles whose distances are drawn


def path_figure(history: PyTree | None, every: int | None, algorithm: str, columns: int) -> Any:
    """Clouds at times spread evenly over the logarithm of the steps; the first two parameters, or
    the histogram of a single one. The last cloud stands faintly behind all."""
    if history is None or every is None:
        raise ValueError("there is no history to draw: sample with history_every=…")
    records = len(jax.tree.leaves(history)[0])
    times = np.unique(np.geomspace(1, records, min(columns, records)).astype(int)) - 1
    clouds = [parameters(jax.tree.map(lambda leaf, n=n: leaf[n], history)) for n in times]
    names, last = clouds[-1]
    with style():
        figure = new_figure(WIDTH, 2.2 if len(names) > 1 else 1.9, shown=True)
        panels = figure.subplots(1, len(times), sharex=True, sharey=True, squeeze=False)[0]
        for axes, time, (_, values) in zip(panels, times, clouds, strict=True):
            if len(names) == 1:
                axes.hist(last[:, 0], bins=30, color=FAINT, density=True)
                axes.hist(values[:, 0], bins=30, color=colour(algorithm), density=True, alpha=0.7)
            else:
                axes.plot(last[:, 0], last[:, 1], ".", color=FAINT, markersize=3)
                axes.plot(values[:, 0], values[:, 1], ".", color=colour(algorithm), markersize=3)
            axes.set_title(f"{(time + 1) * every:,}", fontsize=10, fontweight="normal")
            axes.tick_params(labelsize=8)
        panels[0].set_ylabel(names[1] if len(names) > 1 else "", fontsize=9)
        figure.supxlabel(names[0], fontsize=9)
        figure.suptitle(f"{algorithm.upper()}: particles after so many steps", fontsize=11, x=0.5)
    return figure


def bandwidth_figure(particles: PyTree, info: Mapping[str, np.ndarray], algorithm: str) -> Any:
    """The bandwidth over the steps, and where η lies among the distances of the last cloud."""
    series = np.asarray(info.get("bandwidth", ()), np.float64)
    if not np.isfinite(series).any():
        raise ValueError(f"{algorithm} has no bandwidth to draw: it has no kernel")
    _, values = parameters(particles)
    values = values[:: -(-len(values) // MOST_DISTANCES)]
    upper = np.triu_indices(len(values), 1)
    distances = np.sqrt(squared_distances(values, values)[upper])
    eta = float(np.sqrt(series[np.isfinite(series)][-1]))
    with style():
        figure = new_figure(WIDTH, 2.4, shown=True)
        over, among = figure.subplots(1, 2)
        over.plot(np.sqrt(series), color=colour(algorithm), linewidth=1.5)
        over.set(xlabel="step", title="bandwidth η")
        among.hist(distances, bins=40, color=colour(algorithm), alpha=0.7)
        among.axvline(eta, color=TRUTH, linestyle="--", linewidth=1.5)
        among.set(xlabel="distance of two particles (dashed: η)", yticks=[])
        among.set_xlim(left=0.0)
    return figure
