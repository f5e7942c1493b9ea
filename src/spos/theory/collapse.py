"""How far apart particles can stay: bounds on the expected particle distance.

    EPD(τ) = sqrt( Σ_ij E‖θ_i(τ) - θ_j(τ)‖² )

    SVGD    EPD ≤ C0 exp(-2λτ)                       λ = m_K - H_F L_K
    SPOS    EPD ≤ C1 exp(-2λτ) + 4 sqrt(d/β) M/λ     λ = m_F/β + m_K - H_F L_K
            C0 = EPD(0),   C1 = M(M-1)Γ - 4 sqrt(d/β) M/λ,   Γ = E‖θ - θ'‖² at the start

Both speak of the flow as the SPOS paper (AISTATS 2020) prints it, with the true gradient +∇K added
to the velocity. That term *attracts*: neighbours fall into each other, and collapse is what these
bounds show. The samplers of this library use the repulsive sign, which keeps the target invariant.
For that flow the kernel's contribution to λ is at worst -L_∇K, so `spos_spread` covers it once
`kernel_concavity` is replaced by `-kernel_gradient_lipschitz`.

Both are given as printed, and neither follows from its proof in that form:

- The proofs bound the square, EPD² ≤ C0² exp(-2λτ), so it is exp(-λτ) that they give EPD. Ask
  `svgd_spread` at τ/2 for the sound number.
- For SPOS they take M(M-1)Γ, which is EPD(0)², for EPD(0), and treat the noise without Itô's
  correction. Carried through, EPD² ≤ M(M-1) (Γ exp(-2λτ) + (2d/(βλ)) (1 - exp(-2λτ))). The printed
  limit 4 sqrt(d/β) M/λ lies below this one for λ above about 8, and there Gaussians break it.
"""

import math

from spos import checks
from spos.theory.arguments import beta_weight, not_negative
from spos.theory.bound import Bound, exponential
from spos.theory.constants import Constants, speaks_of_constants


@speaks_of_constants
def attraction_rate(constants: Constants) -> float:
    """λ of SVGD, m_K - H_F L_K: positive where the printed flow must collapse.

    Args:
        constants: of the target and the kernel.

    Returns:
        The rate.
    """
    return constants.kernel_concavity - constants.score_bound * constants.kernel_lipschitz


@speaks_of_constants
def svgd_spread(constants: Constants, *, initial_spread: float, tau: float) -> Bound:
    """EPD of the attractive SVGD flow at time tau, as printed.

    It needs a bounded score, and particles within the concave cap of the kernel (m_K > 0). Where
    `attraction_rate` is negative the bound still holds, but it grows: collapse is then not shown.

    Args:
        constants: of the target and the kernel.
        initial_spread: EPD at the start, sqrt(Σ_ij ‖θ_i - θ_j‖²).
        tau: the time.

    Returns:
        The bound, or why it does not apply.
    """
    initial_spread = not_negative("initial_spread", initial_spread)
    tau = not_negative("tau", tau)
    if not math.isfinite(constants.score_bound):
        return Bound.fails("H_F must be finite, but the score has no bound")
    if constants.kernel_concavity <= 0:
        return Bound.fails(
            f"m_K = {constants.kernel_concavity:.4g} must be positive: the particles are to stay "
            f"within eta/sqrt(2) = {math.sqrt(constants.bandwidth / 2):.4g} of each other"
        )
    if initial_spread == 0:  # Also where the factor overflows: particles in one place stay there.
        return Bound.holds(start=0.0)
    return Bound.holds(start=initial_spread * exponential(-2 * attraction_rate(constants) * tau))


@speaks_of_constants
def spos_spread(
    constants: Constants, *, beta: float, num_particles: int, tau: float, initial_gap: float
) -> Bound:
    """EPD of the attractive SPOS flow at time tau, as printed; it needs λ > 0.

    The term `start` is negative where the particles begin closer together than the noise will keep
    them; the bound then rises to its limit, the term `noise`, instead of falling to it.

    Args:
        constants: of the target and the kernel.
        beta: 1/β is the weight of the Langevin part; infinity is SVGD.
        num_particles: M.
        tau: the time.
        initial_gap: Γ, the mean squared distance of two independent draws from the start.

    Returns:
        The bound, or why it does not apply.
    """
    weight = beta_weight(beta)
    checks.whole("num_particles", num_particles)
    tau = not_negative("tau", tau)
    initial_gap = not_negative("initial_gap", initial_gap)
    rate = constants.convexity * weight + attraction_rate(constants)
    if not rate > 0:
        return Bound.fails(
            f"lambda = m_F/beta + m_K - H_F L_K = {rate:.4g} must be positive, with "
            f"m_F = {constants.convexity:.4g}, beta = {beta:.4g}, "
            f"m_K = {constants.kernel_concavity:.4g}, H_F = {constants.score_bound:.4g}, "
            f"L_K = {constants.kernel_lipschitz:.4g}"
        )
    limit = 4 * math.sqrt(constants.dim * weight) * num_particles / rate
    start = num_particles * (num_particles - 1) * initial_gap - limit
    return Bound.holds(start=start * math.exp(-2 * rate * tau), noise=limit)
