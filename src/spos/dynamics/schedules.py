"""Step sizes as functions of the step number k = 0, 1, 2, …

Wherever a step size is asked for, a number, one of these, or any optax schedule will do.

    constant(h)                    h
    inverse(h0)                    h0 / (k + 1)                   the SPOS paper's decreasing step
    polynomial(h0, shift, power)   h0 · (1 + k / shift)^(-power)  the usual choice for SGLD
    cosine(h0, K, last)            h0 · (last + (1 - last) (1 + cos(π k/K)) / 2) for k ≤ K steps
    cyclic(h0, K, last)            the same again and again, from h0 every K steps

Their numbers are leaves, so that samplers which differ in them share a compiled program. An optax
schedule is a function, which is structure: another one is another program.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.targets.batches import growing_batch as growing_batch
from spos.types import Number
from spos.values import Value, as_function, described, value

Schedule = Callable[[jax.Array], Any]
StepSize = Number | Schedule


@value
class Constant(Value):
    """A constant step size.

    Attributes:
        step_size: h.
    """

    step_size: Number

    def __call__(self, step: jax.Array) -> Number:
        return self.step_size

    def described(self) -> Any:
        """The number alone, as people would write it.

        Returns:
            The number.
        """
        return described(self.step_size)


@value
class Polynomial(Value):
    """`initial · (1 + k / shift)^(-power)`.

    Attributes:
        initial: the first step.
        shift: after so many steps the decay sets in.
        power: how fast it is.
    """

    initial: Number
    shift: Number
    power: Number

    def __call__(self, step: jax.Array) -> jax.Array:
        return jnp.asarray(self.initial * (1.0 + step / self.shift) ** -self.power)


@value
class Cosine(Value):
    """From `initial` down to `last · initial` along half a cosine.

    Attributes:
        initial: the first step.
        num_steps: of the decay.
        last: the last step as a share of the first.
    """

    initial: Number
    num_steps: Number
    last: Number

    def __call__(self, step: jax.Array) -> jax.Array:
        share = jnp.minimum(step / self.num_steps, 1.0)
        fall = 0.5 * (1.0 + jnp.cos(jnp.pi * share))
        return jnp.asarray(self.initial * (self.last + (1.0 - self.last) * fall))


@value
class Cyclic(Value):
    """A cosine that begins anew every `num_steps` steps.

    Attributes:
        initial: the first step of a cycle.
        num_steps: of a cycle.
        last: the step at the end of a cycle as a share of the first.
    """

    initial: Number
    num_steps: Number
    last: Number

    def __call__(self, step: jax.Array) -> jax.Array:
        return Cosine(self.initial, self.num_steps, self.last)(step % self.num_steps)


CHECKED = (Constant, Polynomial, Cosine, Cyclic)  # above 0 at every step, if their numbers are


def constant(step_size: Number) -> Constant:
    """A constant step size.

    Args:
        step_size: above 0.

    Returns:
        The schedule.
    """
    return Constant(checks.positive("step_size", step_size))


def inverse(initial: Number) -> Polynomial:
    """`initial / (k + 1)`.

    Args:
        initial: the first step, above 0.

    Returns:
        The schedule.
    """
    return Polynomial(checks.positive("initial", initial), 1.0, 1.0)


def polynomial(initial: Number, shift: Number = 1.0, power: Number = 0.55) -> Polynomial:
    """`initial · (1 + k / shift)^(-power)`; a power in (1/2, 1] makes plain SGLD converge.

    Args:
        initial: the first step, above 0.
        shift: after so many steps the decay sets in.
        power: how fast it is.

    Returns:
        The schedule.

    Example:
        >>> round(float(spos.schedules.polynomial(0.1, shift=10.0, power=1.0)(10)), 6)
        0.05
    """
    return Polynomial(
        checks.positive("initial", initial),
        checks.positive("shift", shift),
        checks.positive("power", power),
    )


def cosine(initial: Number, num_steps: int, last: Number = 0.1) -> Cosine:
    """From `initial` down to `last · initial` along half a cosine over `num_steps` steps.

    Args:
        initial: the first step, above 0.
        num_steps: the number of steps of the decay; the step stays at its last value afterwards.
        last: the last step as a share of the first.

    Returns:
        The schedule.

    Example:
        >>> round(float(spos.schedules.cosine(0.2, num_steps=10, last=0.5)(10)), 6)
        0.1
    """
    checks.whole("num_steps", num_steps)
    return Cosine(
        checks.positive("initial", initial), float(num_steps), checks.positive("last", last)
    )


def cyclic(initial: Number, num_steps: int, last: Number = 0.1) -> Cyclic:
    """Along half a cosine from `initial` to `last · initial`, anew every `num_steps` steps.

    Small steps at the end of a cycle settle the particles, and the large ones after it take them
    elsewhere: what they are at the ends of cycles can be averaged (Zhang et al. 2020).

    Args:
        initial: the first step of a cycle, above 0.
        num_steps: the number of steps of a cycle.
        last: the step at the end of a cycle as a share of the first.

    Returns:
        The schedule.

    Example:
        >>> steps = spos.schedules.cyclic(0.2, num_steps=10, last=0.5)
        >>> [round(float(steps(k)), 6) for k in (0, 5, 10, 15)]
        [0.2, 0.15, 0.2, 0.15]
    """
    checks.whole("num_steps", num_steps)
    return Cyclic(
        checks.positive("initial", initial), float(num_steps), checks.positive("last", last)
    )


def as_schedule(name: str, step_size: StepSize) -> Schedule:
    """A checked schedule from a number or a function of the step.

    Args:
        name: of the argument, for complaints.
        step_size: a number above 0, or a schedule.

    Returns:
        The schedule.
    """
    if not callable(step_size):
        return Constant(checks.positive(name, step_size))
    schedule = as_function(step_size)
    if isinstance(schedule, CHECKED):
        return schedule
    first = schedule(0)
    if checks.is_traced(first):
        return schedule
    if np.shape(first) != ():
        raise ValueError(f"{name} must give one number per step, got shape {np.shape(first)}")
    checks.positive(f"{name}(0)", first)
    return schedule
