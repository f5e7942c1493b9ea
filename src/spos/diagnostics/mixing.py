"""Effective sample size and R-hat of a run, by ArviZ, with every particle as a chain.

The numbers are ArviZ's own (`arviz_stats`): rank-normalised R-hat, bulk and tail effective sample
size, and the Monte Carlo standard error of the mean. They ask whether the chains have forgotten
where they began, and what their averages are worth. They were made for chains that know nothing of
each other. Particles that interact, or share a minibatch, do: `Mixing.notes` says what each number
then means. None of them sees a bias that all particles share; `spos.diagnostics.bias` looks for it.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from spos import checks
from spos.auto.result import Fit, by_groups
from spos.names import parameters
from spos.result import Result, Summary

HIGHEST_R_HAT = 1.01
FEWEST_RECORDS = 4  # two for each half of a chain

ALONE = (
    "The particles do not interact: they are independent chains, as R-hat and the effective sample "
    "size suppose."
)
INTERACTING = (
    "The particles interact, so that they are not independent chains. A high R-hat still shows "
    "particles that keep to places of their own. A low one is weaker evidence than usual, since "
    "the cloud may wander as a whole; and where particles repel each other, averages are often "
    "better than the effective sample size says. Independent runs, as in spos.diagnostics.bias, "
    "give error bars that hold in any case."
)
SHARED_BATCH = (
    "All particles of a step share its minibatch. The error that it makes is common to all chains, "
    "and more particles do not average it away."
)
AT_REST = (
    "Some particles do not move at all. Without noise they come to rest, each at a place of its "
    "own, and neither R-hat nor the effective sample size says how good these places are."
)


@dataclass(frozen=True)
class Mixing:
    """Effective sample sizes and R-hat, one value per parameter.

    Attributes:
        names: of the parameters.
        ess_bulk: effective sample size in the bulk.
        ess_tail: effective sample size in the tails.
        r_hat: rank-normalised R-hat.
        mcse_mean: Monte Carlo standard error of the mean.
        notes: what the numbers mean for these particles.
        title: what was looked at.
    """

    names: list[str]
    ess_bulk: np.ndarray
    ess_tail: np.ndarray
    r_hat: np.ndarray
    mcse_mean: np.ndarray
    notes: list[str]
    title: str

    @property
    def flagged(self) -> list[str]:
        """The names of parameters whose R-hat is above 1.01 or unknown."""
        return [
            name
            for name, value in zip(self.names, self.r_hat, strict=True)
            if not value <= HIGHEST_R_HAT
        ]

    def __str__(self) -> str:
        columns = {
            name: getattr(self, name) for name in ("ess_bulk", "ess_tail", "r_hat", "mcse_mean")
        }
        count = len(self.flagged)
        verdict = f"{count} of {len(self.names)} parameters have an R-hat above {HIGHEST_R_HAT}"
        return "\n".join([str(Summary(self.names, columns, self.title)), verdict, *self.notes])

    __repr__ = __str__


def mixing(result: Result, *, burn_in: float | None = None) -> Mixing:
    """ESS, R-hat and the error of the mean over the history of a run.

    Args:
        result: of `spos.sample` with `history_every`, or of `spos.fit`. The particles of a fit are
            put into four groups, each a chain, as its own report does.
        burn_in: the share of the history that is left out at its beginning, in [0, 1). By default
            half of it, and nothing of a fit, whose history begins when all is learnt.

    Returns:
        One value per parameter of each, and what they mean; printed, it is a table.

    Raises:
        ValueError: if there is no history, or too little of it.

    Example:
        >>> start = jax.random.normal(jax.random.key(0), (20, 2))
        >>> sampler = spos.sgld(lambda x: -0.5 * (x**2).sum(), step_size=0.2)
        >>> result = spos.sample(sampler, start, num_steps=2000, history_every=10)
        >>> spos.diagnostics.mixing(result).flagged
        []
    """
    if not isinstance(result, Result):
        raise TypeError(f"result must come from spos.sample or spos.fit, got {result!r}")
    if result.history is None:
        raise ValueError("result has no history: run spos.sample(…, history_every=10) to keep one")
    fitted = isinstance(result, Fit)
    if burn_in is None:
        burn_in = 0.0 if fitted else 0.5
    checks.fraction("burn_in", burn_in)
    stats = _arviz_stats()
    records = jax.tree.leaves(result.history)[0].shape[0]
    kept = jax.tree.map(lambda leaf: leaf[int(burn_in * records) :], result.history)
    draws = records - int(burn_in * records)
    if draws < FEWEST_RECORDS:
        raise ValueError(
            f"result.history must have at least {FEWEST_RECORDS} records after the burn-in, got "
            f"{draws} of {records}: run longer, or use a smaller history_every="
        )
    names, _ = parameters(result.particles)
    columns = np.stack([parameters(record)[1] for record in _records(kept, draws)])
    count = columns.shape[1]
    if fitted:
        chains = np.moveaxis(by_groups(columns), -1, 0)
    else:
        chains = np.moveaxis(columns, 0, -1).swapaxes(0, 1)  # parameter, particle, record
    with np.errstate(divide="ignore", invalid="ignore"):  # of chains that stand still
        numbers = {
            "ess_bulk": stats.ess(chains, method="bulk"),
            "ess_tail": stats.ess(chains, method="tail", prob=(0.05, 0.95)),
            "r_hat": stats.rhat(chains, method="rank"),
            "mcse_mean": stats.mcse(chains, method="mean"),
        }
    title = f"{count} particles as chains of {draws} records, after {burn_in:.0%} burn-in"
    if fitted:
        title = f"{count} particles in {chains.shape[1]} groups, with {draws} records of each"
    return Mixing(names, **numbers, notes=_notes(result, chains), title=title)


def _notes(result: Result, chains: np.ndarray) -> list[str]:
    notes = [ALONE if result.settings.get("kernel") is None else INTERACTING]
    target = result.settings.get("target")
    if isinstance(target, dict) and "batch_size" in target:
        notes.append(SHARED_BATCH)
    if (np.ptp(chains, axis=-1) == 0).any():
        notes.append(AT_REST)
    return notes


def _records(history: Any, count: int) -> list[Any]:
    return [jax.tree.map(lambda leaf, n=n: leaf[n], history) for n in range(count)]


def _arviz_stats() -> Any:
    try:
        from arviz_stats.base import array_stats  # type: ignore[attr-defined]
    except ImportError as error:
        raise ImportError("mixing needs arviz-stats: pip install 'spos[arviz]'") from error
    return array_stats
