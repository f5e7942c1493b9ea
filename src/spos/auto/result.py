"""What an automatic run leaves behind: draws, and a verdict on them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from spos import checks, result
from spos.auto import tails
from spos.auto.bend import Bend
from spos.auto.named_draws import NamedDraws
from spos.auto.named_draws import by_groups as by_groups
from spos.auto.verdict import Verdict
from spos.io import archive
from spos.plots import rich
from spos.plots.checks import verdict_figure
from spos.plots.results import result_figure
from spos.result import Result, Summary
from spos.types import PathLike, PyTree

FORMAT, FORMER = "spos fit 2", "spos fit 1"  # whose bends had no tails
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
class Fit(NamedDraws):
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
        model: the `spos.Model` whose parameters were drawn; not saved, since no file holds code.
        data: the observations and constants of a model that was saved.
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

    verdict: Verdict
    evaluations: int
    adapted: Adapted

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

    def plot(self, truth: PyTree = None) -> Any:
        """The marginals of the first parameters, up to four in pairs, in the model's units.

        Args:
            truth: parameters that are known to be true, like one draw, to be marked.

        Returns:
            A matplotlib figure, with at most 1000 of the draws, taken evenly.
        """
        return self._drawn(truth, shown=True)

    def plot_verdict(self) -> Any:
        """How near every check came to its limit.

        Returns:
            A figure of matplotlib.
        """
        head = "Converged" if self.converged else "NOT converged"
        return verdict_figure(self.verdict.checks, head)

    def _repr_html_(self) -> str:
        head = "Converged." if self.converged else "NOT converged: do not trust these draws."
        drawn = rich.picture(lambda: self._drawn(None, shown=False), "The draws.")
        return rich.block_html([rich.Text(head), self.summary().html_table(), *drawn])

    def _drawn(self, truth: PyTree, *, shown: bool) -> Any:
        count = len(next(iter(self._leaves().values())))
        rows = np.unique(np.linspace(0, count - 1, min(count, MOST_DRAWN)).astype(int))
        some = replace(self, particles=jax.tree.map(lambda x: x[rows], self.draws))
        figure = result_figure(some, truth, shown=shown)
        verdict = "converged" if self.converged else "NOT converged"
        part = f", {len(rows):,} shown" if len(rows) < count else ""
        figure.suptitle(f"{count:,} draws, {verdict}{part}", x=0.01, ha="left", fontsize=11)
        return figure

    def save(self, path: PathLike) -> Path:
        """Write everything to one `.npz` file, atomically; read it with `spos.load`.

        Args:
            path: of the file.

        Returns:
            The path.
        """
        archive.save_fields(Path(path), FORMAT, vars(self) | self._saved_words(), SAVED)
        return Path(path)


SAVED = archive.fields_of(Fit, without=["model", "score_memory"])


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
    place = checks.as_path("path", path)
    arrays, meta = archive.read(place)
    if meta.get("format") not in (FORMAT, FORMER):
        return result.load(place)
    with archive.making_sense(place):
        bend = meta["adapted"].get("dict", {}).get("bend", {}).get("dict")
        if meta["format"] == FORMER and bend is not None:
            size = len(arrays[bend["centre"]["leaf"]])
            more, bend["tails"] = archive.pack(tails.none(size), "tails")
            arrays = {**arrays, **more}
        return Fit(**archive.unpack_fields(arrays, meta, SAVED))
