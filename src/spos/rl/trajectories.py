"""What parallel episodes leave behind, from any environment: time first, then episodes."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Trajectories(NamedTuple):
    """`num` episodes of at most T steps, as arrays of JAX or NumPy.

    A row of `observations` is what the policy saw *before* the action of that row. Once an episode
    is over its remaining rows hold no meaning: `alive` is 0 there, and rewards are 0.
    """

    observations: Any  # (T, num, o)
    actions: Any  # (T, num, …)
    rewards: Any  # (T, num)
    alive: Any  # (T, num): 1 while the step counted, the last one of an episode included
    terminated: Any  # (num,) bool: the task ended, nothing was left to earn
    truncated: Any  # (num,) bool: time ran out, more could have been earned
    last_observations: Any  # (num, o): after the last step that counted


def following(episodes: Trajectories) -> jax.Array:
    """(T, num): 1 where the next row belongs to the same episode."""
    return jnp.concatenate([episodes.alive[1:], jnp.zeros_like(episodes.alive[:1])])


def times(episodes: Trajectories) -> jax.Array:
    """(T, num): the number of the step, in the precision of the rewards."""
    steps = jnp.arange(len(episodes.rewards), dtype=episodes.rewards.dtype)
    return jnp.broadcast_to(steps[:, None], episodes.rewards.shape)
