"""Runs that are compiled fast, and small networks as rows of one matrix.

A step of small networks is many small operations. Where a particle is a row, its noise, its move
and what is remembered of it are one operation each, and not one for every layer: the program of a
run is compiled in little more than half the time, and a step takes less. The score alone knows of
layers. Large networks stay as they are, since to move them between two forms would cost more.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos.cloud import flatten, size
from spos.dynamics.sampler import Sampler
from spos.loop.guard import NonFiniteError, diagnose
from spos.programs import BRIEF, SMALL, Options
from spos.targets.posterior import Posterior
from spos.targets.sharded import ShardedPosterior
from spos.targets.source import source_of
from spos.targets.target import score_particles, take_turns
from spos.types import Particles, PyTree
from spos.values import fields, static, value


class Prepared(NamedTuple):
    """A sampler and its start in the form in which a run is made.

    Attributes:
        sampler: of particles of that form.
        start: the first of them.
        networks: what particles of that form stand for.
        options: of XLA.
    """

    sampler: Sampler
    start: Particles
    networks: Callable[[Particles], Particles]
    options: Options = ()

    def explained(self, error: NonFiniteError, given: Sampler, key: jax.Array) -> NonFiniteError:
        """The error of a run of this form, as that of `given`, whose parameters have names."""
        if self.sampler is given:
            return error
        rows = self.start.shape
        state = jax.tree.map(lambda x: self.networks(x) if x.shape == rows else x, error.state)
        result = replace(error.result, particles=state.particles)
        return NonFiniteError(diagnose(given, key, state), state, result)


@value
class OfRows(Posterior):
    """The posterior of networks each of which is a row, its layers one after another."""

    structure: Any = static(default=None)
    shapes: tuple[tuple[int, ...], ...] = static(default=())

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        return super().log_prob(self.networks(theta), batch)

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        of_network = super().log_prob
        batch = self._as_batch(batch)
        return flatten(score_particles(of_network, self.networks(particles), batch))

    def outside(self, particles: Particles, batch: PyTree = None) -> jax.Array:
        return jnp.zeros(size(particles), bool)  # a network is possible where its score is finite

    def networks(self, rows: Any) -> Particles:
        """Those that these rows stand for, or the one of a single row."""
        ends = itertools.accumulate(map(math.prod, self.shapes), initial=0)
        leaves = [
            rows[..., first:end].reshape(*rows.shape[:-1], *shape)
            for (first, end), shape in zip(itertools.pairwise(ends), self.shapes, strict=True)
        ]
        return jax.tree.unflatten(self.structure, leaves)


def as_given(sampler: Sampler, start: Particles) -> Prepared:
    """The form that a start has."""
    return Prepared(sampler, start, lambda particles: particles)


def quick(sampler: Sampler, start: Particles) -> Prepared:
    """The form whose program is compiled soonest."""
    target = sampler.target
    elsewhere = isinstance(target, ShardedPosterior) or source_of(sampler) is not None
    if not isinstance(target, Posterior) or elsewhere or take_turns(start, target.batch.maximum):
        return as_given(sampler, start)._replace(options=BRIEF)
    leaves, structure = jax.tree.flatten(jax.device_get(start))
    shapes = tuple(leaf.shape[1:] for leaf in leaves)
    of_rows = OfRows(**fields(target), structure=structure, shapes=shapes)
    return Prepared(
        replace(sampler, target=of_rows),
        np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1),
        lambda rows: of_rows.networks(jax.device_get(rows)),
        SMALL,
    )
