"""The steps of episodes as rows: what a policy's surrogate is a sum over."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from spos.targets.shuffle import distinct


class Rows(NamedTuple):
    """The steps of all episodes of a particle, one after the other: R = T · num of them."""

    observations: jax.Array  # as the policy saw them
    actions: jax.Array
    weights: jax.Array  # (R,): advantages over the number of episodes
    before: jax.Array  # (R,): log π of the policy that played
    share: jax.Array  # (R,): 1 over the number of episodes, 0 after an episode's end


def minibatch(rows: Rows, iteration: jax.Array, update: jax.Array, num_minibatches: int) -> Rows:
    """The rows of one step: its part of a shuffle that is new in every epoch.

    Which shuffle it is depends on the numbers of iteration and epoch alone, so that all particles,
    and all runs of a stack, share it. Weights and shares grow such that the part stands for the
    whole.

    Args:
        rows: of all particles, with their axis in front.
        iteration: the number of the set of episodes.
        update: the number of the step on it.
        num_minibatches: into how many parts an epoch is cut.

    Returns:
        The part.
    """
    if num_minibatches == 1:
        return rows
    total = rows.share.shape[1]
    size = total // num_minibatches
    epoch, place = jnp.divmod(update, num_minibatches)
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), iteration), epoch)
    chosen = jax.lax.dynamic_slice(distinct(key, total, total), (place * size,), (size,))
    part = jax.tree.map(lambda leaf: leaf[:, chosen], rows)
    return part._replace(weights=part.weights * (total / size), share=part.share * (total / size))


def standardized(advantages: jax.Array, alive: jax.Array) -> jax.Array:
    """Mean 0 and deviation 1 over all steps that count, and 0 elsewhere.

    Args:
        advantages: (T, num).
        alive: (T, num), 1 where a step counts.

    Returns:
        The advantages in units of their deviation.
    """
    total = jnp.sum(alive)
    off = alive * (advantages - jnp.sum(alive * advantages) / total)
    return off / (jnp.sqrt(jnp.sum(off * off) / total) + 1e-8)
