"""How strongly the whole particle system is pulled home, and the moments that pull keeps.

Stack the M particles into one vector Θ of length Md. It feels one drift F_Θ, for which

    ⟨F_Θ(Θ), Θ⟩ ≥ m' ‖Θ‖²         m' = m_F/β - L_F - 4/η²
    ‖F_Θ(Θ)‖²   ≤ L' ‖Θ‖²         L' = 3 (L_F²/β² + L_F² + 16/η⁴)

The Langevin part pulls with m_F/β; the kernel terms may push back with at most L_F + 4/η². While
m' > 0 and the step obeys h ≤ min(1, m'/(3 L')), second moments stay bounded for ever:

    E‖Θ_k‖² ≤ M γ0 + max(1, 1/m') 2Md/β          the numerical chain
    E‖θ_τ‖² ≤ γ0 + d/(m' β)                      one exact particle, of the flow or its limit
    H_θ = L_F sqrt(γ0 + d/(m' β))                hence the size of its score

with γ0 as in `Run`. The bound on the chain takes the gradient of every single datum to vanish at
the mode, which in general only their sum does.

Reference: the appendix on uniform bounds of the SPOS paper (AISTATS 2020). A sister lemma there
states L' without its 3; it belongs to (a + b + c)² ≤ 3 (a² + b² + c²), and is kept here throughout.
"""

import math

from spos import checks
from spos.theory.arguments import beta_weight, not_negative
from spos.theory.bound import Bound
from spos.theory.constants import Constants, speaks_of_constants


def interaction_strength(constants: Constants) -> float:
    """L_F + 4/η², the most the kernel terms can add to or take from the drift per unit length."""
    return constants.lipschitz + 2 * constants.kernel_gradient_lipschitz


@speaks_of_constants
def dissipation(constants: Constants, beta: float) -> float:
    """m', the net pull towards the mode; the theory of the convex case needs it positive.

    Args:
        constants: of the target and the kernel.
        beta: 1/β is the weight of the Langevin part; infinity is SVGD.

    Returns:
        m'.
    """
    return constants.convexity * beta_weight(beta) - interaction_strength(constants)


@speaks_of_constants
def squared_growth(constants: Constants, beta: float) -> float:
    """L', the square of how fast the drift of all particles grows with their distance.

    Args:
        constants: of the target and the kernel.
        beta: 1/β is the weight of the Langevin part; infinity is SVGD.

    Returns:
        L'.
    """
    langevin = constants.lipschitz * beta_weight(beta)
    repulsion = 2 * constants.kernel_gradient_lipschitz
    return 3 * (langevin**2 + constants.lipschitz**2 + repulsion**2)


def beta_below(strength: float, opposing: float) -> str:
    """The advice that ends a complaint: the β that make strength/β exceed what opposes it."""
    if strength <= 0:
        return "no beta helps a target that is not strongly convex"
    return f"it is for beta < {strength / opposing:.4g}"


def lacks_dissipation(constants: Constants, beta: float) -> str:
    """Why m' is not positive, or nothing where it is."""
    pull = dissipation(constants, beta)
    if pull > 0:
        return ""
    return (
        f"m' = m_F/beta - L_F - 4/eta^2 = {pull:.4g} must be positive, with "
        f"m_F = {constants.convexity:.4g}, beta = {beta:.4g}, L_F = {constants.lipschitz:.4g}, "
        f"eta^2 = {constants.bandwidth:.4g}; "
        f"{beta_below(constants.convexity, interaction_strength(constants))}"
    )


def lacks_stability(constants: Constants, beta: float, step_size: float) -> str:
    """Why the numerical chain may run away, or nothing where it stays."""
    if why := lacks_dissipation(constants, beta):
        return why
    pull, growth = dissipation(constants, beta), squared_growth(constants, beta)
    largest = min(1.0, pull / (3 * growth))
    if step_size <= largest:
        return ""
    return (
        f"step_size = {step_size:.4g} must be at most min(1, m'/(3 L')) = {largest:.4g}, with "
        f"m' = {pull:.4g} and L' = {growth:.4g}"
    )


@speaks_of_constants
def typical_score(constants: Constants, *, beta: float, gamma0: float) -> Bound:
    """H_θ, a bound on the root mean square score of a particle at any time; needs m' > 0.

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
    moment = gamma0 + constants.dim / (dissipation(constants, beta) * beta)
    return Bound.holds(score=constants.lipschitz * math.sqrt(moment))


def noise_moment(constants: Constants, beta: float) -> float:
    """max(1, 1/m') 2d/β, what noise adds to one particle's second moment; for m' > 0 only."""
    return max(1.0, 1 / dissipation(constants, beta)) * 2 * constants.dim / beta


@speaks_of_constants
def second_moment(
    constants: Constants, *, beta: float, num_particles: int, gamma0: float, step_size: float
) -> Bound:
    """E‖Θ_k‖², summed over all particles, at every step k of the numerical chain.

    Args:
        constants: of the target and the kernel.
        beta: 1/β is the weight of the Langevin part; infinity is SVGD.
        num_particles: M.
        gamma0: γ0 = log E exp(‖θ‖²) over the start, measured from the mode; see `Run`.
        step_size: the fixed step, or the first one of a decreasing schedule.

    Returns:
        The bound, or why it does not apply.
    """
    checks.whole("num_particles", num_particles)
    checks.positive("step_size", step_size)
    gamma0 = not_negative("gamma0", gamma0)
    if why := lacks_stability(constants, beta, step_size):
        return Bound.fails(why)
    return Bound.holds(
        start=num_particles * gamma0, noise=num_particles * noise_moment(constants, beta)
    )
