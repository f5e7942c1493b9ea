"""From a log-density of one particle to the scores of all.

Scores of many particles are usually best taken in one batched program (`vmap`): matrix-vector
products become matrix products. Networks are the exception. Each particle then brings weight
matrices of its own, and the batched products of all of them stream through memory, while one
particle after another (`lax.map`) keeps its weights in the cache. So particles take turns as soon
as their work in weight matrices is worth a turn.
"""

import functools
from typing import Any

import jax

from spos import checks
from spos.types import Estimator, Particles, PyTree, Target

TURN = 2**19  # multiplications: entries of weight matrices times rows of the batch


class LogDensity:
    """The target given by a plain function `log_prob(theta)`; it has no data."""

    def __init__(self, log_prob: Any) -> None:
        self._log_prob = checks.function("target", log_prob)
        self.data = None

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        return self._log_prob(theta)

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        return score_particles(self.log_prob, particles, batch)

    def draw(self, key: jax.Array, step: jax.Array, data: PyTree) -> None:
        return None


def score_particles(log_prob: Any, particles: Particles, batch: PyTree) -> Particles:
    """∇ log_prob(θ_i, batch) for every particle; the batch is shared."""
    one = jax.grad(log_prob)
    weights = sum(leaf[0].size for leaf in jax.tree.leaves(particles) if leaf.ndim > 2)
    rows = max((leaf.shape[0] for leaf in jax.tree.leaves(batch) if leaf.ndim), default=0)
    if weights * rows >= TURN:
        return jax.lax.map(lambda theta: one(theta, batch), particles)
    return jax.vmap(one, in_axes=(0, None))(particles, batch)


def as_target(target: Any) -> Target:
    """A log-density becomes a target; a target stays what it is."""
    return target if isinstance(target, Target) else LogDensity(target)


def estimator_of(target: Target) -> Estimator:
    """The target's own way to estimate its scores, or the plain one, which remembers nothing."""
    plain = Estimator(
        lambda particles: (),
        lambda memory, particles, batch: (target.score(particles, batch), memory),
    )
    return getattr(target, "estimator", plain)


def check_target(target: Target, particles: Particles) -> None:
    """Does the target take one of these particles and give one real number? Nothing is computed."""
    theta = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), particles)
    output = jax.eval_shape(functools.partial(target.log_prob, batch=None), theta)
    checks.log_prob_output("log_prob", output, (), "one number per particle")
