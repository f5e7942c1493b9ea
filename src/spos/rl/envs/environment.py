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


class Discrete(NamedTuple):
    """Actions 0 … count - 1."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here


class Continuous(NamedTuple):
    """Vectors of this size. The environment clips them to [-1, 1] and scales them itself."""

    size: int


class Step(NamedTuple):
    """What came of an action."""

    state: PyTree
    reward: jax.Array
    terminated: jax.Array  # the task ended here; reaching the horizon does not count


@dataclass(frozen=True, eq=False)  # compared by identity: a compiled loop is kept per environment
class Environment:
    """A control task; see the module for its three functions."""

    name: str
    observation_size: int
    actions: Discrete | Continuous
    horizon: int
    reset: Callable[[jax.Array], PyTree]
    observe: Callable[[PyTree], jax.Array]  # -> (observation_size,) float32
    step: Callable[[PyTree, jax.Array], Step]
