"""Surrogates: what a policy climbs on episodes that it played at θ_old, row by row.

    log_probability    A log π_θ                                 one step, then new episodes
    clipped            min(r A, clip(r, 1 - ε, 1 + ε) A),   r = π_θ / π_θ_old         PPO's

Both have the policy gradient A ∇ log π as their gradient at θ = θ_old, and the clipped one a
gradient of 0 for rows whose r has left [1 - ε, 1 + ε] in the direction of A. So it can be climbed
in many steps on the same episodes: `num_epochs` times through all rows, each time in
`num_minibatches` random parts.
"""

import jax
import jax.numpy as jnp

from spos import checks
from spos.types import Number
from spos.values import Value, static, value


@value
class Surrogate(Value):
    """A sum over rows, and how many steps are taken on one set of episodes."""

    num_epochs: int = static(default=1)
    num_minibatches: int = static(default=1)

    @property
    def num_updates(self) -> int:
        """Steps on one set of episodes."""
        return self.num_epochs * self.num_minibatches

    def total(self, logs: jax.Array, before: jax.Array, weights: jax.Array) -> jax.Array:
        """The surrogate of rows.

        Args:
            logs: log π_θ of the actions.
            before: log π_θ_old of the actions.
            weights: the advantages, over a number that is the same for all rows.

        Returns:
            One number.
        """
        raise NotImplementedError


@value
class LogProbability(Surrogate):
    """The plain policy gradient."""

    def total(self, logs: jax.Array, before: jax.Array, weights: jax.Array) -> jax.Array:
        return jnp.dot(weights, logs)


@value
class Clipped(Surrogate):
    """See `clipped`."""

    clip: Number = 0.2

    def total(self, logs: jax.Array, before: jax.Array, weights: jax.Array) -> jax.Array:
        ratio = jnp.exp(logs - before)
        near = jnp.clip(ratio, 1.0 - self.clip, 1.0 + self.clip)
        return jnp.sum(jnp.minimum(ratio * weights, near * weights))


def clipped(clip: Number, num_epochs: int, num_minibatches: int) -> Clipped:
    """PPO's surrogate.

    Args:
        clip: ε, between 0 and 1: how far the probability of an action may move.
        num_epochs: how often every row is used.
        num_minibatches: in how many steps.

    Returns:
        The surrogate.
    """
    return Clipped(
        checks.whole("num_epochs", num_epochs),
        checks.whole("num_minibatches", num_minibatches),
        checks.fraction("clip", clip),
    )
