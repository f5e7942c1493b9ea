"""Bayesian neural networks: any network, a likelihood of its outputs, a prior of its weights.

    log p(θ | data) = Σ_n w_n log p(y_n | f_θ(x_n)) + log p(θ) + const

A particle is a dict: `weights`, whatever the network's `init` gives, and what its `likelihood` and
its `prior` have to learn beside them. A new y has the average of the particles' distributions,

    p(y | x) = (1/M) Σ_i p(y | f_i(x)).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from spos import checks
from spos.targets.batches import BatchSchedule
from spos.targets.likelihoods import Likelihood
from spos.targets.posterior import Posterior, posterior
from spos.targets.priors import Prior, hierarchical
from spos.types import Particles, PyTree

FIRST_ROWS = 1000  # that a start looks at, to learn how large the noise is


@dataclass(frozen=True, eq=False)
class BayesianNetwork:
    """See `bnn`."""

    apply: Callable[..., jax.Array]
    init: Callable[[jax.Array], PyTree]
    likelihood: Likelihood
    prior: Prior

    def start(self, key: jax.Array, count: int, x: Any, y: Any) -> Particles:
        """`count` networks with weights of their own, and noise as large as their first errors."""
        x, y = (jnp.asarray(rows[:FIRST_ROWS]) for rows in (x, y))

        def one(key: jax.Array) -> PyTree:
            weights = self.init(key)
            noise = self.likelihood.init(self.apply(weights, x), y)
            return {"weights": weights, "likelihood": noise, "prior": self.prior.init(weights)}

        return jax.lax.map(one, jax.random.split(key, checks.whole("count", count)))

    def posterior(
        self,
        x: Any,
        y: Any,
        batch_size: int | BatchSchedule | None = None,
        weights: Any = None,
    ) -> Posterior:
        """The target for these rows; `weights` says how often each of them counts."""
        data = {"x": x, "y": y} | ({} if weights is None else {"weights": weights})
        return posterior(self._log_likelihood, self.log_prior, data, batch_size)

    def outputs(self, particles: Particles, x: Any) -> jax.Array:
        """What every network says of every row: (M, n, k)."""
        return jax.lax.map(lambda weights: self.apply(weights, x), particles["weights"])

    def log_predictive(self, particles: Particles, x: Any, y: Any) -> jax.Array:
        """log p(y | x) for every row."""
        terms = jax.vmap(self.likelihood.log_prob, (0, 0, None))(
            particles["likelihood"], self.outputs(particles, x), y
        )
        return jax.nn.logsumexp(terms, axis=0) - jnp.log(len(terms))

    def _log_likelihood(self, theta: PyTree, batch: PyTree) -> jax.Array:
        outputs = self.apply(theta["weights"], batch["x"])
        terms = self.likelihood.log_prob(theta["likelihood"], outputs, batch["y"])
        return terms * batch["weights"] if "weights" in batch else terms

    def log_prior(self, theta: PyTree) -> Any:
        """Of the weights, and of what the likelihood and the prior learn."""
        own = self.likelihood.log_prior(theta["likelihood"])
        return self.prior.log_prob(theta["prior"], theta["weights"]) + own


def bnn(
    apply: Callable[[PyTree, jax.Array], jax.Array],
    init: Callable[[jax.Array], PyTree],
    likelihood: Likelihood,
    prior: Prior | None = None,
) -> BayesianNetwork:
    """A Bayesian neural network from any pure network.

    `apply(weights, x)` turns rows (n, inputs) into outputs (n, k); `init(key)` draws the weights of
    one network, any pytree. `likelihood` is one of `spos.targets.likelihoods`, `prior` one of
    `spos.targets.priors`: by default Gaussian with a scale that is learnt.
    """
    checks.function("apply", apply)
    checks.function("init", init)
    if not isinstance(likelihood, Likelihood):
        raise TypeError(
            "likelihood must come from spos.targets.likelihoods, for example gaussian(), "
            f"got {likelihood!r}"
        )
    prior = hierarchical() if prior is None else prior
    if not isinstance(prior, Prior):
        raise TypeError(
            f"prior must come from spos.targets.priors, for example normal(), got {prior!r}"
        )
    return BayesianNetwork(apply, init, likelihood, prior)
