"""What holds for every sampler, and what is wrong with one that breaks it.

The checks are made in order, on a few steps of a few particles. The first ones (`value`, `target`,
`init`, `step`) are what all others stand on: where one of them fails, the others are left out.

    value      the class is registered with `@spos.value`, and its leaves are numbers
    settings   what is shown and saved of the sampler is plain data
    target     takes the particles, and has finite scores at them
    init       gives a `spos.State` with the particles as they came, before step 0
    step       gives a state of the same structure, shapes and dtypes, one step on, and a
               `spos.Info` of scalars
    finite     particles that start finite stay finite for two steps
    repeat     the same key gives the same bits, in programs that are traced anew
    vmap       two runs side by side are the two runs
    tree       particles as a pytree move as the flat matrix of the same numbers does
    order      reordered particles move as before, without noise; on average over keys where the
               drift is random, or `step` is the sampler's own
    meeting    no NaN where particles are in one place
"""

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import jax

from spos import checks
from spos.diagnostics.sampler_checks import CHECKS, Fault, first_line
from spos.diagnostics.trial import (
    Trial,
)
from spos.dynamics.sampler import Sampler
from spos.types import Particles

FOUNDATION = ("value", "target", "init", "step")


class Check(NamedTuple):
    """One thing that holds for every sampler, and what was seen of it.

    Attributes:
        name: of the check.
        passed: is all well?
        sentence: what was seen.
    """

    name: str
    passed: bool
    sentence: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.passed else 'FAIL'}  {self.name:<9} {self.sentence}"


@dataclasses.dataclass(frozen=True)
class Conformance:
    """What `check_sampler` found; printed, it has a line for each check.

    Attributes:
        algorithm: the name of the sampler's algorithm.
        checks: those that were made, in order.
    """

    algorithm: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Has the sampler passed every check?"""
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that it has not passed."""
        return tuple(check.name for check in self.checks if not check.passed)

    def __str__(self) -> str:
        word = "passes all checks" if self.passed else f"fails: {', '.join(self.failed)}"
        return "\n".join([f"{self.algorithm} {word}", *map(str, self.checks)])

    __repr__ = __str__


def check_sampler(sampler: Sampler, particles: Particles | None = None) -> Conformance:
    """Tell the author of a sampler what is wrong with it.

    Args:
        sampler: of a class of one's own, or one of the library's.
        particles: a few, such as the target takes, at places where its score is finite; by default
            8 particles that are vectors of 3 numbers.

    Returns:
        The checks that were made, each with a sentence; `passed` says whether all is well.

    Example:
        >>> sampler = spos.sgld(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> spos.check_sampler(sampler).passed
        True
    """
    if not isinstance(sampler, Sampler):
        raise TypeError(f"sampler must be of a class derived from spos.Sampler, got {sampler!r}")
    if particles is None:
        particles = jax.random.normal(jax.random.key(1), (8, 3))
    particles = checks.particles(particles)
    return Conformance(sampler.algorithm, tuple(_made(Trial(sampler, particles))))


def _made(trial: Trial) -> Iterator[Check]:
    for name, look in CHECKS.items():
        try:
            check = Check(name, True, look(trial))
        except Fault as fault:
            check = Check(name, False, str(fault))
        except Exception as error:  # whatever a class of somebody's own may raise
            check = Check(name, False, f"raised {type(error).__name__}: {first_line(error)}")
        yield check
        if name in FOUNDATION and not check.passed:
            return
