"""Scores that differ from those at a snapshot of the particles, taken every so many steps.

    score = s(θ; batch) - s(θ̃; batch) + s(θ̃; all data),      s the score of the posterior

Every particle has a snapshot θ̃ of its own, which follows it: no mode has to be found beforehand.
In the step that takes the snapshots the score is exact. In K steps M particles take M N ceil(K/m)
gradients of examples for the snapshots, m the number of steps between them, and 2 M B in each of
the other steps.

References: Johnson and Zhang, NIPS 2013; Dubey et al., NIPS 2016.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.targets.posterior import Drawn, Posterior, must_be_posterior
from spos.targets.reduced import Method, ReducedPosterior, corrected, full_score
from spos.types import Particles


class Snapshot(NamedTuple):
    """Where the particles were, their exact scores there, and for how many steps it has served."""

    age: jax.Array
    particles: Particles
    scores: Particles


def svrg(posterior: Posterior, every: int | None = None) -> ReducedPosterior:
    """The posterior with scores that use exact ones from at most `every` steps ago; by default as
    many steps as it takes to draw N examples."""
    must_be_posterior(posterior)
    if every is not None:
        checks.whole("every", every)

    period = every or -(-posterior.num_examples // posterior.batch.maximum)

    def init(particles: Particles) -> Snapshot:
        unknown = jax.tree.map(jnp.zeros_like, particles)
        return Snapshot(jnp.zeros((), jnp.int32), particles, unknown)

    def apply(memory: Snapshot, particles: Particles, drawn: Drawn):
        def anew() -> tuple[Particles, Particles, Particles]:
            exact = full_score(posterior, particles, drawn.data)
            return exact, particles, exact

        def from_snapshot() -> tuple[Particles, Particles, Particles]:
            here = posterior.score(particles, drawn.batch)
            there = posterior.score(memory.particles, drawn.batch)
            return corrected(memory.scores, here, there), memory.particles, memory.scores

        scores, place, exact = jax.lax.cond(memory.age == 0, anew, from_snapshot)
        return scores, Snapshot((memory.age + 1) % period, place, exact)

    def gradient_evaluations(num_steps: int, num_particles: int) -> int:
        snapshots = -(-num_steps // period)
        batches = 2 * (num_steps - snapshots) * posterior.batch.maximum
        return num_particles * (snapshots * posterior.num_examples + batches)

    method = Method("svrg", init, apply, gradient_evaluations, {"every": period})
    return ReducedPosterior(posterior, method)
