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

The result is a target for every algorithm. Its batches carry their row numbers and the data. Where
the data are a source, exact scores are streamed on the host between two steps (`refresh`). Before
that they are nan: a loop that forgets to call it cannot go on with a wrong score.
"""

import dataclasses
from typing import Any, ClassVar, Self

import jax

from spos.targets.batches import Drawn, all_rows
from spos.targets.posterior import Posterior, must_be_posterior
from spos.targets.source import Source
from spos.targets.stream import Stream
from spos.targets.target import Target
from spos.types import Particles, PyTree
from spos.values import value


@value
class ReducedPosterior(Target):
    """A posterior that estimates its scores by one of the methods above."""

    posterior: Posterior

    remembers: ClassVar[bool] = True
    name: ClassVar[str]

    @property
    def data(self) -> PyTree:
        """Those of the posterior."""
        return self.posterior.data

    @property
    def num_examples(self) -> int:
        """N, the number of rows of the data."""
        return self.posterior.num_examples

    @property
    def settings(self) -> dict[str, Any]:
        return {**self.posterior.settings, "scores": self.name}

    def with_data(self, data: PyTree) -> Self:
        """The same given other data; see `Posterior.with_data`."""
        return dataclasses.replace(self, posterior=self.posterior.with_data(data))

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        return self.posterior.log_prob(theta, _rows_alone(batch))

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        """The plain score on the batch, which needs no memory."""
        return self.posterior.score(particles, _rows_alone(batch))

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> Drawn:
        return self.posterior.draw_rows(key, step)

    def scores(
        self, memory: PyTree, particles: Particles, batch: PyTree
    ) -> tuple[Particles, PyTree]:
        if batch is None and not self.reads:
            batch = all_rows(self.data)
        if not isinstance(batch, Drawn):
            raise TypeError(
                f"batch must come from the draw of the target, since {self.name} needs its row "
                f"numbers and all the data, got a {type(batch).__name__}"
            )
        return self.estimate(memory, particles, batch)

    def estimate(
        self, memory: PyTree, particles: Particles, drawn: Drawn
    ) -> tuple[Particles, PyTree]:
        """The scores by old gradients and this batch, and what is remembered."""
        raise NotImplementedError

    def full_score(self, particles: Particles, data: PyTree) -> Particles:
        """The exact scores, from data in memory."""
        return self.posterior.score(particles, all_rows(data).batch)

    @property
    def reads(self) -> bool:
        """Are the data a source? Exact scores then come from `refresh`, on the host."""
        return isinstance(self.data, Source)


def must_know_rows(posterior: Any) -> None:
    """A posterior whose rows have numbers, or an error."""
    must_be_posterior(posterior)
    if isinstance(posterior.data, Stream):
        raise ValueError(
            "posterior must have data in memory or a source with random access: old gradients "
            "belong to rows, which an iterable of batches does not number, got "
            f"{posterior.data!r}"
        )


def corrected(total: Particles, here: Particles, there: Particles) -> Particles:
    """total + here - there."""
    return jax.tree.map(lambda full, new, old: full + (new - old), total, here, there)


def _rows_alone(batch: PyTree) -> PyTree:
    return batch.batch if isinstance(batch, Drawn) else batch
