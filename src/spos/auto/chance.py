"""All that is random in a move, drawn on the host: a generator would be the larger part of what is
compiled for a small model."""

from typing import Any, NamedTuple

import numpy as np

from spos.auto import jitter


class RandomNumbers(NamedTuple):
    """All that is random in a move, or in several with a leading axis."""

    momentum: Any  # standard normal
    jitter: Any  # of log_step
    accept: Any  # uniform, for the leapfrog and for the jump
    jump: Any  # differences of two rows of an archive


def draw_random(
    rng: np.random.Generator, moves: int, archive: np.ndarray, tuning: Any
) -> RandomNumbers:
    """For so many moves of particles like those of the archive."""
    count, dtype = len(archive), archive.dtype
    momentum = rng.standard_normal((moves, *archive.shape), dtype)
    uniform = rng.random((moves, count, 3), dtype)
    u = jitter.local_jitter if tuning.local else jitter.uniform_jitter
    step = np.zeros_like(uniform[..., 0]) if tuning.rate else u(uniform[..., 0])
    jumps = np.zeros_like(momentum)
    if tuning.jumps:
        first = rng.integers(count, size=(moves, count))
        second = (first + rng.integers(1, count, size=(moves, count))) % count
        jumps = archive[first] - archive[second]
    return RandomNumbers(momentum, step, uniform[..., 1:], jumps)
