"""Control tasks in pure JAX, each a set of pure functions of one environment (`environment.py`)."""

from spos import checks
from spos.rl.envs.cart_pole import CARTPOLE, SWING_UP, SWING_UP_SINES
from spos.rl.envs.double_pendulum import DOUBLE_PENDULUM
from spos.rl.envs.environment import Actions, Continuous, Discrete, Environment, Step

ENVIRONMENTS = {task.name: task for task in (CARTPOLE, SWING_UP, SWING_UP_SINES, DOUBLE_PENDULUM)}


def make(name: str) -> Environment:
    """The environment of this name.

    Args:
        name: "cartpole", "swing_up", "swing_up_sines" or "double_pendulum".

    Returns:
        The environment.

    Example:
        >>> spos.rl.envs.make("swing_up").observation_size
        4
    """
    return ENVIRONMENTS[checks.one_of("name", name, ENVIRONMENTS)]


__all__ = ["ENVIRONMENTS", "Actions", "Continuous", "Discrete", "Environment", "Step", "make"]
