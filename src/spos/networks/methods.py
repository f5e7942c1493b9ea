"""The methods of the family by name, with the step that suits a network.

Scores of a network differ by orders of magnitude between parameters, and grow with the number of
rows. Most methods therefore go with RMSprop: a parameter moves by about the step size in a step,
whatever the data are. The others multiply the score itself, whose size is that of the sum over all
rows, so that their step is divided by the number of rows.

All weights into a unit may move the same way, and what the unit gets then moves by their number
times the step. The steps here suit units with up to 50 of them, and fall in proportion beyond.
"""

from collections.abc import Callable
from typing import NamedTuple

from spos import checks
from spos.algorithms.blob import blob
from spos.algorithms.gfsd import gfsd
from spos.algorithms.gfsf import gfsf
from spos.algorithms.noisy_svgd import noisy_svgd
from spos.algorithms.pos import pos
from spos.algorithms.psgld import psgld
from spos.algorithms.sghmc import sghmc
from spos.algorithms.sgld import sgld
from spos.algorithms.spos import spos
from spos.algorithms.svgd import svgd
from spos.dynamics.preconditioners import Preconditioner, rmsprop
from spos.dynamics.sampler import Sampler
from spos.dynamics.schedules import StepSize
from spos.interaction.kernels import Kernel
from spos.targets.target import Target
from spos.types import Number

FULL_STEP = 50  # weights into a unit


class Options(NamedTuple):
    """What a method is built with; it takes what it knows of."""

    step_size: StepSize
    beta: Number
    kernel: Kernel
    preconditioner: Preconditioner


class Method(NamedTuple):
    """A way to sample the weights of networks.

    Attributes:
        build: makes the sampler of a target.
        step_size: of the first steps, for units with up to `FULL_STEP` weights.
        per_row: is the step divided by the number of rows?
        fixed_bandwidth: does the kernel need a bandwidth that does not follow the particles?
        preconditioner: unless another is asked for.
    """

    build: Callable[[Target, Options], Sampler]
    step_size: float
    per_row: bool = False
    fixed_bandwidth: bool = False
    preconditioner: Preconditioner = rmsprop(0.9)

    def default_step(self, fan_in: int) -> float:
        """For units with up to so many weights."""
        return self.step_size * min(1.0, FULL_STEP / fan_in)


def _interacting(build: Callable[..., Sampler]) -> Callable[[Target, Options], Sampler]:
    """With a kernel and without noise."""

    def made(target: Target, o: Options) -> Sampler:
        return build(target, o.step_size, kernel=o.kernel, preconditioner=o.preconditioner)

    return made


def _noisy(build: Callable[..., Sampler]) -> Callable[[Target, Options], Sampler]:
    """With β beside."""

    def made(target: Target, o: Options) -> Sampler:
        return build(target, o.step_size, o.beta, kernel=o.kernel, preconditioner=o.preconditioner)

    return made


METHODS = {
    "spos": Method(_noisy(spos), 3e-2),
    "svgd": Method(_interacting(svgd), 1e-2),
    "pos": Method(_noisy(pos), 1e-2),
    "blob": Method(_interacting(blob), 1e-2),
    "gfsd": Method(_interacting(gfsd), 1e-2),
    "gfsf": Method(_interacting(gfsf), 1e-2),
    "psgld": Method(
        lambda target, o: psgld(target, o.step_size, preconditioner=o.preconditioner),
        1e-2,
        preconditioner=rmsprop(0.99),
    ),
    "sgld": Method(lambda target, o: sgld(target, o.step_size), 1e-2, per_row=True),
    "sghmc": Method(lambda target, o: sghmc(target, o.step_size), 1e-3, per_row=True),
    "noisy_svgd": Method(
        lambda target, o: noisy_svgd(target, o.step_size, kernel=o.kernel),
        2e-2,
        per_row=True,
        fixed_bandwidth=True,
    ),
}


def method_called(name: str | Method) -> Method:
    """The method of that name.

    Args:
        name: one of `METHODS`, or a method of one's own, which is given back.

    Returns:
        The method.

    Raises:
        ValueError: there is none of that name.
    """
    if isinstance(name, Method):
        return name
    checks.one_of("method", name, tuple(METHODS))
    return METHODS[name]
