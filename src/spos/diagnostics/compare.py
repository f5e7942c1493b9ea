"""Several samplers on one target: error against the number of gradients.

Every sampler takes the same number of steps from the same starts, for several seeds at once. The
errors of mean and covariance (`spos.diagnostics.errors`) are given twice: of the cloud at a step,
which is what particle methods care for, and *pooled*, of all clouds kept in the second half of the
run put together, which is how chains are used. Reference draws add the sliced W1 distance of the
last cloud to them, and a row for as many independent draws; a kernel adds the root of the kernel
Stein discrepancy, which needs no truth at all.

A gradient evaluation is the gradient of one particle's log-density, or of one row of its minibatch.
A sampler whose particles leave the finite numbers is no error here, but a row that says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.cloud import flatten, size
from spos.diagnostics.clouds import timed_clouds
from spos.diagnostics.errors import Truth, as_truth
from spos.dynamics.sampler import Sampler
from spos.executors import check_executor, outcomes
from spos.interaction.kernels import Kernel
from spos.io import figures
from spos.io.html import Table
from spos.io.progress import Progress, wanted
from spos.plots import rich
from spos.targets.target import as_target
from spos.types import Particles

RECORDS = 64  # clouds kept of a run, at equal distances
EXACT = "independent draws"


@dataclass(frozen=True)
class Row:
    """One sampler. Measures have an entry for each seed; `cloud` has them for each record too."""

    evaluations: np.ndarray  # of gradients up to each record; empty for independent draws
    cloud: Mapping[str, np.ndarray]
    pooled: Mapping[str, np.ndarray]
    last: Mapping[str, np.ndarray]  # of the last cloud alone
    points: np.ndarray  # the last clouds: seed, particle, parameter
    seconds: float | None  # of one seed, compilation not counted
    diverged: np.ndarray  # the records at which seeds were first found so

    def final(self) -> dict[str, np.ndarray]:
        """Every measure at the end of the run, by seed."""
        return {
            **{name: values[:, -1] for name, values in self.cloud.items()},
            **{f"pooled {name}": values for name, values in self.pooled.items()},
            **self.last,
        }


@dataclass(frozen=True)
class Comparison:
    """Several samplers on one target; printed, it is a Markdown table.

    Attributes:
        rows: by the names of the samplers.
        num_steps: of each run.
        title: what was run.
    """

    rows: Mapping[str, Row]
    num_steps: int
    title: str

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.table()}"

    __repr__ = __str__

    def table(self) -> str:
        """Mean and standard error over seeds of every measure at the end of the run.

        Returns:
            A Markdown table.
        """
        return self._table().markdown()

    def _repr_html_(self) -> str:
        return rich.block_html([self._table()])

    def _table(self) -> Table:
        measures = list(next(iter(self.rows.values())).final())
        headings = ["sampler", "gradients", *measures, "ms a step", "seconds"]
        lines = []
        for name, row in self.rows.items():
            cells = [_cell(values) for values in row.final().values()]
            if len(row.diverged):
                cells = ["–"] * len(measures)
                cells[0] = (
                    f"diverged by step {row.diverged.min()} "
                    f"({len(row.diverged)} of {len(row.points)} seeds)"
                )
            count, spent = "–", ("–", "–")
            if row.seconds is not None:
                count = f"{row.evaluations[-1]:,}"
                spent = (f"{1e3 * row.seconds / self.num_steps:.3g}", f"{row.seconds:.3g}")
            lines.append([name, count, *cells, *spent])
        return Table(headings, lines, self.title)

    def plot(self, measure: str = "covariance") -> Any:
        """A panel for each sampler: its error against gradients, before those of all the others.

        Args:
            measure: "mean" or "covariance".

        Returns:
            The figure of matplotlib.
        """
        rows = {name: row for name, row in self.rows.items() if len(row.evaluations)}
        checks.one_of("measure", measure, next(iter(rows.values())).cloud)
        columns = min(3, len(rows))
        lines = -(-len(rows) // columns)
        with figures.style():
            figure = figures.new_figure(2.2 * columns + 0.8, 1.8 * lines + 0.9, shown=True)
            figure.suptitle(self.title, fontsize=10, x=0.01, ha="left")
            panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
            for axes, (name, row) in zip(panels.ravel(), rows.items(), strict=False):
                for other in rows.values():
                    x, y = other.evaluations, other.cloud[measure].mean(0)
                    axes.plot(x, y, color=figures.FAINT, linewidth=1.0)
                tint = figures.colour(name)
                x, values = row.evaluations, row.cloud[measure]
                axes.fill_between(x, values.min(0), values.max(0), color=tint, alpha=0.2, lw=0)
                axes.plot(x, values.mean(0), color=tint)
                axes.set(xscale="log", yscale="log")
                said = f", diverged by step {row.diverged.min()}" if len(row.diverged) else ""
                axes.set_title(name + said, color=tint, fontsize=10)
            sound = [row.cloud[measure] for row in rows.values() if not len(row.diverged)]
            if sound:  # a run that diverges would squeeze all the others into a line
                low, high = min(x.min() for x in sound), max(x.max() for x in sound)
                panels[0, 0].set_ylim(0.8 * low, 1.5 * high)
            for axes in panels.ravel()[len(rows) :]:
                axes.set_axis_off()
            figure.supxlabel("gradient evaluations", fontsize=10)
            figure.supylabel(f"error of the {measure}", fontsize=10)
        return figure


def compare(
    target: Any,
    samplers: Mapping[str, Sampler],
    particles: Any,
    num_steps: int,
    *,
    truth: tuple[Any, Any] | None = None,
    reference: Particles | None = None,
    ksd_kernel: Kernel | None = None,
    num_seeds: int = 8,
    seed: int = 0,
    progress: bool | None = None,
    executor: Any = None,
) -> Comparison:
    """Run all samplers and measure how far each is from the truth.

    Args:
        target: what the samplers sample; the KSD takes its scores, on all data.
        samplers: by name.
        particles: where all begin, or a function `key -> particles` for a start of each seed's own.
        num_steps: of each run.
        truth: the mean and the covariance matrix, over all parameters in their order.
        reference: draws from the target, as particles; without `truth`, it is their moments.
        ksd_kernel: such as `spos.imq(1.0)`; a fixed bandwidth makes numbers comparable.
        num_seeds: runs of each sampler, at least 2.
        seed: of all runs.
        progress: show a progress line; by default only on a terminal.
        executor: runs the samplers as jobs, whose times are not comparable; None runs them here.

    Returns:
        The errors of each sampler by gradients.

    Raises:
        ValueError: if neither `truth` nor `reference` is given.

    Example:
        >>> def log_prob(x):
        ...     return -0.5 * jnp.sum(x**2)
        >>> samplers = {"sgld": spos.sgld(log_prob, 0.1), "svgd": spos.svgd(log_prob, 0.1)}
        >>> start, truth = jnp.linspace(-1.0, 1.0, 8)[:, None], (np.zeros(1), np.eye(1))
        >>> found = spos.compare(log_prob, samplers, start, 5, truth=truth, num_seeds=2)
        >>> list(found.rows)
        ['sgld', 'svgd']
    """
    target = as_target(target)
    if not isinstance(samplers, Mapping) or not samplers:
        raise TypeError(f"samplers must map names to samplers, got {samplers!r}")
    for name, sampler in samplers.items():
        if not isinstance(sampler, Sampler):
            raise TypeError(f"samplers[{name!r}] must be a sampler, got {sampler!r}")
    checks.whole("num_steps", num_steps)
    checks.whole("num_seeds", num_seeds, at_least=2)
    checks.seed("seed", seed)
    check_executor(executor)
    keys = jax.random.split(jax.random.key(seed), num_seeds)
    if callable(particles):
        starts = jax.vmap(particles)(jax.vmap(lambda key: jax.random.fold_in(key, 1))(keys))
    else:
        starts = jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (num_seeds, *leaf.shape)),
            checks.particles(particles),
        )
    count, dimension = flatten(starts, 2).shape[1:]
    draws = None if reference is None else checks.particles(reference)
    known = as_truth(truth, draws, target, ksd_kernel, dimension)
    every = max(1, num_steps // RECORDS)
    bar = Progress("compare", len(samplers)) if wanted(progress) else None
    rows = {}
    try:
        jobs = [(sampler, seed, starts, num_steps, every) for sampler in samplers.values()]
        runs = zip(samplers.items(), outcomes(executor, timed_clouds, jobs), strict=True)
        for done, ((name, sampler), run) in enumerate(runs, start=1):
            rows[name] = _row(sampler, *run, num_steps, every, known)
            if bar is not None:
                bar.update(done)
    finally:
        if bar is not None:
            bar.close()
    if draws is not None:
        total = size(draws)
        shape = (num_seeds, num_steps // every, count)
        chosen = np.random.default_rng(seed).integers(total, size=shape)
        none = np.empty(0, np.int64)
        clouds = jax.tree.map(lambda leaf: leaf[chosen], draws)
        rows[EXACT] = _measured(clouds, known, none, None, none)
    title = f"{count} particles, {num_steps} steps, {num_seeds} seeds (± standard error)"
    return Comparison(rows, num_steps, title)


def _row(
    sampler: Sampler,
    clouds: Particles,
    seconds: float,
    num_steps: int,
    every: int,
    truth: Truth,
) -> Row:
    count = jax.tree.leaves(clouds)[0].shape[2]
    stops = num_steps % every + every * np.arange(1, num_steps // every + 1)
    spent = [sampler.target.gradient_evaluations(int(stop), count) for stop in stops]
    points = np.asarray(flatten(clouds, 3))
    broken = ~np.isfinite(points).all(axis=(2, 3))
    diverged = stops[broken.argmax(1)][broken.any(1)]
    return _measured(clouds, truth, np.asarray(spent, np.int64), seconds, diverged)


def _measured(
    clouds: Particles,
    truth: Truth,
    evaluations: np.ndarray,
    seconds: float | None,
    diverged: np.ndarray,
) -> Row:
    """From clouds by seed, record and particle."""
    points = np.asarray(flatten(clouds, 3), np.float64)
    seeds, records, _, dimension = points.shape
    pooled = points[:, records // 2 :].reshape(seeds, -1, dimension)
    return Row(
        evaluations,
        truth.moment_errors(points),
        truth.moment_errors(pooled),
        truth.distances(jax.tree.map(lambda leaf: leaf[:, -1], clouds)),
        points[:, -1],
        seconds,
        diverged,
    )


def _cell(values: np.ndarray) -> str:
    return f"{values.mean():.3g} ± {values.std(ddof=1) / np.sqrt(len(values)):.1g}"
