"""What is sampled: a log-density of one particle, and the scores of all.

A target of one's own is a value with a `log_prob`; its numbers are leaves:

    @spos.value
    class Shifted(spos.Target):
        shift: jax.Array

        def log_prob(self, theta, batch=None):
            return -0.5 * jnp.sum((theta - self.shift) ** 2)

One that has data overrides `draw`, which gives the minibatch of a step, and one whose scores
remember earlier steps (the table of SAGA, the critic of a policy) `first_memory` and `scores`.

Scores of many particles are usually best taken in one batched program (`vmap`): matrix-vector
products become matrix products. Networks are the exception. Each particle then brings weight
matrices of its own, and the batched products of all of them stream through memory, while one
particle after another (`lax.map`) keeps its weights in the cache. So particles take turns as soon
as their work in weight matrices is worth a turn.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.programs import by_form
from spos.targets.source import source_of
from spos.types import LogProb, Particles, PyTree
from spos.values import Value, as_function, described, fields, value

TURN = 2**19  # multiplications: entries of weight matrices times rows of the batch


@value
class Target(Value):
    """A distribution, as far as an algorithm needs to know it."""

    remembers: ClassVar[bool] = False  # do the scores of a step build on those of earlier ones?
    independent: ClassVar[bool] = True  # is the score of a particle its own affair?

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        """The log-density of one particle, up to a constant.

        Args:
            theta: one particle.
            batch: a minibatch, such as `draw` gives; None means all the data.

        Returns:
            One number.
        """
        raise NotImplementedError(f"{type(self).__name__} must have `log_prob(theta, batch)`")

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        """The gradient of `log_prob` at every particle.

        Args:
            particles: a pytree whose leaves share a leading axis of length M.
            batch: a minibatch; None means all the data.

        Returns:
            The scores, a pytree like `particles`.
        """
        return score_particles(self.log_prob, particles, batch)

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> PyTree:
        """The minibatch of a step, one for all particles.

        Args:
            key: the randomness of the draw.
            step: the number of the step, for batches that grow.

        Returns:
            The minibatch; None where there are no data.
        """
        return None

    def first_memory(self, particles: Particles) -> PyTree:
        """What the scores remember before the first step.

        Args:
            particles: where a run begins.

        Returns:
            The memory, a pytree of arrays.
        """
        return ()

    def scores(
        self, memory: PyTree, particles: Particles, batch: PyTree
    ) -> tuple[Particles, PyTree]:
        """The scores of a step, and what is remembered of them.

        Args:
            memory: of the step before.
            particles: a pytree whose leaves share a leading axis of length M.
            batch: the minibatch of this step.

        Returns:
            The scores, and the new memory.
        """
        return self.score(particles, batch), memory

    def refresh(self, memory: PyTree, particles: Particles) -> tuple[PyTree, int | None]:
        """What needs a pass over all the data of a source; `spos.sample` calls it on the host.

        Args:
            memory: of the scores, as the step before left it.
            particles: where the next step begins.

        Returns:
            The memory for the next step, and the number of steps until this is due again; None if
            it never is.
        """
        return memory, None

    def outside(self, particles: Particles, batch: PyTree = None) -> jax.Array:
        """Which particles are where the log-density is -inf or NaN, which no score tells?

        Args:
            particles: a pytree whose leaves share a leading axis of length M.
            batch: a minibatch; None means all the data.

        Returns:
            M booleans.
        """
        return ~(map_particles(self.log_prob, particles, batch) > -jnp.inf)

    def gradient_evaluations(self, num_steps: int, num_particles: int = 1) -> int:
        """How many gradients, of one example at one particle, so many steps take.

        Args:
            num_steps: of the run.
            num_particles: M.

        Returns:
            The number of gradients.
        """
        return num_steps * num_particles

    @property
    def stochastic(self) -> bool:
        """Is a score an estimate, such as one from a minibatch?"""
        return self.remembers

    @property
    def settings(self) -> dict[str, Any]:
        """What is shown and saved of the target: plain data."""
        own = {name: described(field) for name, field in fields(self).items()}
        return {"type": type(self).__name__.lower(), **own}


TargetLike = Target | Callable[..., Any]


@value
class LogDensity(Target):
    """The target given by a plain function `log_prob(theta)`; it has no data."""

    function: LogProb

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        try:
            return self.function(theta)
        except Exception as error:  # whatever somebody's log-density may raise
            error.add_note(
                f"log_prob is called with one particle, {checks.shapes(theta)}, and traced by "
                "JAX: it must be written for one, with jax.numpy"
            )
            raise


def score_particles(log_prob: LogProb, particles: Particles, batch: PyTree = None) -> Particles:
    """∇ log_prob(θ_i, batch) for every particle.

    Args:
        log_prob: the log-density of one particle, given a batch.
        particles: a pytree whose leaves share a leading axis of length M.
        batch: shared by all particles.

    Returns:
        The scores, a pytree like `particles`.
    """
    checks.function("log_prob", log_prob)
    return map_particles(jax.grad(log_prob), checks.arrays("particles", particles), batch)


def map_particles(one: Callable[..., Any], particles: Particles, batch: PyTree = None) -> PyTree:
    """`one(θ_i, batch)` for every particle: all at once, or in turns as the module's text says."""
    rows = max((len(leaf) for leaf in jax.tree.leaves(batch) if np.ndim(leaf)), default=0)
    if take_turns(particles, rows):
        return jax.lax.map(lambda theta: one(theta, batch), particles)
    return jax.vmap(one, in_axes=(0, None))(particles, batch)


def take_turns(particles: Particles, rows: int) -> bool:
    """Are these particles scored one after another, on a batch of so many rows?"""
    sizes = (leaf.size // leaf.shape[0] for leaf in jax.tree.leaves(particles) if leaf.ndim > 2)
    return sum(sizes) * rows >= TURN


def as_target(target: TargetLike) -> Target:
    """A log-density becomes a target; a target stays what it is.

    Args:
        target: a function `log_prob(theta)` of one particle, or a target.

    Returns:
        The target.
    """
    if isinstance(target, Target):
        return target
    if isinstance(target, type):
        raise TypeError(f"target must be a log-density or a target, got the class {target!r}")
    return LogDensity(as_function(checks.function("target", target)))


def check_target(target: Target, particles: Particles, *, numbers: bool = False) -> None:
    """Does the target take one of these particles and give one real number? Nothing is computed.

    Targets that differ in their numbers alone are looked at once, unless the numbers count too:
    NumPyro sees what is wrong with some. (Numbers that are no leaves are the same every time.)
    """
    theta = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), particles)
    batch = None
    if (source := source_of(target)) is not None:
        drawn = jax.eval_shape(lambda: target.draw(jax.random.key(0)))
        batch = drawn.batch._replace(examples=source.form.stack(*drawn.batch.weights.shape))
    if numbers and jax.tree.leaves(target):
        _check_output(target.log_prob, theta, batch)
    else:
        _check_form(target, theta, batch)


@by_form
def _check_form(*given: Any) -> None:
    """A fit may have many short runs."""
    _check_output(lambda target, theta, batch: target.log_prob(theta, batch), *given)


def _check_output(log_prob: Callable[..., Any], *given: Any) -> None:
    output = jax.eval_shape(lambda *given: log_prob(*given), *given)
    checks.log_prob_output("log_prob", output, (), "one number per particle")
