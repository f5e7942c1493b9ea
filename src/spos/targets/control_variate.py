"""Scores that differ from those at a fixed centre.

    score = s(θ; batch) - s(c; batch) + s(c; all data),      s the score of the posterior

The prior's part of the last two cancels. All particles share the centre c, a point near the mode
such as `spos.find_mode` gives: on a posterior that has contracted around it, the noise
of the scores no longer grows with the number of data. Far from the centre it may be larger than
that of the plain score. In K steps M particles take (M + 1) B K + N gradients of examples.

Reference: Baker, Fearnhead, Fox and Nemeth, Statistics and Computing 2019.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.io import archive
from spos.targets.batches import Drawn
from spos.targets.passes import streamed_score
from spos.targets.posterior import Posterior, as_particles
from spos.targets.reduced import ReducedPosterior, corrected, must_know_rows
from spos.types import Particles, PyTree
from spos.values import value


class Centre(NamedTuple):
    """The exact score at the centre, once it is known."""

    known: jax.Array
    score: PyTree


@value
class ControlVariate(ReducedPosterior):
    """See `control_variate`."""

    centre: Particles  # a cloud of one

    name: ClassVar[str] = "control_variate"

    @property
    def settings(self) -> dict[str, Any]:
        return {**super().settings, "centre": _fingerprint(self.centre)}

    def first_memory(self, particles: Particles) -> Centre:
        _must_fit(self.centre, particles)
        unknown = jnp.nan if self.reads else 0.0
        empty = jax.tree.map(lambda leaf: jnp.full_like(leaf[:1], unknown), particles)
        return Centre(jnp.zeros((), bool), empty)

    def estimate(
        self, memory: Centre, particles: Particles, drawn: Drawn
    ) -> tuple[Particles, Centre]:
        place = self._place(particles)
        total = memory.score
        if not self.reads:
            total = jax.lax.cond(
                memory.known, lambda: total, lambda: self.full_score(place, drawn.data)
            )
        here = self.posterior.score(particles, drawn.batch)
        there = self.posterior.score(place, drawn.batch)
        return corrected(total, here, there), Centre(jnp.ones((), bool), total)

    def refresh(self, memory: Centre, particles: Particles) -> tuple[Centre, None]:
        if self.reads and not memory.known:
            exact = streamed_score(self.posterior, self._place(particles))
            memory = Centre(jnp.ones((), bool), exact)
        return memory, None

    def _place(self, particles: Particles) -> Particles:
        return jax.tree.map(lambda c, like: jnp.asarray(c, like.dtype), self.centre, particles)

    def gradient_evaluations(self, num_steps: int, num_particles: int = 1) -> int:
        batches = (num_particles + 1) * num_steps * self.posterior.batch.maximum
        return batches + self.num_examples * (num_steps > 0)


def control_variate(posterior: Posterior, centre: PyTree) -> ControlVariate:
    """The posterior with scores that use the exact score at a fixed centre.

    With the centre c and the score s of the posterior, the score of a step is::

        s(θ; batch) - s(c; batch) + s(c; all data)

    so that the noise of minibatches cancels near c (Baker et al., Statistics and Computing 2019).

    Args:
        posterior: what `spos.posterior` gives.
        centre: one particle, near the mode (`spos.find_mode`).

    Returns:
        The target.

    Example:
        >>> y = np.linspace(-1.0, 1.0, 200)
        >>> log_likelihood = lambda theta, batch: -0.5 * (batch - theta) ** 2
        >>> posterior = spos.posterior(log_likelihood, lambda theta: 0.0, y, batch_size=10)
        >>> target = spos.control_variate(posterior, spos.find_mode(posterior, jnp.array(1.0)))
        >>> spos.sample(spos.sgld(target, 1e-3), jnp.zeros(50), num_steps=20).num_steps
        20
    """
    must_know_rows(posterior)
    return ControlVariate(posterior, as_particles("centre", centre))


def _must_fit(centre: PyTree, particles: Particles) -> None:
    shapes = [
        (jax.tree.structure(tree), [leaf.shape[1:] for leaf in jax.tree.leaves(tree)])
        for tree in (centre, particles)
    ]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"centre must have the form of one particle, {shapes[1][0]} of shapes {shapes[1][1]}, "
            f"got {shapes[0][0]} of shapes {shapes[0][1]}"
        )


def _fingerprint(centre: PyTree) -> str:
    """By which a checkpoint knows the centre."""
    leaves = jax.tree.leaves(centre)
    if any(checks.is_traced(leaf) for leaf in leaves):
        return "traced"
    return archive.digest({str(n): leaf for n, leaf in enumerate(leaves)}).hex()[:16]
