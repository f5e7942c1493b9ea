"""What a run leaves behind: particles, their history, what each step saw, and how it was made."""

import functools
import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from spos import checks
from spos.io import archive
from spos.io.arviz import arviz_object
from spos.io.html import Table
from spos.mesh.processes import Team, fetch
from spos.mesh.shards import mesh_of
from spos.names import leaf_name, parameters
from spos.plots import rich
from spos.plots.paths import bandwidth_figure, path_figure
from spos.plots.results import result_figure
from spos.types import Particles, PyTree

FORMAT = 1
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, repr=False)
class Result:
    """What a run leaves behind, also one that was interrupted: particles and how they were made.

    Attributes:
        particles: at the end of the run.
        info: maps each field of `spos.Info` to one value per step.
        history: the particles of every `history_every` steps, with a leading axis of records; None
            if not asked for.
        history_every: the number of steps from one record to the next.
        settings: of the sampler and the run, as plain data.
        versions: of everything that can change a bit of the result.
        num_steps: how many were taken.
        seconds: how long they took.
        interrupted: was it ended by Ctrl-C?
        score_memory: what the target's scores remember at the end; not saved.
    """

    particles: Particles
    info: Mapping[str, np.ndarray]
    history: Particles | None
    history_every: int | None
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    num_steps: int
    seconds: float
    interrupted: bool = False
    score_memory: PyTree = ()  # of the target's estimator at the end; not saved

    def summary(self) -> "Summary":
        """Mean, standard deviation, quantiles and range of every parameter over the particles.

        Returns:
            The table.
        """
        return self._summary(self.particles, "particles")

    def _summary(self, cloud: Particles, word: str) -> "Summary":
        names, values = parameters(jax.tree.map(fetch, cloud))
        count = len(values)
        columns = {"mean": values.mean(0), "sd": values.std(0, ddof=1 if count > 1 else 0)}
        for q, row in zip(QUANTILES, np.quantile(values, QUANTILES, axis=0), strict=True):
            columns[f"{q:.0%}"] = row
        columns["range"] = np.ptp(values, axis=0)
        spread = np.sqrt(2.0 * values.var(0).sum())
        title = (
            f"{count} {word}, {len(names)} parameter{'s' * (len(names) != 1)} after "
            f"{self.num_steps} steps of "
            f"{self.settings.get('algorithm', '?')} in {self.seconds:.1f} s"
            f"{' (interrupted)' if self.interrupted else ''}; "
            f"root mean square distance of two {word} {spread:.4g}"
        )
        return Summary(names, columns, title)

    def plot(self, truth: PyTree = None) -> Any:
        """The marginals of the first parameters, up to four in pairs, and how the run went.

        Args:
            truth: a particle that is known to be true, to be marked.

        Returns:
            A figure of matplotlib.
        """
        return result_figure(self, truth)

    def plot_path(self, columns: int = 6) -> Any:
        """A strip of the run: the cloud at several times, from its history.

        Args:
            columns: the number of clouds.

        Returns:
            A figure of matplotlib.
        """
        return path_figure(self.history, self.history_every, self._algorithm(), columns)

    def plot_bandwidth(self) -> Any:
        """The kernel's bandwidth over the steps, and among the distances of the last cloud.

        Returns:
            A figure of matplotlib.
        """
        return bandwidth_figure(self.particles, self.info, self._algorithm())

    def _algorithm(self) -> str:
        return str(self.settings.get("algorithm", "?"))

    def __repr__(self) -> str:
        shapes = jax.tree.map(np.shape, self.particles)
        kept = "" if self.history is None else " .history,"
        return (
            f"<Result: {self.num_steps:,} steps of {self._algorithm()} in {self.seconds:.1f} s"
            f"{', interrupted' * self.interrupted}\n"
            f" particles of shape {shapes}; see .particles,{kept} .summary(), .plot()>"
        )

    def _repr_html_(self) -> str:
        drawn = rich.picture(lambda: result_figure(self, shown=False), "The particles.")
        return rich.block_html([self.summary().html_table(), *drawn])

    def to_arviz(self) -> Any:
        """The draws for ArviZ.

        With a history each particle is a chain and each record a draw; without one, the particles
        are the draws of a single chain.

        Returns:
            An `InferenceData` where ArviZ before version 1 is installed, as PyMC needs it; else a
            DataTree, which ArviZ 1 and arviz-base take.
        """
        recorded = self.history is not None
        source = jax.tree_util.tree_leaves_with_path(self.history if recorded else self.particles)
        posterior = by_chain({leaf_name(path): leaf for path, leaf in source}, recorded)
        groups = {"posterior": posterior, "sample_stats": self.sample_stats()}
        return arviz_object(groups, version=self.versions["spos"])

    def sample_stats(self) -> dict[str, np.ndarray]:
        """What the recorded steps saw, with axes of chains and draws.

        A step sees all particles at once.

        Returns:
            The fields of `spos.Info`; empty without a history.
        """
        if self.history is None or self.history_every is None:
            return {}
        records, chains = jax.tree.leaves(self.history)[0].shape[:2]
        seen = slice(self.history_every - 1, None, self.history_every)
        return {
            name: np.broadcast_to(np.asarray(values)[seen], (chains, records))
            for name, values in self.info.items()
        }

    def save(self, path: Any) -> Path:
        """Write everything to one `.npz` file, atomically; read it with `spos.load`.

        Args:
            path: of the file.

        Returns:
            The path.

        Example:
            >>> sampler = spos.sgld(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
            >>> path = spos.sample(sampler, jnp.ones((4, 2)), num_steps=3).save("result.npz")
            >>> spos.load(path).num_steps
            3
        """
        path = checks.as_path("path", path)
        packed = self._packed()
        if Team(mesh_of(self.particles)).leads:
            archive.write(path, *packed)
        return path

    def _packed(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        particles, particle_structure = archive.pack(
            jax.tree.map(fetch, self.particles), "particles"
        )
        history, history_structure = archive.pack(jax.tree.map(fetch, self.history), "history")
        info = {f"info {name}": values for name, values in self.info.items()}
        meta = {
            "format": FORMAT,
            "particles": particle_structure,
            "history": history_structure,
            "history_every": self.history_every,
            "settings": self.settings,
            "versions": self.versions,
            "num_steps": self.num_steps,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
        }
        return {**particles, **history, **info}, meta


def by_chain(draws: Mapping[str, Any], recorded: bool) -> dict[str, np.ndarray]:
    """Axes of chains and draws for ArviZ: from records and particles, or from particles alone."""
    arrays = {name: fetch(values) for name, values in draws.items()}
    return {name: a.swapaxes(0, 1) if recorded else a[None] for name, a in arrays.items()}


def load(path: Any) -> Result:
    """The result that `Result.save` wrote, with NumPy arrays in place of JAX ones."""
    arrays, meta = archive.read(checks.as_path("path", path))
    if meta.get("format") != FORMAT:
        raise ValueError(
            f"{path}: must be a saved Result or Fit, got another file of spos, or of another "
            f"version: format {meta.get('format')} is not {FORMAT}. SPOSRegressor.load and "
            "SPOSClassifier.load read estimators, spos.rl.load policies"
        )
    with archive.making_sense(path):
        return Result(**unpacked(arrays, meta))


def unpacked(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a saved result."""
    plain = ("history_every", "settings", "versions", "num_steps", "seconds", "interrupted")
    return {
        "particles": archive.unpack(arrays, meta["particles"]),
        "info": {
            name.removeprefix("info "): values
            for name, values in arrays.items()
            if name.startswith("info ")
        },
        "history": archive.unpack(arrays, meta["history"]),
        **{name: meta[name] for name in plain},
    }


@dataclass(frozen=True)
class Summary:
    """A table with one row per parameter; `columns` maps a heading to its values."""

    names: list[str]
    columns: Mapping[str, np.ndarray]
    title: str

    def __str__(self, most: int = 20) -> str:
        width = max([len(name) for name in self.names[:most]] + [9])
        lines = [self.title, " " * width + "".join(f"{head:>11}" for head in self.columns)]
        for row, name in enumerate(self.names[:most]):
            numbers = "".join(f"{values[row]:11.4g}" for values in self.columns.values())
            lines.append(f"{name:<{width}}{numbers}")
        if len(self.names) > most:
            lines.append(f"… and {len(self.names) - most} more parameters")
        return "\n".join(lines)

    __repr__ = __str__

    def html_table(self) -> Table:
        """The same for a page."""
        rows = [
            [name, *(f"{values[row]:.4g}" for values in self.columns.values())]
            for row, name in enumerate(self.names)
        ]
        return rich.cut(["", *self.columns], rows, self.title)

    def _repr_html_(self) -> str:
        return rich.block_html([self.html_table()])


def versions() -> dict[str, str]:
    """Of everything that can change a bit of the result."""
    return dict(_versions())


@functools.cache
def _versions() -> dict[str, str]:  # which are read from files
    found = {name: importlib.metadata.version(name) for name in ("spos", "jax", "jaxlib", "numpy")}
    return {**found, "python": platform.python_version(), "machine": platform.machine()}
