"""From a log-density of one particle to the scores of all."""

import functools
from typing import Any

import jax

from spos import checks
from spos.types import Particles, PyTree, Target


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
    return jax.vmap(jax.grad(log_prob), in_axes=(0, None))(particles, batch)


def as_target(target: Any) -> Target:
    """A log-density becomes a target; a target stays what it is."""
    return target if isinstance(target, Target) else LogDensity(target)


def check_target(target: Target, particles: Particles) -> None:
    """Does the target take one of these particles and give one real number? Nothing is computed."""
    theta = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), particles)
    output = jax.eval_shape(functools.partial(target.log_prob, batch=None), theta)
    checks.log_prob_output("log_prob", output, (), "one number per particle")
