"""A target that is not convex: how wrong the average of one test function can be.

For a test function f with Lipschitz constant L_f, after T steps of fixed length h, the bias
|E f(θ_T) - E_p f| is at most the sum of

    ergodicity        C2 ς σ^(-Md/2) (1 + ς exp(m_Θ h)) exp(-2 m_Θ T h σ^(Md) / log ς)
    discretisation    C3 h/β
    minibatch         C5 T h (L_Θ Γ' + M C4) sqrt((6 + 2Γ') β/(B M))
    particles         C6 / sqrt(M)

    m_Θ = m/β - m'                     L_Θ = sqrt(2) L_F/β + l'
    ς = 2 L_Θ (M b β + m_Θ β + M d)/m_Θ
    Γ' = 2 (1 + 1/m_Θ)(M b + 2 M² C4² + M d/β)

Convexity gives way to dissipativity, ⟨F(θ), θ⟩ ≥ m‖θ‖² - b: far out, the drift leads home. The
proofs give m' = l' = L_F + 4/η² (what the kernel terms can add or take), C5 = L_f, and for C4 the
minibatch noise at the origin, `noise_at_zero` of `Run`. The rest they leave unnamed, and the caller
supplies it:

    C2, σ   of the geometric ergodicity of the Euler chain; 0 < σ < 1
    C3      of its long-run bias per unit of h/β
    C6      of the assumed M^(-1/2) between particles and mean field in the long run, times L_f

It is a statement about rates: σ^(Md) makes the first term useless long before M is interesting,
and the third grows with T.

Reference: the appendix on the non-convex case of the SPOS paper (AISTATS 2020).
"""

import math

from spos import checks
from spos.theory.arguments import Run, beta_weight
from spos.theory.bound import Bound, exponential
from spos.theory.constants import Constants, speaks_of_constants
from spos.theory.drift import beta_below, interaction_strength


@speaks_of_constants
def nonconvex_bias(
    constants: Constants,
    run: Run,
    *,
    dissipativity: tuple[float, float],
    test_lipschitz: float,
    c2: float,
    c3: float,
    c6: float,
    sigma: float,
) -> Bound:
    """`|E f(θ_T) - E_p f|` without convexity; it needs m_Θ > 0 and ς > 1.

    Args:
        constants: of the target and the kernel; its `convexity` is not looked at.
        run: what is run; its `gamma0` is not looked at, as the chain forgets its start.
        dissipativity: the pair (m, b), which stands in for convexity.
        test_lipschitz: L_f.
        c2: C2 of the geometric ergodicity of the Euler chain.
        c3: C3 of its long-run bias per unit of h/β.
        c6: C6 of the gap between particles and mean field.
        sigma: σ of the geometric ergodicity, strictly between 0 and 1.

    Returns:
        The bound, or why it does not apply.
    """
    if not isinstance(dissipativity, tuple | list) or len(dissipativity) != 2:
        raise ValueError(f"dissipativity must be the pair (m, b), got {dissipativity!r}")
    m, b = dissipativity
    checks.positive("dissipativity m", m)
    checks.positive("dissipativity b", b)
    checks.positive("test_lipschitz", test_lipschitz)
    for name, value in {"c2": c2, "c3": c3, "c6": c6}.items():
        checks.positive(name, value)
    if not 0 < checks.real("sigma", sigma) < 1:
        raise ValueError(f"sigma must lie strictly between 0 and 1, got {sigma!r}")

    interaction = interaction_strength(constants)
    pull = m * beta_weight(run.beta) - interaction
    if pull <= 0:
        return Bound.fails(
            f"m_Theta = m/beta - L_F - 4/eta^2 = {pull:.4g} must be positive, with m = {m:.4g}, "
            f"beta = {run.beta:.4g}, L_F = {constants.lipschitz:.4g}, "
            f"eta^2 = {constants.bandwidth:.4g}; {beta_below(m, interaction)}"
        )
    lipschitz = math.sqrt(2) * constants.lipschitz / run.beta + interaction
    size = run.num_particles * constants.dim
    varsigma = 2 * lipschitz * (run.num_particles * b * run.beta + pull * run.beta + size) / pull
    if varsigma <= 1:
        return Bound.fails(f"varsigma = {varsigma:.4g} must exceed 1")

    tau = run.num_steps * run.step_size
    # In logarithms, as σ^(-Md/2) and exp(m_Θ h) leave the floats early. With x = ς exp(m_Θ h),
    # log(1 + x) is log x + log(1 + 1/x) for the same reason.
    log_x = math.log(varsigma) + pull * run.step_size
    log_ergodicity = (
        math.log(c2)
        + math.log(varsigma)
        - size / 2 * math.log(sigma)
        + log_x
        + math.log1p(math.exp(-log_x))
        - 2 * pull * tau * sigma**size / math.log(varsigma)
    )
    at_zero = run.num_particles * run.noise_at_zero  # M C4
    gamma = 2 * (1 + 1 / pull) * (run.num_particles * b + 2 * at_zero**2 + size / run.beta)
    noise = math.sqrt((6 + 2 * gamma) * run.beta / (run.batch_size * run.num_particles))
    return Bound.holds(
        ergodicity=exponential(log_ergodicity),
        discretisation=c3 * run.step_size / run.beta,
        minibatch=test_lipschitz * tau * (lipschitz * gamma + at_zero) * noise,
        particles=c6 / math.sqrt(run.num_particles),
    )
