"""What an automatic run leaves behind: draws, and a verdict on them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from spos import result
from spos.auto.bend import Bend
from spos.auto.verdict import Verdict
from spos.io import archive
from spos.io.figures import result_figure
from spos.names import leaf_name
from spos.result import Result, Summary, data_tree
from spos.types import Particles, PathLike, PyTree

FORMAT = "spos fit 1"
MOST_DRAWN = 1000  # points of a figure
MOST_NAMES = 6  # of parameters in one line


class Adapted(NamedTuple):
    """What a run has learnt about its target, for `warm_start`.

    Attributes:
        centre: of the coordinates in which the target looks like a standard normal.
        factor: their axes, one a column.
        log_step: the logarithm of the step.
        number: the round that the run ended with, which says how long one must be.
        jumps: whether it needed jumps between modes.
        local: whether its steps fitted the place.
        bend: from these coordinates to the parameters; None where they are the same.
    """

    centre: np.ndarray
    factor: np.ndarray
    log_step: float
    number: int
    jumps: bool
    local: bool = False
    bend: Bend | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Fit(Result):
    """What `spos.fit` returns: a run that chose its own steps and judged itself.

    `history` and `particles` are what the sampler saw, in unconstrained coordinates.

    Attributes:
        draws: the records of the last round pooled, with one leading axis: for a model in its own
            parameters, else like the particles.
        verdict: all checks, with what they found.
        evaluations: of the log-density with its gradient.
        adapted: the coordinates and the step at the end; `warm_start` begins with them.
        coords: labels of the model's axes.
        dims: names of the model's axes.
        predict: draws of what the model observes, given particles; not saved.
        info: the log-density and the acceptance of every record and particle.
        num_steps: the number of moves.
        particles: those at the end, in unconstrained coordinates.
        history: the records of the last round, in unconstrained coordinates.
        history_every: the number of moves from one record to the next.
        settings: how the run was made, as plain data.
        versions: of everything that can change a bit of the result.
        seconds: how long it took.
        interrupted: whether it was ended, by a person, a callback or a budget.
        score_memory: empty here.

    Example:
        >>> start = jax.random.normal(jax.random.key(0), (50, 2))
        >>> fit = spos.fit(lambda x: -0.5 * (x**2).sum(), start=start)
        >>> fit.converged
        True
        >>> fit.draws.shape[1]
        2
    """

    draws: PyTree
    verdict: Verdict
    evaluations: int
    adapted: Adapted
    coords: Mapping[str, Any] | None = None
    dims: Mapping[str, list[str]] | None = None
    predict: Callable[[Particles], Mapping[str, Any]] | None = None

    @property
    def converged(self) -> bool:
        """Did the draws pass every check?"""
        return self.verdict.converged

    def __repr__(self) -> str:
        shapes = self._in_order({name: leaf.shape[1:] for name, leaf in self._leaves().items()})
        shown = [f"{name}{list(s) if s else ''}" for name, s in list(shapes.items())[:MOST_NAMES]]
        more = f", … {len(shapes) - MOST_NAMES} more" if len(shapes) > MOST_NAMES else ""
        head = "converged" if self.converged else f"NOT converged: {self.verdict.reasons[0][:80]}"
        return (
            f"<Fit: {head}\n"
            f" {len(next(iter(self._leaves().values()))):,} draws of {', '.join(shown)}{more}\n"
            f" {self.evaluations:,} evaluations in {self.seconds:.1f} s; see .draws, .summary(), "
            ".report()>"
        )

    def report(self) -> str:
        """What was checked, and what to do where it failed, for people to read.

        Returns:
            Some lines of text.
        """
        return f"{self.summary().title}\n{self.verdict}"

    def summary(self) -> Summary:
        """Mean, standard deviation, quantiles and range of every parameter over the draws.

        Returns:
            A table, which `str` and `print` show.
        """
        return self._summary(self.draws, "draws")

    def plot(self) -> Any:
        """The marginals of the first parameters, in the model's units.

        Returns:
            A matplotlib figure, with at most 1000 of the draws, taken evenly.
        """
        count = len(next(iter(self._leaves().values())))
        rows = np.unique(np.linspace(0, count - 1, min(count, MOST_DRAWN)).astype(int))
        figure = result_figure(replace(self, particles=jax.tree.map(lambda x: x[rows], self.draws)))
        verdict = "converged" if self.converged else "NOT converged"
        shown = f", {len(rows):,} shown" if len(rows) < count else ""
        figure.suptitle(f"{count:,} draws, {verdict}{shown}", x=0.01, ha="left", fontsize=11)
        return figure

    def to_arviz(self) -> Any:
        """The draws for ArviZ, with the particles dealt to four chains.

        Returns:
            A DataTree with the groups `posterior`, `sample_stats` and, for a model that is not
            read from a file, `posterior_predictive`.
        """
        records = jax.tree.leaves(self.history)[0].shape[:2]
        named = {
            name: by_groups(leaf.reshape(*records, *leaf.shape[1:]))
            for name, leaf in self._leaves().items()
        }
        predicted = {} if self.predict is None else self.predict(self.history)
        return data_tree(
            self._in_order(named),
            sample_stats=self.sample_stats(),
            posterior_predictive={
                name: by_groups(np.asarray(values)) for name, values in predicted.items()
            },
            coords=self.coords,
            dims=self.dims,
            version=self.versions["spos"],
        )

    def sample_stats(self) -> dict[str, np.ndarray]:
        """What was seen of each draw, under ArviZ's names.

        Returns:
            The log-density and the acceptance, with axes of chains and draws.
        """
        return {
            "lp": by_groups(self.info["log_prob"]),
            "acceptance_rate": by_groups(self.info["acceptance"]),
        }

    def save(self, path: PathLike) -> Path:
        """Write everything to one `.npz` file, atomically; read it with `spos.load`.

        Args:
            path: of the file.

        Returns:
            The path.
        """
        archive.save_fields(Path(path), FORMAT, vars(self), SAVED)
        return Path(path)

    def _leaves(self) -> dict[str, np.ndarray]:
        leaves = jax.tree_util.tree_leaves_with_path(self.draws)
        return {leaf_name(path): np.asarray(leaf) for path, leaf in leaves}

    def _in_order(self, named: dict[str, Any]) -> dict[str, Any]:
        """The model's order, where a tree of JAX has its own."""
        if isinstance(self.draws, Mapping):
            return {name: named[name] for name in self.draws if name in named} | named
        return named


SAVED = archive.fields_of(Fit, without=["predict", "score_memory"])


def load(path: PathLike) -> Result:
    """Read what `Result.save` or `Fit.save` wrote.

    Args:
        path: of the file.

    Returns:
        A `Fit` where one was saved, else a `Result`, with NumPy arrays in place of JAX ones.

    Raises:
        FileNotFoundError: there is nothing of this name.
        ValueError: the file is damaged, or not a saved result.

    Example:
        >>> start = jnp.linspace(-1.0, 1.0, 20)[:, None]
        >>> fit = spos.fit(lambda x: -0.5 * (x**2).sum(), start=start)
        >>> spos.load(fit.save("fit.npz")).converged
        True
    """
    arrays, meta = archive.read(Path(path))
    if meta.get("format") != FORMAT:
        return result.load(path)
    with archive.making_sense(Path(path)):
        return Fit(**archive.unpack_fields(arrays, meta, SAVED))


def by_groups(records: np.ndarray) -> np.ndarray:
    """Records and particles as four chains (two if four do not divide the particles), each the
    paths of its particles one after the other."""
    n, count = records.shape[:2]
    groups = 4 if count % 4 == 0 else 2
    return np.swapaxes(records, 0, 1).reshape(groups, count // groups * n, *records.shape[2:])
