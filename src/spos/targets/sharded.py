"""A posterior whose rows are sharded over devices: each scores its own, and the scores are summed.

With D shards of N/D rows, a minibatch has B/D rows of each, drawn there and weighted N/B,

    score(θ) = Σ_shards Σ_q w_q ∇ log p(x_q | θ) + ∇ log p(θ),

so that no row travels, and every row is as likely as any other to be in the batch: the score is
unbiased, with a little less variance than a batch drawn from all rows. Its minibatches are not
those of unsharded data.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import jax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from spos.mesh.shards import ALL, DATA_AXIS, OWN, mesh_of
from spos.targets.batches import BatchSchedule
from spos.targets.posterior import Posterior
from spos.types import Batch, Particles, PyTree
from spos.values import as_function, static, value

ROWS = P(DATA_AXIS)


@value
class ShardedPosterior(Posterior):
    """A posterior with sharded rows: `spos.posterior` of what `spos.mesh.shard_data` gives.

    Attributes:
        mesh: over which they are sharded.
    """

    mesh: Mesh | None = static(default=None)

    independent: ClassVar[bool] = False  # scores are summed over shards of data, which is done here

    @property
    def num_shards(self) -> int:
        """D, the number of parts that the rows are in."""
        return 1 if self.mesh is None else int(self.mesh.shape[DATA_AXIS])

    @property
    def settings(self) -> dict[str, Any]:
        return {**super().settings, "data_shards": self.num_shards}

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> Batch:
        def own(posterior: Posterior, key: jax.Array, step: jax.Array | int) -> Batch:
            return posterior.draw(jax.random.fold_in(key, jax.lax.axis_index(DATA_AXIS)), step)

        return self._by_shards(own, (ALL, ALL), ROWS)(key, step)

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        def own(posterior: Posterior, particles: Particles, batch: PyTree) -> Particles:
            share = 1.0 / self.num_shards  # of the prior, which must count once
            part = as_function(lambda theta: share * posterior.log_prior(theta))
            scores = dataclasses.replace(posterior, log_prior=part).score(particles, batch)
            return jax.lax.psum(scores, DATA_AXIS)

        return self._by_shards(own, (OWN, ROWS), OWN)(particles, batch)

    def _by_shards(
        self, function: Callable[..., Any], in_specs: tuple[P, ...], out_specs: P
    ) -> Callable[..., Any]:
        """The function of the posterior that one device has: its rows, its share of a batch."""
        batch = BatchSchedule(*(size // self.num_shards for size in self.batch))
        own = Posterior(self.log_likelihood, self.log_prior, self.data, batch, self.replace)
        rows = jax.tree.map(lambda _: ROWS, own.data)
        places = dataclasses.replace(jax.tree.map(lambda _: ALL, own), data=rows)
        mapped = jax.shard_map(
            function,
            mesh=self.mesh,
            in_specs=(places, *in_specs),
            out_specs=out_specs,
            check_vma=False,
        )
        return lambda *given: mapped(own, *given)


def by_shards_of_data(posterior: Posterior) -> Posterior:
    """The posterior, with the scores of sharded rows where these are; unsharded, what it was."""
    mesh = mesh_of(posterior.data)
    shards = 1 if mesh is None else mesh.shape.get(DATA_AXIS, 1)
    if shards == 1:
        return posterior
    for size in posterior.batch:
        if size % shards:
            raise ValueError(
                f"batch_size must divide by the {shards} shards of the data, which each draw their "
                f"part of a batch, got {size}"
            )
    known = {each.name: getattr(posterior, each.name) for each in dataclasses.fields(posterior)}
    return ShardedPosterior(**known, mesh=mesh)
