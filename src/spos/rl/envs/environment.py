"""What a control task is: three pure functions of one environment.

    state = reset(key)
    observation = observe(state)
    state, reward, terminated = step(state, action)

Each is written for one environment; `vmap` runs many side by side, `scan` runs them through time.
An episode takes `horizon` steps, fewer if the task ends before (`terminated`). A state after the
end is of no use, but stays finite, so that a scan may run on and mask what it does not want.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax

from spos.types import PyTree


@dataclass(frozen=True)
class Discrete:
    """Actions 0 … count - 1."""

    count: int


@dataclass(frozen=True)
class Continuous:
    """Vectors of this size. The environment clips them to [-1, 1] and scales them itself."""

    size: int


Actions = Discrete | Continuous


class Step(NamedTuple):
    """What came of an action."""

    state: PyTree
    reward: jax.Array
    terminated: jax.Array  # the task ended here; reaching the horizon does not count


@dataclass(frozen=True)
class Outline:
    """What a policy has to know of a task, wherever that lives."""

    name: str
    observation_size: int
    actions: Actions
    horizon: int


@dataclass(frozen=True)
class Environment(Outline):
    """A control task in pure JAX.

    Environments of the same functions are equal, and share compiled programs.

    Attributes:
        name: under which results are told.
        observation_size: how many numbers a policy sees.
        actions: `Discrete(count)` or `Continuous(size)`.
        horizon: the length of an episode in steps.
        reset: from a key to a first state, any pytree.
        observe: from a state to a vector (observation_size,) of float32.
        step: from a state and an action to a `Step`.

    Example:
        >>> from spos.rl.envs import Continuous, Environment, Step
        >>> line = Environment(
        ...     name="stay near 0",
        ...     observation_size=1,
        ...     actions=Continuous(1),
        ...     horizon=20,
        ...     reset=lambda key: jax.random.normal(key, (1,)),
        ...     observe=lambda x: x,
        ...     step=lambda x, a: Step(x + a, -((x + a)[0] ** 2), abs((x + a)[0]) > 3),
        ... )
        >>> spos.rl.train(line, num_iterations=2, num_particles=2, num_episodes=3).returns.shape
        (2, 2)
    """

    reset: Callable[[jax.Array], PyTree]
    observe: Callable[[PyTree], jax.Array]
    step: Callable[[PyTree, jax.Array], Step]
