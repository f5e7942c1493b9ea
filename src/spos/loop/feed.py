"""Minibatches of a source, read ahead of the steps that need them.

The row numbers of a block of steps are drawn in one compiled call, from the same keys as in memory;
a thread reads the rows and puts them on the device while the steps of the block before are taken.
A chunk of steps never leaves its block, so that it can be replayed.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos.dynamics.sampler import Sampler
from spos.io.ahead import read_ahead
from spos.loop.run import draw
from spos.programs import compiled
from spos.targets.batches import Drawn
from spos.targets.random_access import RandomAccess
from spos.targets.source import detached, source_of
from spos.targets.stream import Stream
from spos.types import Batch, PyTree, State

BLOCK_BYTES = 2**24  # of rows; three blocks are in memory
BLOCK_STEPS = 1024

PLACE = "place"  # in a checkpoint: of a stream, at the beginning of a block
PLACE_STEP = "place_step"


class Block(NamedTuple):
    """The minibatches of some steps, as a program takes them.

    Attributes:
        first: the number of the first step.
        batches: with a leading axis of steps.
    """

    first: Any
    batches: PyTree

    def batch(self, step: Any) -> PyTree:
        """That of one step."""
        return jax.tree.map(lambda leaf: leaf[step - self.first], self.batches)


class Feed:
    """What a run is fed with: nothing, where programs draw their minibatches themselves.

    Attributes:
        program: the sampler as compiled programs take it.
        block: the minibatches at hand; None where none are read.
        records: what a checkpoint has to know.
    """

    def __init__(self, sampler: Sampler, num_steps: int) -> None:
        self.program, self.num_steps = detached(sampler), num_steps
        self.block: Block | None = None
        self.records: dict[str, np.ndarray] = {}

    def ready(self, state: State) -> tuple[State, int]:
        """The state with all that its next step needs, and the step up to which that suffices."""
        return state, self.num_steps

    def close(self) -> None:
        """Read no further."""


class SourceFeed(Feed):
    """Reads ahead from a source."""

    def __init__(
        self,
        sampler: Sampler,
        key: jax.Array,
        state: State,
        num_steps: int,
        records: Mapping[str, np.ndarray],
    ) -> None:
        super().__init__(sampler, num_steps)
        self.target, here = sampler.target, int(state.step)
        self.stop, self.refresh_at = here, here  # the ends of the block and of the exact scores
        self.records = {name: records[name] for name in (PLACE, PLACE_STEP) if name in records}
        first = int(self.records.get(PLACE_STEP, here))
        blocks = _blocks(sampler, key, first, num_steps, self.records.get(PLACE))
        self._open = contextlib.ExitStack()
        self._ahead = self._open.enter_context(read_ahead(blocks))

    def ready(self, state: State) -> tuple[State, int]:
        here = int(state.step)
        while self.block is None or self.stop <= here:
            self.block, self.stop, place = next(self._ahead, (None, 0, None))
            if self.block is None:
                raise ValueError(
                    "the iterable has ended; give one that can be iterated again, such as a "
                    "DataLoader, or one that is long enough"
                )
            if place is not None:
                self.records = {PLACE: place, PLACE_STEP: np.asarray(self.block.first)}
        if self.refresh_at == here:
            memory, steps = self.target.refresh(state.score_memory, state.particles)
            state = state._replace(score_memory=memory)
            self.refresh_at = self.num_steps if steps is None else here + steps
        return state, min(self.stop, self.refresh_at)

    def close(self) -> None:
        self._open.close()


def feed_of(
    sampler: Sampler,
    key: jax.Array,
    state: State,
    num_steps: int,
    records: Mapping[str, np.ndarray],
) -> Feed:
    """The feed of a run.

    Args:
        sampler: of the run.
        key: of the run.
        state: where it begins or goes on.
        num_steps: at which it ends.
        records: of the checkpoint it goes on from.

    Returns:
        The feed, which has begun to read.
    """
    if source_of(sampler) is None:
        return Feed(sampler, num_steps)
    return SourceFeed(sampler, key, state, num_steps, records)


def stand_in(sampler: Sampler) -> PyTree:
    """A batch by which a run on a source is known; None where the data are in memory.

    It is made without reading: rows that a source with random access was asked for when the
    posterior was made, and of a stream, which has nothing that always is the same, zeros.
    """
    source = source_of(sampler)
    if source is None:
        return None
    rows = getattr(source, "seen", np.zeros(1, np.int32))
    shapes = source.form.stack(len(rows))
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
    examples = jax.tree.map(jnp.asarray, getattr(source, "examples", zeros))
    weights = jnp.full(len(rows), source.num_examples / len(rows))
    return Drawn(Batch(examples, weights), jnp.asarray(rows, jnp.int32), ())


@compiled(1)
def _asked(room: int, sampler: Sampler, key: jax.Array, first: jax.Array) -> Drawn:
    """What so many steps ask for: weights and row numbers."""

    def one(step: jax.Array) -> Drawn:
        return draw(sampler, jax.random.fold_in(key, step), step)

    return jax.vmap(one)(first + jnp.arange(room, dtype=jnp.int32))


def _blocks(
    sampler: Sampler, key: jax.Array, first: int, num_steps: int, place: np.ndarray | None
) -> Iterator[tuple[Block, int, np.ndarray | None]]:
    """The blocks of a run, the step after each, and the place of a stream before it; this runs in
    the thread."""
    source, program = source_of(sampler), detached(sampler)
    assert isinstance(source, RandomAccess | Stream)
    rows = jax.eval_shape(lambda: program.target.draw(key)).batch.weights.shape[0]
    room = max(1, min(BLOCK_STEPS, BLOCK_BYTES // max(1, rows * source.form.nbytes)))
    passing = source.open(place) if isinstance(source, Stream) else None
    while first < num_steps:
        asked = _asked(room, program, key, jnp.asarray(first, jnp.int32))
        count, before = min(room, num_steps - first), None
        weights: Any = asked.batch.weights
        if passing is not None:
            before = passing.place
            examples, weights = passing.several(count)
            if (count := len(weights)) == 0:
                return
        elif isinstance(source, RandomAccess):
            examples = source.take(np.asarray(asked.rows)[:count])
        # the last block is filled up: it shares the program of the others
        filled = jax.tree.map(lambda leaf: _filled_up(leaf, room), Batch(examples, weights))
        yield Block(first, asked._replace(batch=filled)), first + count, before
        first += count


def _filled_up(leaf: Any, room: int) -> jax.Array:
    if len(leaf) < room:
        full = np.zeros((room, *leaf.shape[1:]), leaf.dtype)
        full[: len(leaf)] = leaf
        leaf = full
    return jnp.asarray(leaf)
