"""The words every room shares.

* **particles**: a pytree whose leaves all have a leading axis of length M, one entry per particle.
* **score**: the gradient of the log-density, never that of the potential.
* **target**: anything that can turn particles and a minibatch into scores (`Target`).
* **sampler**: a pair of pure functions, `init(particles) -> state` and
  `step(key, state, batch) -> (state, info)`, the same for every algorithm (`Sampler`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax

PyTree = Any
Particles = Any
Schedule = Callable[[jax.Array], Any]


class Batch(NamedTuple):
    """Some rows of the data and what each row counts for in the log-likelihood."""

    examples: PyTree
    weights: jax.Array


@runtime_checkable
class Target(Protocol):
    """What an algorithm needs to know of a distribution.

    `data` is a pytree of arrays, or None. It travels as an argument beside the target so that a
    compiled loop does not bake it in and many data sets can share one program.
    """

    data: PyTree

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        """Log-density of one particle; `batch=None` means all the data."""

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        """Gradient of `log_prob` at every particle."""

    def draw(self, key: jax.Array, step: jax.Array, data: PyTree) -> PyTree:
        """The minibatch of a step, one for all particles."""


class Estimator(NamedTuple):
    """Scores that remember: a target whose scores of one step build on those of earlier steps has
    one as its attribute `estimator`."""

    init: Callable[[Particles], PyTree]
    apply: Callable[[PyTree, Particles, PyTree], tuple[Particles, PyTree]]
    # (memory, particles, batch) -> (scores, memory)


class State(NamedTuple):
    """All that one step hands to the next."""

    particles: Particles
    step: jax.Array
    bandwidth: jax.Array  # η² of the last step; nan before the first and without a kernel
    memory: PyTree  # of the preconditioner or the optimizer; empty without one
    score_memory: PyTree = ()  # of the target's estimator; empty without one


class Info(NamedTuple):
    """What a step saw, one scalar each.

    `drift_norm` and `score_norm` are root mean squares over particles of the Euclidean norm. `epd`
    is the expected particle distance of the SPOS paper, sqrt(Σ_ij ‖θ_i - θ_j‖²), before the step;
    divided by M it is the root mean square distance of two particles.
    """

    step_size: jax.Array
    bandwidth: jax.Array
    drift_norm: jax.Array
    score_norm: jax.Array
    epd: jax.Array


@dataclass(frozen=True, eq=False)  # compared by identity: a compiled loop is kept per sampler
class Sampler:
    """An algorithm applied to a target: pure `init` and `step`, and a record of its settings."""

    init: Callable[[Particles], State]
    step: Callable[..., tuple[State, Info]]
    target: Target
    settings: Mapping[str, Any]
