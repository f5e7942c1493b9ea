"""How much better than expected each action was, from the episodes of one particle.

    reinforce    A_t = Σ_k γ^k r_{t+k}
    a2c, ppo     A_t = Σ_k (γλ)^k δ_{t+k},    δ_t = r_t + γ V(o_{t+1}) - V(o_t)

The sums run to the end of the episode. V is a critic of the particle's own (`critics.py`). It is
fitted after it was used, to the targets A_t + V(o_t) of the same episodes: a critic that has seen
the rewards it is compared with would bias the gradient.

**The end of an episode.** Where the task ended nothing is left to earn, and V beyond it is 0. Where
time ran out it depends on what V means. The linear critic knows the time t: it estimates what can
be earned *up to the horizon*, which is 0 at the horizon. The network does not see the time and
estimates what can be earned from here on: its V at the last observation stands for the rest.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from spos import checks
from spos.rl import critics
from spos.rl.critics import Critic
from spos.rl.trajectories import Trajectories, following, times
from spos.types import Array, Number, PyTree
from spos.values import Value, value


@value
class Advantages(Value):
    """A way to judge actions. What it remembers, it remembers for each particle."""

    name: ClassVar[str] = ""

    def first(self, observation_size: int) -> PyTree:
        """The memory of one particle before its first episodes; nothing by default."""
        return ()

    def judge(self, memory: PyTree, episodes: Trajectories) -> tuple[jax.Array, PyTree]:
        """The advantages (T, num) of one particle's episodes, and the memory after them."""
        raise NotImplementedError


@value
class Reinforce(Advantages):
    """The discounted return of what followed; see `reinforce`."""

    gamma: Number

    name: ClassVar[str] = "reinforce"

    def judge(self, memory: PyTree, episodes: Trajectories) -> tuple[jax.Array, PyTree]:
        return backward_sum(episodes.rewards, self.gamma * following(episodes)), ()


@value
class A2C(Advantages):
    """Generalized advantages; see `a2c`."""

    gamma: Number
    lam: Number
    critic: Critic

    name: ClassVar[str] = "a2c"

    def first(self, observation_size: int) -> PyTree:
        return self.critic.first(observation_size)

    def judge(self, memory: PyTree, episodes: Trajectories) -> tuple[jax.Array, PyTree]:
        values = self.critic.value(memory, episodes.observations, times(episodes))
        beyond = jnp.zeros_like(episodes.truncated, values.dtype)
        if not self.critic.sees_time:
            last = self.critic.value(memory, episodes.last_observations, beyond)
            beyond = jnp.where(episodes.truncated, last, 0.0)
        found = generalized(episodes, values, beyond, self.gamma, self.lam)
        return found, self.critic.fit(memory, episodes, found + values)


def reinforce(gamma: Number = 0.99) -> Reinforce:
    """The discounted return of what followed.

    Args:
        gamma: the discount γ, from 0 to 1.

    Returns:
        The way to judge actions.

    Example:
        >>> spos.rl.advantages.reinforce(0.9)
        Reinforce(gamma=0.9)
    """
    return Reinforce(_discount("gamma", gamma))


def a2c(gamma: Number = 0.99, lam: Number = 1.0, critic: str = "linear") -> A2C:
    """Generalized advantages, those of an advantage actor-critic.

    Args:
        gamma: the discount γ, from 0 to 1.
        lam: λ, from 0 (one step and the critic) to 1 (all rewards that followed).
        critic: "linear" or "network".

    Returns:
        The way to judge actions.

    Example:
        >>> spos.rl.advantages.a2c(0.9, 0.5)
        A2C(gamma=0.9, lam=0.5, critic=LinearCritic())
    """
    return A2C(_discount("gamma", gamma), _discount("lam", lam), critics.make(critic))


def make(name: str, gamma: Number, lam: Number, critic: str) -> Advantages:
    """The advantages of this policy gradient.

    Args:
        name: "reinforce", which takes `gamma` alone, "a2c" or "ppo".
        gamma: the discount γ.
        lam: λ of generalized advantages.
        critic: "linear" or "network".

    Returns:
        The way to judge actions.
    """
    return reinforce(gamma) if name == Reinforce.name else a2c(gamma, lam, critic)


def generalized(
    episodes: Trajectories, values: jax.Array, beyond: jax.Array, gamma: Number, lam: Number
) -> jax.Array:
    """The sums of δ.

    Args:
        episodes: of one particle.
        values: (T, num), V before each step.
        beyond: (num,), V after the last step of each episode.
        gamma: the discount γ.
        lam: λ.

    Returns:
        The advantages (T, num).
    """
    later = following(episodes)
    shifted = jnp.concatenate([values[1:], beyond[None]])
    after = jnp.where(later > 0, shifted, beyond)
    delta = episodes.alive * (episodes.rewards + gamma * after - values)
    return backward_sum(delta, gamma * lam * later)


def backward_sum(terms: jax.Array, weight: Array) -> jax.Array:
    """S_t = terms_t + weight_t S_{t+1} along the first axis."""

    def step(total: jax.Array, row: tuple[jax.Array, Array]) -> tuple[jax.Array, jax.Array]:
        term, share = row
        total = term + share * total
        return total, total

    return jax.lax.scan(step, jnp.zeros_like(terms[0]), (terms, weight), reverse=True)[1]


def _discount(name: str, value: Any) -> Number:
    if checks.is_traced(value):
        return checks.fraction(name, value)
    number = checks.real(name, value, "a number from 0 to 1")
    return 1.0 if number == 1 else checks.fraction(name, number)
