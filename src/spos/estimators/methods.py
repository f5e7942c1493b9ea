"""The methods of the family by name, with the step that suits a network.

Scores of a network differ by orders of magnitude between parameters, and grow with the number of
rows. Most methods therefore go with RMSprop: a parameter moves by about the step size in a step,
whatever the data are. The others multiply the score itself, whose size is that of the sum over all
rows, so that their step is divided by the number of rows.

All weights into a unit may move the same way, and what the unit gets then moves by their number
times the step. The steps here suit units with up to 50 of them, and fall in proportion beyond.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

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
from spos.dynamics.preconditioners import rmsprop
from spos.dynamics.sampler import Sampler
from spos.interaction.kernels import rbf
from spos.targets.target import Target

SCALED = rmsprop(0.9)
FULL_STEP = 50  # weights into a unit


class Setting(NamedTuple):
    """What a method may want to know; `bandwidth` is for a kernel that must not look."""

    step_size: Any
    beta: float
    bandwidth: float


class Method(NamedTuple):
    build: Callable[[Target, Setting], Sampler]
    step_size: float
    per_row: bool = False  # the step is divided by the number of rows

    def default_step(self, widest: int) -> float:
        """For units with up to so many weights."""
        return self.step_size * min(1.0, FULL_STEP / widest)


METHODS = {
    "spos": Method(lambda t, s: spos(t, s.step_size, s.beta, preconditioner=SCALED), 3e-2),
    "svgd": Method(lambda t, s: svgd(t, s.step_size, preconditioner=SCALED), 1e-2),
    "pos": Method(lambda t, s: pos(t, s.step_size, s.beta, preconditioner=SCALED), 1e-2),
    "blob": Method(lambda t, s: blob(t, s.step_size, preconditioner=SCALED), 1e-2),
    "gfsd": Method(lambda t, s: gfsd(t, s.step_size, preconditioner=SCALED), 1e-2),
    "gfsf": Method(lambda t, s: gfsf(t, s.step_size, preconditioner=SCALED), 1e-2),
    "psgld": Method(lambda t, s: psgld(t, s.step_size), 1e-2),
    "sgld": Method(lambda t, s: sgld(t, s.step_size), 1e-2, per_row=True),
    "sghmc": Method(lambda t, s: sghmc(t, s.step_size), 1e-3, per_row=True),
    "noisy_svgd": Method(
        lambda t, s: noisy_svgd(t, s.step_size, kernel=rbf(s.bandwidth)), 2e-2, per_row=True
    ),
}


def method_called(name: str) -> Method:
    checks.one_of("method", name, tuple(METHODS))
    return METHODS[name]
