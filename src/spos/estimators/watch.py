"""What a fit looks at now and then: networks to keep, and whether to go on.

Each look adds the present particles to a pool of the last K looks. The pool predicts as one
mixture, and the pool whose mixture predicts the held-out rows best is kept,

    score = Σ_n w_n log (1/S) Σ_s p(y_n | f_s(x_n)) / Σ_n w_n,      S = K M networks.

When the score has not risen for `patience` looks, the run ends.
"""

from collections import deque
from typing import Any

import jax
import numpy as np
from scipy.special import logsumexp

from spos.estimators import programs
from spos.estimators.rows import Rows
from spos.targets.network import BayesianNetwork
from spos.types import Particles, State


class Watch:
    """The callback of a run; `held_out` are rows in the network's units, or None."""

    def __init__(
        self, network: BayesianNetwork, average: int, held_out: Rows | None, patience: int
    ) -> None:
        self.network, self.held_out, self.patience = network, held_out, patience
        self.scores: list[float] = []
        self._particles: deque[Particles] = deque(maxlen=average)
        self._terms: deque[np.ndarray] = deque(maxlen=average)
        self._best: list[Particles] = []
        self._best_at = 0

    def __call__(self, state: State, info: Any) -> bool:
        self._particles.append(jax.device_get(state.particles))
        if self.held_out is None:
            return False
        x, y, weights = self.held_out
        terms = programs.log_terms(self.network, state.particles, x, y)
        self._terms.append(np.asarray(terms, np.float64))
        self.scores.append(float(np.average(mixture(np.concatenate(self._terms)), weights=weights)))
        if not self._best or self.scores[-1] > self.scores[self._best_at]:
            self._best, self._best_at = list(self._particles), len(self.scores) - 1
        return len(self.scores) - 1 - self._best_at >= self.patience

    def pool(self, last: Particles) -> Particles:
        """The networks to predict with, newest last; `last` if there was no look at all."""
        return pooled(self._best or list(self._particles) or [jax.device_get(last)])


def mixture(terms: np.ndarray) -> np.ndarray:
    """The log-density of the mixture whose parts have log-densities `terms` (S, n)."""
    return logsumexp(terms, axis=0) - np.log(len(terms))


def pooled(clouds: list[Particles]) -> Particles:
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *clouds)
