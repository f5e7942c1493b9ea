"""How many leapfrogs a move has, by what an independent draw costs with them.

In whitened units a quarter of a turn of the Gaussian circle, π/2, brings particles to places that
do not depend on those before. How much of it is best depends on the target: past the turn, squares
come back; where the step has to fit the place, short moves have more tries. So while the step is
tuned, two lengths are compared by

    n max (1 + ρ)/(1 - ρ),        ρ the correlation of one move with the next,

the gradients for an independent draw of whichever coordinate, or square of one, mixes worst. The
first length is that of a quarter of a turn. The second is longer if the coordinate that follows the
most still remembers where it was, and shorter if none does.
"""

from typing import NamedTuple

import numpy as np

TURN, LEAPS = 1.5, 64  # whitened length between two refreshments of the noise; and at most
LARGEST = 4.0  # standard deviations of what is squared
NEXT = 4  # a longer or shorter move differs by this part


class Length(NamedTuple):
    """A number of leapfrogs, and what was seen with it.

    Attributes:
        leaps: how many.
        log_step: that was tuned with them.
        cost: gradients for an independent draw.
        memory: the largest correlation of a coordinate with itself, one move later.
    """

    leaps: int
    log_step: float
    cost: float
    memory: float


def usual(step: float) -> int:
    """So many leapfrogs of this step make a quarter of a turn."""
    return int(np.clip(round(TURN / step), 1, LEAPS))


def seen(leaps: int, log_step: float, z: np.ndarray, gradients: int) -> Length:
    """What records of moves that follow one another tell, of particles and coordinates; a move had
    so many gradients."""
    away = (z - z.mean((0, 1))) / np.maximum(z.std((0, 1)), 1e-300)
    line = _correlation(away)
    square = _correlation(np.clip(away, -LARGEST, LARGEST) ** 2)
    worst = float(max(line.max(), square.max()))
    cost = gradients * (1.0 + worst) / max(1.0 - worst, 1e-6)
    return Length(leaps, log_step, cost, float(line.max()))


def other(first: Length) -> int:
    """The length to be compared with it."""
    more = max(first.leaps // NEXT, 1)
    return int(np.clip(first.leaps + (more if first.memory > 0 else -more), 1, LEAPS))


def _correlation(x: np.ndarray) -> np.ndarray:
    """Of every number with itself one record later."""
    change = np.square(np.diff(x, axis=0)).mean((0, 1))
    return 1.0 - change / np.maximum(2.0 * x.var((0, 1)), 1e-300)
