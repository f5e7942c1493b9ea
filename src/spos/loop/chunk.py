"""A compiled chunk of steps, with room for what it records and a look at where it ended."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from spos.cloud import size
from spos.dynamics.sampler import Sampler
from spos.loop.feed import Block
from spos.loop.run import advance, draw
from spos.mesh import shards
from spos.programs import compiled
from spos.types import Info, Particles, PyTree, State

Carry = tuple[State, Info, Particles]


class Look(NamedTuple):
    """What the guard is told of the end of a chunk."""

    finite: jax.Array  # is every particle?
    moved: jax.Array  # has any, since the chunk began?
    outside: jax.Array  # (M,): is its log-density -inf or NaN? False where that was not asked


def batch_of(sampler: Sampler, key: jax.Array, block: Block | None, step: jax.Array) -> PyTree:
    """The minibatch of a step of a chunk."""
    if block is not None:
        return block.batch(step)
    return draw(sampler, jax.random.fold_in(key, step), step)


@compiled(3)
def advance_to(
    room: int,
    slots: int,
    history_every: int | None,
    sampler: Sampler,
    key: jax.Array,
    start: State,
    ask: bool | jax.Array,
    block: Block | None,
    stop: int | jax.Array,
) -> tuple[State, Info, Particles, Look]:
    """Steps until number `stop`. How many they are is not compiled in; the room for them is.

    A block has the minibatches of these steps, where they are read from a source. The log-densities
    at the end are looked at where `ask` says so, on the minibatch of the last step.
    """
    first, state = start.step, start

    @jax.jit  # so that it is traced once, though it is asked for its shapes before
    def step(
        sampler: Sampler, key: jax.Array, block: Block | None, state: State
    ) -> tuple[State, Info]:
        batch = None if block is None else block.batch(state.step)
        return advance(sampler, key, state, batch)

    _, like = jax.eval_shape(step, sampler, key, block, state)
    info = jax.tree.map(lambda leaf: jnp.zeros((room,), leaf.dtype), like)
    history = jax.tree.map(
        lambda leaf: jnp.zeros((slots, *leaf.shape), leaf.dtype), state.particles
    )

    def body(carry: Carry) -> Carry:
        state, info, history = carry
        row = state.step - first
        state, seen = step(sampler, key, block, state)
        info = jax.tree.map(lambda rows, value: rows.at[row].set(value), info, seen)
        if history_every is not None:
            slot = state.step // history_every - first // history_every - 1
            history = jax.lax.cond(
                state.step % history_every == 0,
                lambda kept: jax.tree.map(lambda h, x: h.at[slot].set(x), kept, state.particles),
                lambda kept: kept,
                history,
            )
        return state, info, history

    state, info, history = jax.lax.while_loop(
        lambda carry: carry[0].step < stop, body, (state, info, history)
    )
    outside = jax.lax.cond(
        ask,
        lambda: sampler.target.outside(
            state.particles, batch_of(sampler, key, block, state.step - 1)
        ),
        lambda: jnp.zeros(size(state.particles), bool),
    )
    finite = [jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state.particles)]
    moved = jax.tree.map(lambda x, y: (x != y).any(), start.particles, state.particles)
    look = Look(jnp.stack(finite).all(), jnp.stack(jax.tree.leaves(moved)).any(), outside)
    history = shards.kept_on(history, jax.tree.map(lambda _: shards.RECORDS, history))
    return state, shards.on_all(info), history, shards.on_all(look)
