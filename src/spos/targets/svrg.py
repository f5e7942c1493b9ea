"""Scores that differ from those at a snapshot of the particles, taken every so many steps.

    score = s(θ; batch) - s(θ̃; batch) + s(θ̃; all data),      s the score of the posterior

Every particle has a snapshot θ̃ of its own, which follows it: no mode has to be found beforehand.
In the step that takes the snapshots the score is exact. In K steps M particles take M N ceil(K/m)
gradients of examples for the snapshots, m the number of steps between them, and 2 M B in each of
the other steps.

References: Johnson and Zhang, NIPS 2013; Dubey et al., NIPS 2016.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.targets.batches import Drawn
from spos.targets.passes import streamed_score
from spos.targets.posterior import Posterior
from spos.targets.reduced import ReducedPosterior, corrected, must_know_rows
from spos.types import Particles
from spos.values import static, value


class Snapshot(NamedTuple):
    """Where the particles were, their exact scores there, and for how many steps it has served."""

    age: jax.Array
    particles: Particles
    scores: Particles


@value
class SVRG(ReducedPosterior):
    """See `svrg`."""

    every: int = static()

    name: ClassVar[str] = "svrg"

    @property
    def settings(self) -> dict[str, Any]:
        return {**super().settings, "every": self.every}

    def first_memory(self, particles: Particles) -> Snapshot:
        value = jnp.nan if self.reads else 0.0
        unknown = jax.tree.map(lambda leaf: jnp.full_like(leaf, value), particles)
        return Snapshot(jnp.zeros((), jnp.int32), particles, unknown)

    def estimate(
        self, memory: Snapshot, particles: Particles, drawn: Drawn
    ) -> tuple[Particles, Snapshot]:
        def anew() -> tuple[Particles, Particles, Particles]:
            exact = memory.scores if self.reads else self.full_score(particles, drawn.data)
            return exact, particles, exact

        def from_snapshot() -> tuple[Particles, Particles, Particles]:
            here = self.posterior.score(particles, drawn.batch)
            there = self.posterior.score(memory.particles, drawn.batch)
            return corrected(memory.scores, here, there), memory.particles, memory.scores

        scores, place, exact = jax.lax.cond(memory.age == 0, anew, from_snapshot)
        age = (memory.age + 1) % self.every
        if self.reads:
            exact = jax.tree.map(lambda leaf: jnp.where(age == 0, jnp.nan, leaf), exact)
        return scores, Snapshot(age, place, exact)

    def refresh(self, memory: Snapshot, particles: Particles) -> tuple[Snapshot, int | None]:
        if not self.reads:
            return memory, None
        if memory.age == 0:
            memory = memory._replace(scores=streamed_score(self.posterior, particles))
        return memory, self.every - int(memory.age)

    def gradient_evaluations(self, num_steps: int, num_particles: int = 1) -> int:
        snapshots = -(-num_steps // self.every)
        batches = 2 * (num_steps - snapshots) * self.posterior.batch.maximum
        return num_particles * (snapshots * self.num_examples + batches)


def svrg(posterior: Posterior, every: int | None = None) -> SVRG:
    """The posterior with scores that build on exact ones of a little while ago.

    With a snapshot θ̃ of each particle and the score s of the posterior, the score of a step is::

        s(θ; batch) - s(θ̃; batch) + s(θ̃; all data)

    (Johnson and Zhang, NIPS 2013; Dubey et al., NIPS 2016).

    Args:
        posterior: what `spos.posterior` gives.
        every: the number of steps from one exact score to the next; by default as many as it takes
            to draw N examples.

    Returns:
        The target.

    Example:
        >>> y = np.linspace(-1.0, 1.0, 200)
        >>> log_likelihood = lambda theta, batch: -0.5 * (batch - theta) ** 2
        >>> posterior = spos.posterior(log_likelihood, lambda theta: 0.0, y, batch_size=10)
        >>> sampler = spos.sgld(spos.svrg(posterior, every=10), step_size=1e-3)
        >>> spos.sample(sampler, jnp.zeros(50), num_steps=20).num_steps
        20
    """
    must_know_rows(posterior)
    if every is None:
        every = -(-posterior.num_examples // posterior.batch.maximum)
    return SVRG(posterior, checks.whole("every", every))
