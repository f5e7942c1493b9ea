"""Where have the policies been? A grid of 20 × 20 cells over two positions of a task.

    cartpole, swing_up    x between the walls, θ (around the circle for the swing-up)
    double_pendulum       both angles, around the circle

A cell counts as visited when an episode is in it at one of every fifth step.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from spos.values import Value, static, value

CELLS = 20
EVERY = 5

Positions = Callable[[jax.Array], tuple[jax.Array, jax.Array]]  # both scaled to [0, 1)


def _turn(angle: jax.Array) -> jax.Array:
    return jnp.mod(angle / (2 * math.pi), 1.0)


def _span(value: jax.Array, edge: float) -> jax.Array:
    return (value + edge) / (2 * edge)


POSITIONS: dict[str, Positions] = {
    "cartpole": lambda o: (_span(o[..., 0], 2.4), _span(o[..., 2], 0.2)),
    "swing_up": lambda o: (_span(o[..., 0], 3.0), _turn(o[..., 2])),
    "swing_up_sines": lambda o: (
        _span(o[..., 0], 3.0),
        _turn(jnp.arctan2(o[..., 2], o[..., 3])),
    ),
    "double_pendulum": lambda o: (
        _turn(jnp.arctan2(o[..., 0], o[..., 1])),
        _turn(jnp.arctan2(o[..., 3], o[..., 4])),
    ),
}


@value
class Grid(Value):
    """The grid of a task, known by the task's name."""

    task: str = static()

    @property
    def num_cells(self) -> int:
        """The number of cells."""
        return CELLS**2

    def visited(self, observations: jax.Array) -> jax.Array:
        """From observations (T, num, o) to a vector with 1 for each visited cell."""
        rows = observations[::EVERY].reshape(-1, observations.shape[-1])
        one, two = (
            jax.nn.one_hot(jnp.floor(CELLS * place).astype(jnp.int32), CELLS)
            for place in POSITIONS[self.task](rows)
        )
        return (one.T @ two > 0).astype(jnp.float32).reshape(-1)


def grid(task: str) -> Grid | None:
    """The grid of a task.

    Args:
        task: the environment's name.

    Returns:
        The grid, or None for a task without one.

    Example:
        >>> been = spos.rl.coverage.grid("cartpole").visited(jnp.zeros((10, 3, 4)))
        >>> int(been.sum()), been.size
        (1, 400)
    """
    return Grid(task) if task in POSITIONS else None
