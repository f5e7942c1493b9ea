"""What the posterior of a policy is made of: who plays, what π is, how its actions are judged."""

from typing import Any, Protocol, Self

import jax
import jax.numpy as jnp

from spos.targets.policy.moments import Moments
from spos.types import Particles, PyTree
from spos.values import Value, value


class Episodes(Protocol):
    """What the gradient needs of episodes: time first, then episodes, and particles before both
    where all of them played. `spos.rl.Trajectories` has all of it."""

    @property
    def observations(self) -> Any:
        """(T, num, o): what the policy saw before it acted."""

    @property
    def actions(self) -> Any:
        """(T, num, …)."""

    @property
    def rewards(self) -> Any:
        """(T, num): 0 after an episode's end."""

    @property
    def alive(self) -> Any:
        """(T, num): 1 while the step counted, 0 after an episode's end."""


@value
class PolicyTask(Value):
    """What the posterior of a policy is made of. A task of one's own is a value with these methods.

    All but `play` are of one particle.
    """

    def play(self, particles: Particles, key: jax.Array) -> Any:
        """`Episodes` of every particle.

        Args:
            particles: the parameters of M policies.
            key: all randomness of the episodes.

        Returns:
            Episodes whose arrays have a leading axis of particles.
        """
        raise NotImplementedError

    def log_policy(self, theta: PyTree, observation: jax.Array, action: jax.Array) -> jax.Array:
        """log π_θ(action | observation), one number."""
        raise NotImplementedError

    def entropy(self, theta: PyTree, observation: jax.Array) -> jax.Array:
        """The entropy of π_θ(· | observation), one number; needed for an entropy bonus alone."""
        raise NotImplementedError(f"{type(self).__name__} must have `entropy` for a bonus of it")

    def seeing(self, seen: Moments) -> Self:
        """This task, played by policies that see (o - mean) / deviation in place of o; needed for
        normalized observations alone."""
        raise NotImplementedError(f"{type(self).__name__} must have `seeing` to normalize")

    @property
    def observation_size(self) -> int:
        """How many numbers a policy sees; needed for normalized observations alone."""
        raise NotImplementedError(f"{type(self).__name__} must have `observation_size`")

    def first_critic(self) -> PyTree:
        """What one particle's critic knows before its first episodes; nothing without a critic."""
        return ()

    def advantages(self, critic: PyTree, episodes: Any) -> tuple[jax.Array, PyTree]:
        """How much better than expected each action was.

        Args:
            critic: of the particle.
            episodes: `Episodes` of the particle.

        Returns:
            The advantages (T, num), and the critic that has seen these episodes.
        """
        raise NotImplementedError

    @property
    def num_cells(self) -> int:
        """The number of cells of the grid; 0 without one."""
        return 0

    def cells(self, observations: jax.Array) -> jax.Array:
        """From observations (T, num, o) to a vector with 1 for each cell that was visited."""
        return jnp.zeros(self.num_cells)

    def draw(self, key: jax.Array) -> Any:
        """The batch of a step: a key for `play`, unless another way of playing has its own."""
        return key
