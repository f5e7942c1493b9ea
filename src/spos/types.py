"""The words every room shares.

* **particles**: a pytree whose leaves all have a leading axis of length M, one entry per particle.
* **score**: the gradient of the log-density, never that of the potential.
* **target**: what is sampled (`spos.Target`).
* **sampler**: an algorithm applied to a target (`spos.Sampler`): `init(particles) -> state` and
  `step(key, state, batch) -> (state, info)`.
"""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

PyTree = Any  # of arrays
Particles = Any  # a pytree of arrays that share their leading axis
Array = jax.Array | np.ndarray
Number = float | jax.Array | np.ndarray  # one number, perhaps traced
PathLike = str | os.PathLike[str]
LogProb = Callable[..., Any]  # the log-density of one particle


class Batch(NamedTuple):
    """Some rows of the data.

    Attributes:
        examples: a pytree whose leaves share a leading axis of rows.
        weights: what each row counts for in the log-likelihood.
    """

    examples: PyTree
    weights: jax.Array


class State(NamedTuple):
    """All that one step hands to the next.

    Attributes:
        particles: a pytree whose leaves share a leading axis of length M.
        step: the number of steps taken.
        bandwidth: η² of the last step; nan before the first and without a kernel.
        memory: of the preconditioner or the optimizer; empty without one.
        score_memory: of the target's scores; empty where they remember nothing.
    """

    particles: Particles
    step: jax.Array
    bandwidth: jax.Array  # η² of the last step; nan before the first and without a kernel
    memory: PyTree  # of the preconditioner or the optimizer; empty without one
    score_memory: PyTree = ()  # of the target's scores; empty where they remember nothing


class Info(NamedTuple):
    """What a step saw, one scalar each.

    Attributes:
        step_size: h of this step.
        bandwidth: η² of the kernel; nan without one.
        drift_norm: root mean square over particles of the Euclidean norm of the drift.
        score_norm: the same of the scores.
        epd: the expected particle distance of the SPOS paper, sqrt(Σ_ij ‖θ_i - θ_j‖²), before the
            step; divided by M it is the root mean square distance of two particles.
    """

    step_size: jax.Array
    bandwidth: jax.Array
    drift_norm: jax.Array
    score_norm: jax.Array
    epd: jax.Array
