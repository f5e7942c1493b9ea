"""Step sizes and batch sizes as functions of the step number k = 0, 1, 2, …

Wherever a step size is asked for, a number, one of these, or any optax schedule will do.

    constant(h)                    h
    inverse(h0)                    h0 / (k + 1)                   the SPOS paper's decreasing step
    polynomial(h0, shift, power)   h0 · (1 + k / shift)^(-power)  the usual choice for SGLD
    growing_batch(B0)              B0 + log(k + 1)^(100/99)       the SPOS paper's growing batch
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from spos import checks
from spos.targets.batches import growing_batch as growing_batch
from spos.types import Schedule


@dataclass(frozen=True)
class Polynomial:
    """`initial · (1 + k / shift)^(-power)`."""

    initial: Any
    shift: float
    power: float

    def __call__(self, step: jax.Array) -> jax.Array:
        return self.initial * (1.0 + step / self.shift) ** -self.power


def constant(value: Any) -> Polynomial:
    """The same step for ever."""
    return Polynomial(checks.positive("value", value), 1.0, 0.0)


def inverse(initial: Any) -> Polynomial:
    """`initial / (k + 1)`."""
    return Polynomial(checks.positive("initial", initial), 1.0, 1.0)


def polynomial(initial: Any, shift: float = 1.0, power: float = 0.55) -> Polynomial:
    """`initial · (1 + k / shift)^(-power)`; a power in (1/2, 1] makes plain SGLD converge."""
    return Polynomial(
        checks.positive("initial", initial),
        checks.positive("shift", shift),
        checks.positive("power", power),
    )


def as_schedule(name: str, value: Any) -> Schedule:
    """A checked schedule from a number or a function of the step."""
    if not callable(value):
        checks.positive(name, value)
        return lambda step: value
    first = value(0)
    if checks.is_traced(first):
        return value
    if np.shape(first) != ():
        raise ValueError(f"{name} must give one number per step, got shape {np.shape(first)}")
    checks.positive(f"{name}(0)", first)
    return value
