"""SGHMC: stochastic gradient Hamiltonian Monte Carlo, one independent chain per particle.

    v_i += sqrt(2h) s_i                              kick
    θ_i += sqrt(h/2) v_i                             half the way
    v_i ← (1 - f) v_i + sqrt(f(2 - f)) ξ_i           friction takes, noise gives back
    θ_i += sqrt(h/2) v_i                             the other half

Particles have momentum: they keep their direction for about 1/f steps and cross the distribution in
fewer steps than Langevin dynamics does. One step is a step of length sqrt(2h) in time, with unit
masses. The step size means what it does for `spos.sgld`: with f = 1 nothing is remembered but half
of the last noise, and

    θ_i += h s_i + sqrt(2h) (ξ_i + ξ'_i) / 2,        ξ' the noise of the step before.

The law is exact on a Gaussian. With precision λ, every h < 2/λ and every f, after a step

    Var θ = 1/λ,      Var v = 1,      Cov(θ, v) = sqrt(h/2),

where SGLD is off by order h; on other densities the error is of order h². Noise of variance V in
the score comes in with the kick and is not corrected for: it makes the variance

    Var θ = (1/λ) · (1 + h V (2 - f) / (f (2 - hλ))),

so that more friction stands more noise; `spos.control_variate`, `spos.svrg` and `spos.saga` make it
small at its source.

References: Chen, Fox and Guestrin, ICML 2014; the order of the four parts is that of Leimkuhler and
Matthews, 2013, begun at its kick so that a step needs one score.
"""

import jax

from spos import checks
from spos.dynamics.moves import Drift, Move, Underdamped
from spos.dynamics.sampler import Sampler, required
from spos.dynamics.schedules import StepSize
from spos.targets.target import TargetLike
from spos.types import Number, Particles, State
from spos.values import value


@value
class SGHMC(Sampler):
    """The sampler of the module's text; see `sghmc`."""

    friction: Number

    @property
    def noise(self) -> float:
        return 1.0

    @property
    def move(self) -> Move:
        return Underdamped(self.friction)

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(scores)


def sghmc(target: TargetLike, step_size: StepSize | None = None, friction: Number = 0.1) -> SGHMC:
    """Stochastic gradient Hamiltonian Monte Carlo (SGHMC): independent chains with momentum.

    A step of size h is::

        v_i += sqrt(2h) s_i                              kick
        θ_i += sqrt(h/2) v_i                             half the way
        v_i ← (1 - f) v_i + sqrt(f(2 - f)) ξ_i           friction takes, noise gives back
        θ_i += sqrt(h/2) v_i                             the other half

    with the scores s, velocities v, the friction f and standard normal ξ (Chen, Fox and Guestrin,
    ICML 2014).

    Args:
        target: a log-density of one particle, or a target such as `spos.posterior` gives.
        step_size: a number above 0, or a schedule (`spos.schedules`, optax).
        friction: the share of its velocity that a particle loses in a step, above 0, at most 1.

    Returns:
        The sampler.

    Example:
        >>> sampler = spos.sghmc(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> spos.sample(sampler, jnp.ones((50, 2)), num_steps=20).num_steps
        20
    """
    checks.positive("friction", friction)
    if not checks.is_traced(friction) and friction > 1:
        raise ValueError(f"friction must be at most 1, all of the velocity, got {friction!r}")
    return SGHMC.of(target, required(step_size), friction=friction)
