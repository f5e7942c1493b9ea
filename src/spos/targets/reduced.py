"""What `control_variate`, `svrg` and `saga` share: a posterior with scores of lower variance.

A minibatch score is the exact score plus noise. When the gradients g_n of single examples are known
at a place near θ, the batch needs to estimate only how they differ from there:

    score = ∇ log p(θ) + Σ_n ĝ_n + Σ_q w_q (g_q(θ) - ĝ_q),      ĝ_n an old gradient of example n

It is as unbiased as the plain score Σ_q w_q g_q(θ) + ∇ log p(θ), and the noise that is left comes
from the differences: it vanishes with the distance to where the ĝ_n were taken. The three methods
take them in different places:

    control_variate   at a fixed centre                    N gradients once, B more in a step
    svrg              where the particle was a while ago   N gradients now and then, B more
    saga              where the example was last drawn     none more, but a table of M·N·d numbers

The result is a target for every algorithm. Its batches carry their row numbers and the data.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from spos.targets.posterior import Drawn, Posterior, all_rows
from spos.types import Batch, Estimator, Particles, PyTree


class Method(NamedTuple):
    """One way to remember old gradients."""

    name: str
    init: Callable[[Particles], PyTree]
    apply: Callable[[PyTree, Particles, Drawn], tuple[Particles, PyTree]]
    gradient_evaluations: Callable[[int, int], int]  # (steps, particles)
    settings: Mapping[str, Any]


class ReducedPosterior:
    """A posterior that estimates its scores by one of the methods above."""

    def __init__(self, posterior: Posterior, method: Method) -> None:
        self.posterior = posterior
        self.data = posterior.data
        self.num_examples = posterior.num_examples
        self.settings = {**posterior.settings, "scores": method.name, **method.settings}
        self.estimator = Estimator(method.init, self._estimate)
        self._method = method

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        return self.posterior.log_prob(theta, _rows_alone(batch))

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        """The plain score on the batch, which needs no memory."""
        return self.posterior.score(particles, _rows_alone(batch))

    def draw(self, key: jax.Array, step: jax.Array | int = 0, data: PyTree = None) -> Drawn:
        return self.posterior.draw_rows(key, step, data)

    def gradient_evaluations(self, num_steps: int, num_particles: int = 1) -> int:
        """How many gradients, of one example at one particle, so many steps take."""
        return self._method.gradient_evaluations(num_steps, num_particles)

    def _estimate(self, memory: PyTree, particles: Particles, batch: PyTree):
        if batch is None:
            batch = all_rows(self.data)
        if not isinstance(batch, Drawn):
            raise TypeError(
                f"batch must come from the draw of the target, since {self._method.name} needs its "
                f"row numbers and all the data, got a {type(batch).__name__}"
            )
        return self._method.apply(memory, particles, batch)


def full_score(posterior: Posterior, particles: Particles, data: PyTree) -> Particles:
    return posterior.score(particles, all_rows(data).batch)


def corrected(total: Particles, here: Particles, there: Particles) -> Particles:
    """total + here - there."""
    return jax.tree.map(lambda full, new, old: full + (new - old), total, here, there)


def _rows_alone(batch: PyTree) -> Batch | PyTree:
    return batch.batch if isinstance(batch, Drawn) else batch
