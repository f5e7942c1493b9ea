"""Where an automatic run begins: particles in two halves, and a density that is exact."""

import numpy as np

from spos.targets.target import Target

FEWEST, USUAL = 4, 100  # particles


def must_be_exact(target: Target) -> None:
    """A Metropolis test needs the log-density itself."""
    if target.stochastic:
        raise ValueError(
            "spos.fit needs the exact log-density, got a target that estimates it from "
            "minibatches: leave out batch_size or subsample_size, or use spos.sample"
        )


def two_halves(theta: np.ndarray) -> np.ndarray:
    """An even number of rows: one out of an odd number is taken twice."""
    if (count := len(theta)) < FEWEST:
        raise ValueError(
            f"there must be at least {FEWEST} particles, got {count}; {USUAL} are a good number"
        )
    return theta if count % 2 == 0 else np.concatenate([theta, theta[:1]])
