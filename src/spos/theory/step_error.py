"""What Euler steps and minibatches cost: the distance from the chain to the exact particle flow.

    fixed step h          W1 ≤ c4 M d^(3/2) β⁻³ (c5 β²/B + c6 h)^(1/2) (T h)^(1/2)
    h_k = h0/(k+1)        W1 ≤ c4 M d^(3/2) β⁻³ (c7 h0³ + c8 β³ h0/B0 + c9 h0² β²)^(1/2)

The second is for minibatches that grow as B_k = B0 + log(k+1)^(100/99), and does not know T: with a
fixed step the error may build up for ever, with a decreasing one it may not. Both come from the
relative entropy between the two laws of all M particles, which the proofs bound by

    fixed         (A0 β 4/B + A1 h) T h,   A0 = 2L' (Mγ0 + 2 max(1, 1/m')(2Mg² + Md/β)) + Mg²
                                           A1 = 6L' (β A0 + Md)
    decreasing    (π² β L' h0³ + (b2 + 4/B0) β h0) S + π² L' h0² Md/2,
                                           S = L' (Mγ0 + max(1, 1/m') 2Md/β) + Mg²

with m' and L' of `drift`, γ0 and g (`noise_at_zero`) of `Run`. Dividing by Md/β⁴ leaves c5 to c9,
which depend on none of M, T and h. Only c4 stays unnamed in the proofs: it turns entropy into
distance, W1 ≤ c4 (Md/β) sqrt(entropy) for the laws of all particles, and the caller supplies it.
With c4 = 1 one sees the shape of the bound.

"Small enough", the paper's wish for β and h, is read as what keeps the moments of the chain
bounded: m' > 0 and h ≤ min(1, m'/(3 L')).

One repair: b2 bounds Σ_{k≥2} 4/(k log(k)^r), r = 100/99. The printed integral alone is too small:
it leaves out the first summand. Two things to know: this tail does not shrink as B0 grows, so c8
grows with B0 and the bound never falls as 1/B0; and c8 grows like 1/β as β → 0, because by the
proof's own count the printed β³ should be β².

Reference: the two theorems on numerical error of the SPOS paper (AISTATS 2020) and their proofs.
"""

import math
from typing import NamedTuple

from spos import checks
from spos.theory.arguments import Run
from spos.theory.bound import Bound
from spos.theory.constants import Constants, speaks_of_constants
from spos.theory.drift import (
    dissipation,
    lacks_dissipation,
    lacks_stability,
    noise_moment,
    squared_growth,
)

_BATCH_GROWTH = 100 / 99
_LOG_2 = math.log(2)
# b2: first summand plus integral, the usual majorant of a falling series. About 400.
_BATCH_TAIL = 4 * (
    1 / (2 * _LOG_2**_BATCH_GROWTH) + _LOG_2 ** (1 - _BATCH_GROWTH) / (_BATCH_GROWTH - 1)
)


class FixedStepConstants(NamedTuple):
    """The constants of the bound for a fixed step.

    Attributes:
        c5: weighs the minibatch noise.
        c6: weighs the step.
    """

    c5: float
    c6: float


class DecreasingStepConstants(NamedTuple):
    """The constants of the bound for decreasing steps.

    Attributes:
        c7: weighs the cube of the first step.
        c8: weighs the minibatch noise.
        c9: weighs the square of the first step.
    """

    c7: float
    c8: float
    c9: float


@speaks_of_constants
def fixed_step_constants(constants: Constants, run: Run) -> FixedStepConstants:
    """c5 and c6 from the proof.

    Args:
        constants: of the target and the kernel.
        run: what is run.

    Returns:
        The constants.

    Raises:
        ValueError: where m' ≤ 0 leaves them undefined.
    """
    _require_dissipation(constants, run)
    growth, beta = squared_growth(constants, run.beta), run.beta
    noise = run.noise_at_zero**2 / constants.dim
    slack = max(1.0, 1 / dissipation(constants, beta))
    # A0 and A1, each divided by Md.
    a0 = 2 * growth * (run.gamma0 / constants.dim + 2 * slack * (2 * noise + 1 / beta)) + noise
    a1 = 6 * growth * (beta * a0 + 1)
    return FixedStepConstants(c5=4 * beta**3 * a0, c6=beta**4 * a1)


@speaks_of_constants
def decreasing_step_constants(constants: Constants, run: Run) -> DecreasingStepConstants:
    """c7, c8 and c9 from the proof.

    Args:
        constants: of the target and the kernel.
        run: what is run.

    Returns:
        The constants.

    Raises:
        ValueError: where m' ≤ 0 leaves them undefined.
    """
    _require_dissipation(constants, run)
    growth, beta = squared_growth(constants, run.beta), run.beta
    moment = run.gamma0 + noise_moment(constants, beta)
    gradient = (growth * moment + run.noise_at_zero**2) / constants.dim  # S divided by Md.
    return DecreasingStepConstants(
        c7=math.pi**2 * beta**5 * growth * gradient,
        c8=(_BATCH_TAIL * run.batch_size + 4) * beta**2 * gradient,
        c9=math.pi**2 / 2 * beta**2 * growth,
    )


@speaks_of_constants
def fixed_step_error(constants: Constants, run: Run, *, c4: float) -> Bound:
    """W1 between one particle of the chain after T equal steps and one of the exact flow.

    Args:
        constants: of the target and the kernel.
        run: what is run.
        c4: turns relative entropy into a distance; 1 shows the shape of the bound.

    Returns:
        The bound, or why it does not apply.
    """
    checks.positive("c4", c4)
    if why := lacks_stability(constants, run.beta, run.step_size):
        return Bound.fails(why)
    c5, c6 = fixed_step_constants(constants, run)
    rate = c5 * run.beta**2 / run.batch_size + c6 * run.step_size
    return _distance(constants, run, c4, rate * run.num_steps * run.step_size)


@speaks_of_constants
def decreasing_step_error(constants: Constants, run: Run, *, c4: float) -> Bound:
    """W1 between one particle of the chain with steps h0/(k+1) and one of the flow, at any time.

    Args:
        constants: of the target and the kernel.
        run: what is run.
        c4: turns relative entropy into a distance; 1 shows the shape of the bound.

    Returns:
        The bound, or why it does not apply.
    """
    checks.positive("c4", c4)
    if why := lacks_stability(constants, run.beta, run.step_size):
        return Bound.fails(why)
    c7, c8, c9 = decreasing_step_constants(constants, run)
    h0, beta = run.step_size, run.beta
    entropy = c7 * h0**3 + c8 * beta**3 * h0 / run.batch_size + c9 * h0**2 * beta**2
    return _distance(constants, run, c4, entropy)


def _require_dissipation(constants: Constants, run: Run) -> None:
    if why := lacks_dissipation(constants, run.beta):
        raise ValueError(f"beta is too large: {why}")


def _distance(constants: Constants, run: Run, c4: float, entropy: float) -> Bound:
    """From entropy, in units of Md/β⁴, to the distance of one particle's law."""
    size = run.num_particles * constants.dim**1.5 / run.beta**3
    return Bound.holds(numerical=c4 * size * math.sqrt(entropy))
