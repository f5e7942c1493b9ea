"""Early stopping and averaging: what a training run looks at now and then.

Each look adds the present particles to a pool of the last K looks. The pool predicts as one
mixture, and the pool whose mixture predicts the validation set best is kept,

    score = Σ_n w_n ℓ_n / Σ_n w_n,    ℓ_n = log (1/S) Σ_s p(y_n | f_s(x_n)),    S = K M networks.

While steps are large the score may fall for long before it rises, and a small validation set may
then praise networks that know nothing yet. So a run never ends in its first half, and networks of
that half are kept only if they are better than the best of the second by more than one standard
error of the differences ℓ_n - ℓ'_n. From there on, when the score has not risen for `patience`
looks, the run ends. Without a validation set the pool of the last looks is kept.
"""

from collections import deque
from typing import NamedTuple

import jax
import numpy as np

from spos.networks import predict
from spos.networks.rows import Rows
from spos.targets.network import BayesianNetwork
from spos.types import Particles


class Kept(NamedTuple):
    """A pool, the number of its look, and what it says of the rows of the validation set."""

    at: int
    score: float
    terms: np.ndarray
    clouds: list[Particles]


class Looks:
    """The pool of a run, and its scores.

    Args:
        network: of the particles.
        average: K, the looks in a pool.
        validation: in the network's units, or None.
        patience: looks without a better score before the run ends; None never ends it.
        first_half: so many looks are too early to end, or to be kept for a slightly better score.
    """

    def __init__(
        self,
        network: BayesianNetwork,
        average: int,
        validation: Rows | None = None,
        patience: int | None = None,
        first_half: int = 0,
    ) -> None:
        self.network, self.validation, self.patience = network, validation, patience
        self.first_half = first_half
        self.scores: list[float] = []
        self._particles: deque[Particles] = deque(maxlen=average)
        self._terms: deque[np.ndarray] = deque(maxlen=average)
        self._best: dict[bool, Kept] = {}  # of the first half, and of the second

    def see(self, particles: Particles) -> bool:
        """One look; should the run end?"""
        self._particles.append(jax.device_get(particles))
        if self.validation is None:
            return False
        x, y, weights = self.validation
        terms = predict.by_blocks(predict.log_terms, self.network, particles, x, y)
        self._terms.append(terms)
        mixed = predict.mixture(np.concatenate(self._terms))
        score = float(np.average(mixed, weights=weights))
        self.scores.append(score)
        late, at = len(self.scores) > self.first_half, len(self.scores) - 1
        if late not in self._best or score > self._best[late].score:
            self._best[late] = Kept(at, score, mixed, list(self._particles))
        waited = at - self._best[late].at
        return late and self.patience is not None and waited >= self.patience

    @property
    def best(self) -> Kept | None:
        """The pool that predicts the validation set best, if there is one."""
        early, late = self._best.get(False), self._best.get(True)
        if early is None or late is None:
            return early or late
        weights = None if self.validation is None else self.validation.weights
        return early if clearly_better(early.terms, late.terms, weights) else late

    def pool(self, last: Particles) -> Particles:
        """The networks to predict with, newest last; `last` if there was no look at all."""
        kept = self.best.clouds if self.best else list(self._particles)
        return pooled(kept or [jax.device_get(last)])


def clearly_better(terms: np.ndarray, others: np.ndarray, weights: np.ndarray | None) -> bool:
    """Are log-densities of the same rows larger on average, by more than one standard error?"""
    better = terms - others
    gain = np.average(better, weights=weights)
    error = np.sqrt(np.average((better - gain) ** 2, weights=weights) / len(better))
    return bool(gain > error)


def pooled(clouds: list[Particles]) -> Particles:
    """All particles of several clouds as one."""
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *clouds)
