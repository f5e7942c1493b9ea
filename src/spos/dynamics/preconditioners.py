"""Diagonal preconditioners: how large the step of each parameter is, from the drift's own history.

P scales the drift by P and the noise by sqrt(P), so that the target stays in balance; its slow
change along the path is neglected, as in preconditioned SGLD.

    rmsprop   V ← a V + (1 - a) v²      P = 1 / (ε + sqrt(V))
    adagrad   V ← V + v²                P = 1 / (ε + sqrt(V))
    adam      V ← a V + (1 - a) v²      P = 1 / (ε + sqrt(V̂)),    m̂ in place of v

V begins with the mean over all particles of their first v², one number a parameter. From zeros,
the first P of a particle would be made of its own first drift alone, and one that happens to have a
small drift would be thrown far out by noise of size sqrt(P).

Adam's m̂ and V̂ are running means of v and v², corrected for their start at zero; for the same reason
V̂ counts that mean as a step before the first. (`optax.adam` does not; a method without noise may
take that as its optimizer.) The noise is as without momentum: m̂ has the mean of v and lags it by a
few steps, in which θ hardly moves.

A preconditioner of one's own is a value with `init` and `update`:

    @spos.value
    class Halved(spos.Preconditioner):
        def update(self, drift, memory):
            return jax.tree.map(lambda v: jnp.full_like(v, 0.5), drift), drift, memory
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.types import Number, Particles, PyTree
from spos.values import Value, value


@value
class Preconditioner(Value):
    """The interface: what is remembered of earlier drifts, and the P that follows from it."""

    def init(self, particles: Particles) -> PyTree:
        """What is remembered before the first step.

        Args:
            particles: where a run begins.

        Returns:
            The memory; a leaf with an axis of particles is moved with its particle.
        """
        return ()

    def update(self, drift: Particles, memory: PyTree) -> tuple[Particles, Particles, PyTree]:
        """P, and what is remembered.

        Args:
            drift: of this step.
            memory: of the step before.

        Returns:
            P, the direction that it scales (usually the drift), and the new memory.
        """
        raise NotImplementedError(f"{type(self).__name__} must have `update(drift, memory)`")


class SquareMemory(NamedTuple):
    square: Particles  # V
    begun: jax.Array  # has V seen a drift?


@value
class RunningSquare(Preconditioner):
    """P = 1 / (ε + sqrt(V)), V a running square of the drift."""

    epsilon: Number

    def init(self, particles: Particles) -> SquareMemory:
        return SquareMemory(jax.tree.map(jnp.zeros_like, particles), jnp.zeros((), bool))

    def update(
        self, drift: Particles, memory: SquareMemory
    ) -> tuple[Particles, Particles, SquareMemory]:
        before = jax.lax.cond(
            memory.begun,
            lambda: memory.square,
            lambda: jax.tree.map(_mean_square, drift, memory.square),
        )
        square = jax.tree.map(self.square, drift, before)
        scale = jax.tree.map(lambda m: 1.0 / (self.epsilon + jnp.sqrt(m)), square)
        return scale, drift, SquareMemory(square, jnp.ones((), bool))

    def square(self, drift: jax.Array, memory: jax.Array) -> jax.Array:
        """The new V of a leaf."""
        raise NotImplementedError


@value
class RMSprop(RunningSquare):
    """See `rmsprop`."""

    decay: Number

    def square(self, drift: jax.Array, memory: jax.Array) -> jax.Array:
        decay = jnp.asarray(self.decay, memory.dtype)
        return decay * memory + (1.0 - decay) * drift * drift


@value
class Adagrad(RunningSquare):
    """See `adagrad`."""

    def square(self, drift: jax.Array, memory: jax.Array) -> jax.Array:
        return memory + drift * drift


def _mean_square(drift: jax.Array, like: jax.Array) -> jax.Array:
    """Of every parameter over all particles, in the shape and type of V."""
    mean = jnp.mean(drift * drift, axis=0, keepdims=True)
    return jnp.broadcast_to(mean, like.shape).astype(like.dtype)


class AdamMemory(NamedTuple):
    square: Particles
    mean: Particles
    steps: jax.Array


@value
class Adam(Preconditioner):
    """See `adam`."""

    momentum: Number
    decay: Number
    epsilon: Number

    def init(self, particles: Particles) -> AdamMemory:
        zeros = jax.tree.map(jnp.zeros_like, particles)
        return AdamMemory(zeros, zeros, jnp.zeros((), jnp.int32))

    def update(
        self, drift: Particles, memory: AdamMemory
    ) -> tuple[Particles, Particles, AdamMemory]:
        def blend(keep: Any, old: Particles, new: Particles) -> Particles:
            return jax.tree.map(lambda a, b: keep * a + (1.0 - keep) * b, old, new)

        before = jax.lax.cond(
            memory.steps > 0,
            lambda: memory.square,
            lambda: blend(self.decay, memory.square, jax.tree.map(_mean_square, drift, drift)),
        )
        square = blend(self.decay, before, jax.tree.map(jnp.square, drift))
        mean = blend(self.momentum, memory.mean, drift)
        steps = memory.steps + 1
        seen, pushed = 1.0 - self.decay ** (steps + 1), 1.0 - self.momentum**steps
        scale = jax.tree.map(lambda m: 1.0 / (self.epsilon + jnp.sqrt(m / seen)), square)
        direction = jax.tree.map(lambda m: m / pushed, mean)
        return scale, direction, AdamMemory(square, mean, steps)


def rmsprop(decay: Number = 0.9, epsilon: Number = 1e-8) -> RMSprop:
    """Scale each parameter by the recent size of its drift.

    Args:
        decay: a, the share of the running square that is kept in a step, in [0, 1).
        epsilon: ε, above 0.

    Returns:
        The preconditioner.

    Example:
        >>> spos.rmsprop(0.99)
        RMSprop(epsilon=1e-08, decay=0.99)
    """
    return RMSprop(
        decay=checks.fraction("decay", decay), epsilon=checks.positive("epsilon", epsilon)
    )


def adagrad(epsilon: Number = 1e-8) -> Adagrad:
    """Scale each parameter by the total size of its drift so far: steps shrink like 1/sqrt(k).

    Args:
        epsilon: ε, above 0.

    Returns:
        The preconditioner.

    Example:
        >>> spos.adagrad()
        Adagrad(epsilon=1e-08)
    """
    return Adagrad(epsilon=checks.positive("epsilon", epsilon))


def adam(momentum: Number = 0.9, decay: Number = 0.999, epsilon: Number = 1e-8) -> Adam:
    """Adam's step: `rmsprop` with a running mean of the drift in place of the drift.

    Args:
        momentum: the share of the running mean that is kept in a step, in [0, 1).
        decay: a, the share of the running square that is kept in a step, in [0, 1).
        epsilon: ε, above 0.

    Returns:
        The preconditioner.

    Example:
        >>> sampler = spos.spos(lambda x: -0.5 * (x**2).sum(), 0.01, preconditioner=spos.adam())
        >>> spos.sample(sampler, jnp.ones((50, 2)), num_steps=20).num_steps
        20
    """
    return Adam(
        checks.fraction("momentum", momentum),
        checks.fraction("decay", decay),
        checks.positive("epsilon", epsilon),
    )
