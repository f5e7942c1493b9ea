"""A compiled chunk of steps, with room for what it records and a look at where it ended."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from spos.cloud import size
from spos.dynamics.sampler import Sampler
from spos.loop.run import advance, draw
from spos.programs import compiled
from spos.types import Info, Particles, State

Carry = tuple[State, Info, Particles]


class Look(NamedTuple):
    """What the guard is told of the end of a chunk."""

    finite: jax.Array  # is every particle?
    moved: jax.Array  # has any, since the chunk began?
    outside: jax.Array  # (M,): is its log-density -inf or NaN? False where that was not asked


@compiled(3)
def advance_to(
    room: int,
    slots: int,
    history_every: int | None,
    sampler: Sampler,
    key: jax.Array,
    start: State,
    ask: bool | jax.Array,
    stop: int | jax.Array,
) -> tuple[State, Info, Particles, Look]:
    """Steps until number `stop`. How many they are is not compiled in; the room for them is.

    The log-densities at the end are looked at where `ask` says so.
    """
    first, state = start.step, start
    # a function of its own: JAX keeps what it learns of `advance` itself for ever
    _, like = jax.eval_shape(lambda *given: advance(*given), sampler, key, state)
    info = jax.tree.map(lambda leaf: jnp.zeros((room,), leaf.dtype), like)
    history = jax.tree.map(
        lambda leaf: jnp.zeros((slots, *leaf.shape), leaf.dtype), state.particles
    )

    def body(carry: Carry) -> Carry:
        state, info, history = carry
        row = state.step - first
        state, seen = advance(sampler, key, state)
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
            state.particles, draw(sampler, jax.random.fold_in(key, state.step), state)
        ),
        lambda: jnp.zeros(size(state.particles), bool),
    )
    finite = [jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state.particles)]
    moved = jax.tree.map(lambda x, y: (x != y).any(), start.particles, state.particles)
    look = Look(jnp.stack(finite).all(), jnp.stack(jax.tree.leaves(moved)).any(), outside)
    return state, info, history, look
