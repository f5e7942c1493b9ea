"""pSGLD: stochastic gradient Langevin dynamics with a preconditioner, one chain per particle.

    θ_i += h P s_i + sqrt(2h P) ξ_i

P is diagonal and made from the history of the particle's own score, the gradient of the whole
log-posterior: where scores are large, steps are small. Since rmsprop makes P about 1 / |s|, a
parameter moves by about h in a step, however many data there are.

Exact dynamics with a P that depends on θ would add h ∂P/∂θ to the drift. As usual, that term is
left out, and the law is then off by an amount that a smaller step does **not** cure: P must be
nearly constant while a chain crosses the distribution. On a standard normal the extremes are

    memory much longer than a crossing (1/(1 - decay) ≫ 1/h)    N(0, 1), as it should be
    no memory (decay = 0)            density ∝ (ε + |θ|) exp(-θ²/2), of variance 2 for a small ε

so that a small step asks for a decay close to 1. The history begins with the first scores of all
particles (`preconditioners.py`), so that none is thrown out by a score that happens to be small.

Reference: Li, Chen, Carlson and Carin, AAAI 2016, where P is made from the score divided by the
number of data N: their step is ours divided by N, and so is their ε.
"""

import jax

from spos.dynamics.moves import Drift, Langevin, Move
from spos.dynamics.preconditioners import Preconditioner, rmsprop
from spos.dynamics.sampler import Sampler, check_preconditioner, required
from spos.dynamics.schedules import StepSize
from spos.targets.target import TargetLike
from spos.types import Particles, State
from spos.values import value


@value
class PSGLD(Sampler):
    """The sampler of the module's text; see `psgld`."""

    preconditioner: Preconditioner

    @property
    def noise(self) -> float:
        return 1.0

    @property
    def move(self) -> Move:
        return Langevin(self.noise, self.preconditioner)

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(scores)


def psgld(
    target: TargetLike,
    step_size: StepSize | None = None,
    *,
    preconditioner: Preconditioner = rmsprop(0.99),  # noqa: B008 (immutable)
) -> PSGLD:
    """Preconditioned SGLD (pSGLD): independent chains whose steps fit the scale of each parameter.

    A step of size h is::

        θ_i += h P s_i + sqrt(2h P) ξ_i

    with the scores s, standard normal ξ, and a diagonal P from the recent scores of the particle
    (Li, Chen, Carlson and Carin, AAAI 2016).

    Args:
        target: a log-density of one particle, or a target such as `spos.posterior` gives.
        step_size: a number above 0, or a schedule (`spos.schedules`, optax).
        preconditioner: `spos.rmsprop(...)`, `spos.adagrad(...)`, `spos.adam(...)` or
            `spos.ensemble()`.

    Returns:
        The sampler.

    Example:
        >>> sampler = spos.psgld(lambda x: -0.5 * (x**2).sum(), step_size=0.01)
        >>> spos.sample(sampler, jnp.ones((50, 2)), num_steps=20).num_steps
        20
    """
    if preconditioner is None:
        raise ValueError("preconditioner must not be None: without one, use spos.sgld")
    check_preconditioner(preconditioner)
    return PSGLD.of(target, required(step_size), preconditioner=preconditioner)
