"""Scores that differ from those at a fixed centre.

    score = s(θ; batch) - s(c; batch) + s(c; all data),      s the score of the posterior

The prior's part of the last two cancels. All particles share the centre c, a point near the mode
such as `spos.targets.mode.find_mode` gives: on a posterior that has contracted around it, the noise
of the scores no longer grows with the number of data. Far from the centre it may be larger than
that of the plain score. In K steps M particles take (M + 1) B K + N gradients of examples.

Reference: Baker, Fearnhead, Fox and Nemeth, Statistics and Computing 2019.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.io import archive
from spos.targets.posterior import Drawn, Posterior, as_particles, must_be_posterior
from spos.targets.reduced import Method, ReducedPosterior, corrected, full_score
from spos.types import Particles, PyTree


class Centre(NamedTuple):
    """The exact score at the centre, once it is known."""

    known: jax.Array
    score: PyTree


def control_variate(posterior: Posterior, centre: PyTree) -> ReducedPosterior:
    """The posterior with scores that use the exact score at `centre`, which is one particle."""
    must_be_posterior(posterior)
    one = as_particles(centre)

    def init(particles: Particles) -> Centre:
        _must_fit(one, particles)
        empty = jax.tree.map(lambda leaf: jnp.zeros_like(leaf[:1]), particles)
        return Centre(jnp.zeros((), bool), empty)

    def apply(memory: Centre, particles: Particles, drawn: Drawn):
        place = jax.tree.map(lambda c, like: c.astype(like.dtype), one, particles)
        total = jax.lax.cond(
            memory.known,
            lambda: memory.score,
            lambda: full_score(posterior, place, drawn.data),
        )
        here = posterior.score(particles, drawn.batch)
        there = posterior.score(place, drawn.batch)
        return corrected(total, here, there), Centre(jnp.ones((), bool), total)

    def gradient_evaluations(num_steps: int, num_particles: int) -> int:
        batches = (num_particles + 1) * num_steps * posterior.batch.maximum
        return batches + posterior.num_examples * (num_steps > 0)

    method = Method(
        "control_variate", init, apply, gradient_evaluations, {"centre": _fingerprint(one)}
    )
    return ReducedPosterior(posterior, method)


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
