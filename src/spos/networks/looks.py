"""Early stopping and averaging: what a training run looks at now and then.

Each look adds the present particles to a pool of the last K looks. The pool predicts as one
mixture, and the pool whose mixture predicts the validation set best is kept,

    score = Σ_n w_n log (1/S) Σ_s p(y_n | f_s(x_n)) / Σ_n w_n,      S = K M networks.

When the score has not risen for `patience` looks, the run ends. Without a validation set the pool
of the last looks is kept.
"""

from collections import deque

import jax
import numpy as np

from spos.networks import predict
from spos.networks.rows import Rows
from spos.targets.network import BayesianNetwork
from spos.types import Particles


class Looks:
    """The pool of a run, and its scores.

    Args:
        network: of the particles.
        average: K, the looks in a pool.
        validation: in the network's units, or None.
        patience: looks without a better score before the run ends; None never ends it.
    """

    def __init__(
        self,
        network: BayesianNetwork,
        average: int,
        validation: Rows | None = None,
        patience: int | None = None,
    ) -> None:
        self.network, self.validation, self.patience = network, validation, patience
        self.scores: list[float] = []
        self._particles: deque[Particles] = deque(maxlen=average)
        self._terms: deque[np.ndarray] = deque(maxlen=average)
        self._best: list[Particles] = []
        self._best_at = 0

    def see(self, particles: Particles) -> bool:
        """One look; should the run end?"""
        self._particles.append(jax.device_get(particles))
        if self.validation is None:
            return False
        x, y, weights = self.validation
        terms = predict.log_terms(self.network, particles, x, y)
        self._terms.append(np.asarray(terms, np.float64))
        mixed = predict.mixture(np.concatenate(self._terms))
        self.scores.append(float(np.average(mixed, weights=weights)))
        if not self._best or self.scores[-1] > self.scores[self._best_at]:
            self._best, self._best_at = list(self._particles), len(self.scores) - 1
        waited = len(self.scores) - 1 - self._best_at
        return self.patience is not None and waited >= self.patience

    def pool(self, last: Particles) -> Particles:
        """The networks to predict with, newest last; `last` if there was no look at all."""
        return pooled(self._best or list(self._particles) or [jax.device_get(last)])


def pooled(clouds: list[Particles]) -> Particles:
    """All particles of several clouds as one."""
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *clouds)
