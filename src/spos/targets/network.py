"""Bayesian neural networks: any network, a likelihood of its outputs, a prior of its weights.

    log p(θ | data) = Σ_n w_n log p(y_n | f_θ(x_n)) + log p(θ) + const

A particle is a dict: `weights`, whatever the network's `init` gives, and what its `likelihood` and
its `prior` have to learn beside them. A new y has the average of the particles' distributions,

    p(y | x) = (1/M) Σ_i p(y | f_i(x)).
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from spos import checks
from spos.targets.batches import BatchSchedule
from spos.targets.layers import AnyNetwork, Dense, Network, network
from spos.targets.likelihoods import Likelihood
from spos.targets.posterior import Posterior, posterior
from spos.targets.priors import Prior, hierarchical
from spos.types import Particles, PyTree
from spos.values import Value, value

FIRST_ROWS = 1000  # that a start looks at, to learn how large the noise is


@value
class BayesianNetwork(Value):
    """A network, what its outputs mean, and what its weights are expected to be; see `bnn`.

    Attributes:
        network: with `init` and `apply`.
        likelihood: one of `spos.targets.likelihoods`.
        prior: one of `spos.targets.priors`.
    """

    network: AnyNetwork
    likelihood: Likelihood
    prior: Prior

    def start(self, key: jax.Array, num_particles: int, x: Any, y: Any) -> Particles:
        """Networks with weights of their own, and noise as large as their first errors.

        Args:
            key: of the first weights.
            num_particles: how many networks.
            x: rows that tell how large the first errors are.
            y: what was observed there.

        Returns:
            The particles, dicts of `weights`, `likelihood` and `prior`.
        """
        x, y = (jnp.asarray(rows[:FIRST_ROWS]) for rows in (x, y))

        def one(key: jax.Array) -> PyTree:
            weights = self.network.init(key)
            noise = self.likelihood.init(self.network.apply(weights, x), y)
            return {"weights": weights, "likelihood": noise, "prior": self.prior.init(weights)}

        return jax.lax.map(one, jax.random.split(key, checks.whole("num_particles", num_particles)))

    def posterior(
        self,
        x: Any,
        y: Any,
        batch_size: int | BatchSchedule | None = None,
        weights: Any = None,
    ) -> Posterior:
        """The target for these rows.

        Args:
            x: inputs, (n, inputs).
            y: what was observed, n numbers or classes.
            batch_size: as in `spos.posterior`.
            weights: how often each row counts; once by default.

        Returns:
            The posterior, of the particles that `start` gives.
        """
        data = {"x": x, "y": y} | ({} if weights is None else {"weights": weights})
        # as partial functions of this value, whose numbers are then leaves of the target
        likelihood = jax.tree_util.Partial(BayesianNetwork.log_likelihood, self)
        prior = jax.tree_util.Partial(BayesianNetwork.log_prior, self)
        return posterior(likelihood, prior, data, batch_size)

    def outputs(self, particles: Particles, x: Any) -> jax.Array:
        """What every network says of every row.

        Args:
            particles: networks, such as `start` gives.
            x: inputs, (n, inputs).

        Returns:
            An array (M, n, k).
        """
        return jax.lax.map(lambda theta: self.network.apply(theta, x), particles["weights"])

    def log_terms(self, particles: Particles, x: Any, y: Any) -> jax.Array:
        """log p(y | x) by every network.

        Args:
            particles: networks, such as `start` gives.
            x: inputs, (n, inputs).
            y: what was observed, n numbers or classes.

        Returns:
            An array (M, n).
        """
        terms = jax.vmap(self.likelihood.log_prob, (0, 0, None))
        return terms(particles["likelihood"], self.outputs(particles, x), jnp.asarray(y))

    def log_predictive(self, particles: Particles, x: Any, y: Any) -> jax.Array:
        """log p(y | x) by all networks together, for every row.

        Args:
            particles: networks, such as `start` gives.
            x: inputs, (n, inputs).
            y: what was observed, n numbers or classes.

        Returns:
            n numbers.
        """
        terms = self.log_terms(particles, x, y)
        return jax.nn.logsumexp(terms, axis=0) - jnp.log(len(terms))

    def moments(self, particles: Particles, x: Any) -> tuple[jax.Array, jax.Array]:
        """Mean and variance of y by every network.

        Args:
            particles: networks, such as `start` gives.
            x: inputs, (n, inputs).

        Returns:
            Two arrays (M, n).
        """
        outputs = self.outputs(particles, x)
        return jax.vmap(self.likelihood.moments)(particles["likelihood"], outputs)

    def log_likelihood(self, theta: PyTree, batch: PyTree) -> jax.Array:
        """log p(y | x) of one network, for every row of a batch.

        Args:
            theta: one particle.
            batch: rows `x` and `y`, and perhaps `weights`.

        Returns:
            A number for each row.
        """
        outputs = self.network.apply(theta["weights"], batch["x"])
        terms = self.likelihood.log_prob(theta["likelihood"], outputs, batch["y"])
        return terms * batch["weights"] if "weights" in batch else terms

    def log_prior(self, theta: PyTree) -> Any:
        """The log-density of the weights, and of what the likelihood and the prior learn.

        Args:
            theta: one particle.

        Returns:
            One number.
        """
        own = self.likelihood.log_prior(theta["likelihood"])
        return self.prior.log_prob(theta["prior"], theta["weights"]) + own


def bnn(
    apply: Callable[[PyTree, jax.Array], jax.Array] | AnyNetwork,
    init: Callable[[jax.Array], PyTree] | None = None,
    likelihood: Likelihood | None = None,
    prior: Prior | None = None,
) -> BayesianNetwork:
    """A Bayesian neural network from any pure network.

    Args:
        apply: `apply(weights, x)` turns rows (n, inputs) into outputs (n, k). Or a network such as
            `spos.targets.relu_network` gives, without `init`.
        init: `init(key)` draws the weights of one network, any pytree.
        likelihood: one of `spos.targets.likelihoods`.
        prior: one of `spos.targets.priors`, by default Gaussian with a scale that is learnt.

    Returns:
        The Bayesian network, with `start` and `posterior`.

    Example:
        >>> x = np.linspace(-1.0, 1.0, 30, dtype=np.float32)[:, None]
        >>> y = np.sin(3.0 * x[:, 0])
        >>> network = spos.targets.relu_network(1, 1, [20])
        >>> net = spos.targets.bnn(network, likelihood=spos.targets.likelihoods.gaussian())
        >>> particles = net.start(jax.random.key(0), 10, x, y)
        >>> sampler = spos.spos(net.posterior(x, y), 1e-3, preconditioner=spos.rmsprop())
        >>> result = spos.sample(sampler, particles, num_steps=20)
        >>> net.outputs(result.particles, x).shape
        (10, 30, 1)
    """
    if isinstance(apply, Network | Dense):
        if init is not None:
            raise ValueError("init must be left out when apply is a whole network")
        whole: AnyNetwork = apply
    else:
        checks.function("apply", apply)
        whole = network(checks.function("init", init), apply)
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
    return BayesianNetwork(whole, likelihood, prior)
