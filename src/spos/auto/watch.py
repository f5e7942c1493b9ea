"""What a person or a program sees of a run that goes on, and what is said at its end."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spos.auto.verdict import Check, Verdict


class ConvergenceWarning(UserWarning):
    """The draws of `spos.fit` failed a check; `fit.report()` says which."""


@dataclass(frozen=True)
class FitProgress:
    """What the callback of `spos.fit` is given after every chunk of moves.

    Attributes:
        phase: "approach", or "round 1" and so on.
        evaluations: of the log-density with its gradient, so far.
        log_prob: the present log-density of each particle.
        acceptance: the share of its moves that each particle accepted in the last chunk.
        checks: those of the last finished round; none before the first has ended.

    Example:
        >>> seen = []
        >>> def stop_early(progress):
        ...     seen.append(progress.phase)
        ...     return progress.evaluations > 1_000_000
        >>> start = jnp.linspace(-1.0, 1.0, 20)[:, None]
        >>> fit = spos.fit(lambda x: -0.5 * (x**2).sum(), start=start, callback=stop_early)
        >>> seen[0]
        'approach'
    """

    phase: str
    evaluations: int
    log_prob: np.ndarray = field(repr=False)
    acceptance: np.ndarray = field(repr=False)
    checks: tuple[Check, ...] = field(default=(), repr=False)


Callback = Callable[[FitProgress], Any]


class Stopped(Exception):
    """The callback asked for the end of the run."""


def warn(verdict: Verdict, stacklevel: int) -> None:
    """Say why the draws are not to be trusted, on behalf of the caller so many levels up."""
    message = f"not converged. {'; '.join(verdict.reasons)}. See fit.report()"
    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)
