"""SGLD: stochastic gradient Langevin dynamics, one independent chain per particle.

    θ_i += (h/β) s_i + sqrt(2h/β) ξ_i

Only h/β matters, and β = 1 is the usual form; β is kept so that SGLD is what SPOS becomes when its
kernel is taken away. With a minibatch all chains of a step share the batch. The step leaves a bias
of order h: on a standard normal the variance is 1 / (1 - h/2β) instead of 1.

Reference: Welling and Teh, ICML 2011.
"""

import jax

from spos import checks
from spos.dynamics.moves import Drift, Langevin, Move, scaled
from spos.dynamics.preconditioners import Preconditioner
from spos.dynamics.sampler import Sampler, check_preconditioner, required
from spos.dynamics.schedules import StepSize
from spos.targets.target import TargetLike
from spos.types import Number, Particles, State
from spos.values import value


@value
class SGLD(Sampler):
    """The sampler of the module's text; see `sgld`."""

    beta: Number
    preconditioner: Preconditioner | None

    @property
    def noise(self) -> Number:
        return 1.0 / self.beta

    @property
    def move(self) -> Move:
        return Langevin(self.noise, self.preconditioner)

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(scaled(self.noise, scores))


def sgld(
    target: TargetLike,
    step_size: StepSize | None = None,
    beta: Number = 1.0,
    *,
    preconditioner: Preconditioner | None = None,
) -> SGLD:
    """Stochastic gradient Langevin dynamics (SGLD): each particle is an independent chain.

    A step of size h is::

        θ_i += (h/β) s_i + sqrt(2h/β) ξ_i

    with the scores s and standard normal ξ (Welling and Teh, ICML 2011).

    Args:
        target: a log-density of one particle, or a target such as `spos.posterior` gives.
        step_size: a number above 0, or a schedule (`spos.schedules`, optax).
        beta: only h/β matters.
        preconditioner: `spos.rmsprop(...)`, `spos.adagrad(...)`, `spos.adam(...)`,
            `spos.ensemble()` or None.

    Returns:
        The sampler.

    Example:
        >>> sampler = spos.sgld(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> spos.sample(sampler, jnp.ones((50, 2)), num_steps=20).num_steps
        20
    """
    beta = checks.positive("beta", beta)
    check_preconditioner(preconditioner)
    return SGLD.of(target, required(step_size), beta=beta, preconditioner=preconditioner)
