"""How far one particle's law is from the target: the Wasserstein bounds of the convex case.

Three gaps lie between the chain and the target p, with one term for each:

    chain ··numerical·· exact particles ··particles·· mean-field flow ··relaxation·· p

    particles     c1 / (sqrt(M) (1/β - c2))      c1 = 2 (H_∇K + H_θ)/m_F
                                                 c2 = (5/2 H_θ L_K + L_F + 2 L_∇K)/m_F
    relaxation    c3 exp(-2 λ1 τ)                λ1 = m_F/β - L_F - 2 L_K
    numerical     see `step_error`

The total after T steps has τ = T h with a fixed step, and τ = h0 (1 + 1/2 + … + 1/T) with falling
ones: relaxation then goes only as a power of T. H_θ is that of `drift`, γ0 that of `Run`.

c3 comes from the proof: it is the distance between start and target, sqrt(E‖θ_0 - θ_∞‖²), and with
E‖θ_0‖² ≤ γ0 and E‖θ_∞‖² ≤ d/(m' β) no more than sqrt(γ0) + sqrt(d/(m' β)).

The proofs use only the size of ∇K, so all this is indifferent to the sign of the repulsion, which
the paper prints as an attraction.

Where the proofs ask for trust:

- Relaxation. The proof contracts the squared distance at 2 λ1, hence the distance at λ1. The 2 is
  as printed, and too fast: a Gaussian under a wide kernel relaxes at m_F (1/β + 1), which 2 λ1
  overtakes for small β. Ask `relaxation` at τ/2 for the sound number. Its L_K also stands where a
  Lipschitz constant of ∇K is meant.
- Particles. The proof starts flow and limit independently of each other, so at τ = 0 their distance
  does not shrink with M; it asks for a "small enough" γ0. It also drives them by independent noise
  without counting its Itô correction, and makes all limiting particles one. The M^(-1/2) is the
  known rate for such systems; the constants are the paper's.

Reference: section 4 of the SPOS paper (AISTATS 2020) and its appendix.
"""

import math
from typing import NamedTuple

import numpy as np

from spos import checks
from spos.theory.arguments import Run, beta_weight, not_negative
from spos.theory.bound import Bound
from spos.theory.constants import Constants, speaks_of_constants
from spos.theory.drift import beta_below, dissipation, lacks_dissipation, typical_score
from spos.theory.step_error import decreasing_step_error, fixed_step_error


class ParticleConstants(NamedTuple):
    """The constants of the particle term.

    Attributes:
        c1: scales the term.
        c2: what 1/β has to exceed.
    """

    c1: float
    c2: float


@speaks_of_constants
def particle_constants(constants: Constants, *, beta: float, gamma0: float) -> ParticleConstants:
    """c1 and c2 from the proof; both depend on β, through H_θ.

    Args:
        constants: of the target and the kernel.
        beta: 1/β is the weight of the Langevin part; infinity is SVGD.
        gamma0: γ0 = log E exp(‖θ‖²) over the start, measured from the mode; see `Run`.

    Returns:
        The constants.

    Raises:
        ValueError: where m' ≤ 0 leaves them undefined.
    """
    score = float(typical_score(constants, beta=beta, gamma0=gamma0))
    opposing = 2.5 * score * constants.kernel_lipschitz
    opposing += constants.lipschitz + 2 * constants.kernel_gradient_lipschitz
    return ParticleConstants(
        c1=2 * (constants.kernel_gradient_bound + score) / constants.convexity,
        c2=opposing / constants.convexity,
    )


@speaks_of_constants
def particle_error(
    constants: Constants, *, beta: float, num_particles: int, gamma0: float
) -> Bound:
    """W1 between one of M exact particles and the mean-field flow, at any time.

    It needs m' > 0, for H_θ to exist, and the stronger 1/β > c2.

    Args:
        constants: of the target and the kernel.
        beta: 1/β is the weight of the Langevin part; infinity is SVGD.
        num_particles: M.
        gamma0: γ0 = log E exp(‖θ‖²) over the start, measured from the mode; see `Run`.

    Returns:
        The bound, or why it does not apply.
    """
    checks.whole("num_particles", num_particles)
    gamma0 = not_negative("gamma0", gamma0)
    if why := lacks_dissipation(constants, beta):
        return Bound.fails(why)
    c1, c2 = particle_constants(constants, beta=beta, gamma0=gamma0)
    if not 1 / beta > c2:
        return Bound.fails(f"1/beta = {1 / beta:.4g} must exceed c2 = {c2:.4g}")
    return Bound.holds(particles=c1 / (math.sqrt(num_particles) * (1 / beta - c2)))


@speaks_of_constants
def relaxation_rate(constants: Constants, beta: float) -> float:
    """λ1, half the printed rate at which the mean-field flow nears the target.

    Args:
        constants: of the target and the kernel.
        beta: 1/β is the weight of the Langevin part; infinity is SVGD.

    Returns:
        The rate.
    """
    return constants.convexity * beta_weight(beta) - _relaxation_opponent(constants)


@speaks_of_constants
def start_distance(constants: Constants, *, beta: float, gamma0: float) -> Bound:
    """c3, a bound on the distance between start and target; needs m' > 0.

    Args:
        constants: of the target and the kernel.
        beta: 1/β is the weight of the Langevin part; infinity is SVGD.
        gamma0: γ0 = log E exp(‖θ‖²) over the start, measured from the mode; see `Run`.

    Returns:
        The bound, or why it does not apply.
    """
    gamma0 = not_negative("gamma0", gamma0)
    if why := lacks_dissipation(constants, beta):
        return Bound.fails(why)
    target = constants.dim / (dissipation(constants, beta) * beta)
    return Bound.holds(start=math.sqrt(gamma0), target=math.sqrt(target))


@speaks_of_constants
def relaxation(constants: Constants, *, beta: float, tau: float, c3: float) -> Bound:
    """W1 between the mean-field flow at time tau and the target, as printed; needs λ1 > 0.

    Args:
        constants: of the target and the kernel.
        beta: 1/β is the weight of the Langevin part; infinity is SVGD.
        tau: the time.
        c3: the distance between start and target, known or from `start_distance`.

    Returns:
        The bound, or why it does not apply.
    """
    tau, c3 = not_negative("tau", tau), not_negative("c3", c3)
    rate = relaxation_rate(constants, beta)
    if rate <= 0:
        return Bound.fails(
            f"lambda1 = m_F/beta - L_F - 2 L_K = {rate:.4g} must be positive, with "
            f"m_F = {constants.convexity:.4g}, beta = {beta:.4g}, "
            f"L_F = {constants.lipschitz:.4g}, L_K = {constants.kernel_lipschitz:.4g}; "
            f"{beta_below(constants.convexity, _relaxation_opponent(constants))}"
        )
    return Bound.holds(relaxation=c3 * math.exp(-2 * rate * tau))


@speaks_of_constants
def fixed_step_total(constants: Constants, run: Run, *, c4: float) -> Bound:
    """W1 between one particle after T equal steps and the target.

    Terms: `particles` falls as M^(-1/2), `relaxation` falls with time, `numerical` grows as M and
    as the square root of T.

    Args:
        constants: of the target and the kernel.
        run: what is run.
        c4: turns relative entropy into a distance; 1 shows the shape of the bound.

    Returns:
        The bound, or why it does not apply.
    """
    error = fixed_step_error(constants, run, c4=c4)
    return _total(constants, run, run.num_steps * run.step_size, error)


@speaks_of_constants
def decreasing_step_total(constants: Constants, run: Run, *, c4: float) -> Bound:
    """W1 between one particle after T steps of length h0/(k+1) and the target.

    Terms: `particles` falls as M^(-1/2), `relaxation` as a power of T, and `numerical` grows as M
    but not with T.

    Args:
        constants: of the target and the kernel.
        run: what is run.
        c4: turns relative entropy into a distance; 1 shows the shape of the bound.

    Returns:
        The bound, or why it does not apply.
    """
    error = decreasing_step_error(constants, run, c4=c4)
    tau = run.step_size * float(np.sum(1 / np.arange(1, run.num_steps + 1)))
    return _total(constants, run, tau, error)


def _relaxation_opponent(constants: Constants) -> float:
    return constants.lipschitz + 2 * constants.kernel_lipschitz


def _total(constants: Constants, run: Run, tau: float, error: Bound) -> Bound:
    """The three terms together, for either kind of step."""
    distance = start_distance(constants, beta=run.beta, gamma0=run.gamma0)
    # Where m' ≤ 0 there is no c3; any will do to ask whether λ1 fails as well.
    relaxed = relaxation(constants, beta=run.beta, tau=tau, c3=distance.value or 0.0)
    return Bound.total(
        particles=particle_error(
            constants, beta=run.beta, num_particles=run.num_particles, gamma0=run.gamma0
        ),
        relaxation=relaxed if distance.applies or not relaxed.applies else distance,
        numerical=error,
    )
