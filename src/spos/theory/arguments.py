"""What the theory asks of its arguments beyond `spos.checks`, and the run it speaks about."""

import math
from dataclasses import dataclass
from typing import Any

from spos import checks


def not_negative(name: str, value: float) -> float:
    """A finite number that is zero or more."""
    number = checks.real(name, value, "a finite number of at least 0")
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")
    return number


def of_kind(name: str, value: Any, kind: type) -> None:
    """What is called so must be so."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a spos.theory.{kind.__name__}, got {value!r}")


def beta_weight(beta: float) -> float:
    """1/β, the weight of the Langevin part; zero for the infinite β of SVGD."""
    return 1 / float(checks.positive("beta", beta, allow_infinity=True))


@dataclass(frozen=True)
class Run:
    """A run of SPOS as the theory sees it.

    Attributes:
        beta: infinity is SVGD, of which the convergence theory has nothing to say.
        num_particles: M.
        num_steps: T.
        step_size: the fixed one, or the first one h0 of the schedule h0/(k+1).
        batch_size: the fixed one, or the first one B0 of B0 + log(k+1)^(100/99).
        gamma0: γ0 = log E exp(‖θ‖²) over the start, measured from the mode; it is at least E‖θ‖².
            For a start N(0, s² I) it is -(d/2) log(1 - 2s²), finite only for s² < 1/2.
        gradient_at_zero: N max_q ‖F_q(0)‖, the largest rescaled gradient of a single datum at the
            mode: the minibatch noise that is left there. 0 for the gradient of all data.
    """

    beta: float
    num_particles: int
    num_steps: int
    step_size: float
    batch_size: int
    gamma0: float
    gradient_at_zero: float

    def __post_init__(self) -> None:
        beta_weight(self.beta)
        for name in ("num_particles", "num_steps", "batch_size"):
            checks.whole(name, getattr(self, name))
        checks.positive("step_size", self.step_size)
        not_negative("gamma0", self.gamma0)
        not_negative("gradient_at_zero", self.gradient_at_zero)

    @property
    def noise_at_zero(self) -> float:
        """g = (1 + 1/β) gradient_at_zero: it acts on a particle directly and through the kernel."""
        return (1 + 1 / self.beta) * self.gradient_at_zero
