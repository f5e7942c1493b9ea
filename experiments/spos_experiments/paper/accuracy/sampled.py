"""What one run of a method leaves behind, and what is kept of all runs of a method on a model."""

from typing import Any, NamedTuple

import numpy as np


class Sampled(NamedTuple):
    """One run: constrained draws as a matrix, what they cost, and what the method says of them."""

    values: np.ndarray
    evaluations: int  # of the gradient
    converged: bool | None = None  # None where a method does not say
    reason: str = ""
    particles: Any = None  # unconstrained, at the end, where another method begins with them


class Outcome(NamedTuple):
    """All runs of a method on a model, moments and particles with a leading axis of repeats."""

    mean: np.ndarray
    sd: np.ndarray
    seconds: np.ndarray
    evaluations: list[int]
    converged: list[bool | None]
    reasons: list[str]
    particles: Any = None
    processor: np.ndarray | None = None  # seconds, which other work on the machine does not change
    failure: str = ""  # why there are no draws
    width: np.ndarray | None = None  # of the central draws, as in `reference`

    @classmethod
    def failed(cls, why: str, repeats: int) -> "Outcome":
        """Of a method that gave up, or took too long. It counts as one that warns."""
        nothing = np.full((repeats, 1), np.nan)
        warned: list[bool | None] = [False] * repeats
        return cls(
            *(nothing, nothing, nothing[:, 0], [0] * repeats, warned, [why] * repeats), failure=why
        )
