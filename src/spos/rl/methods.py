"""Three ways to move policies, all with the same step.

    independent   v_i = s_i                                   no noise
    svpg          v_i = stein_i                               no noise
    spos          v_i = s_i/β + stein_i                       T = 1/β

    θ_i += h P m̂_i + sqrt(2 h T P) ξ_i

s_i is the policy gradient over α, stein_i the kernel's direction (`spos.interaction`), m̂ and P are
Adam's running mean of v and its step (`spos.adam`). How noise and Adam go together in SPOS-PG was
never published. This is the form in which q stays in balance: a drift scaled by P needs noise
scaled by sqrt(P), so that Adam's own preconditioner scales both. Noise that ignored P would be a
temperature of its own in every coordinate.

Adam forgets the scale of v: α and β act only through what they weigh against each other. In `svpg`
α weighs the gradient against the repulsion. In `spos` it also sets the temperature: P is about
1/|v|, so that the noise of a step is about sqrt(2h / (β|v|)) against a drift of h. They are equal
where |v| = 2 / (β h).
"""

from collections.abc import Callable

import jax

from spos.algorithms.spos import spos
from spos.algorithms.svgd import svgd
from spos.dynamics.moves import Drift, Langevin, Move
from spos.dynamics.preconditioners import Preconditioner, adam
from spos.dynamics.sampler import Sampler
from spos.dynamics.schedules import StepSize
from spos.interaction.kernels import Kernel
from spos.targets.target import Target
from spos.types import Number, Particles, State
from spos.values import value


@value
class Independent(Sampler):
    """Each policy climbs by itself."""

    preconditioner: Preconditioner

    @property
    def move(self) -> Move:
        return Langevin(None, self.preconditioner)

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(scores)


def independent(target: Target, step_size: StepSize, beta: Number, kernel: Kernel) -> Independent:
    """Each policy climbs by itself; `beta` and `kernel` are of no use."""
    return Independent.of(target, step_size, preconditioner=adam())


def svpg(target: Target, step_size: StepSize, beta: Number, kernel: Kernel) -> Sampler:
    """Stein variational policy gradient; `beta` is of no use."""
    return svgd(target, step_size, kernel=kernel, preconditioner=adam())


def spos_pg(target: Target, step_size: StepSize, beta: Number, kernel: Kernel) -> Sampler:
    """SPOS policy gradient."""
    return spos(target, step_size, beta, kernel=kernel, preconditioner=adam())


METHODS: dict[str, Callable[[Target, StepSize, Number, Kernel], Sampler]] = {
    "independent": independent,
    "svpg": svpg,
    "spos": spos_pg,
}
