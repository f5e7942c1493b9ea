"""A compiled chunk of steps, with room for what it records."""

import jax
import jax.numpy as jnp

from spos.dynamics.sampler import Sampler
from spos.loop.feed import Block
from spos.loop.run import advance
from spos.programs import compiled
from spos.types import Info, Particles, State

Carry = tuple[State, Info, Particles]


@compiled(3)
def advance_to(
    room: int,
    slots: int,
    history_every: int | None,
    sampler: Sampler,
    key: jax.Array,
    state: State,
    block: Block | None,
    stop: int | jax.Array,
) -> tuple[State, Info, Particles, jax.Array]:
    """Steps until number `stop`. How many they are is not compiled in; the room for them is.

    A block has the minibatches of these steps, where they are read from a source."""
    first = state.step

    def take_step(state: State) -> tuple[State, Info]:
        batch = None if block is None else block.batch(state.step)
        return advance(sampler, key, state, batch)

    _, like = jax.eval_shape(take_step, state)
    info = jax.tree.map(lambda leaf: jnp.zeros((room,), leaf.dtype), like)
    history = jax.tree.map(
        lambda leaf: jnp.zeros((slots, *leaf.shape), leaf.dtype), state.particles
    )

    def body(carry: Carry) -> Carry:
        state, info, history = carry
        row = state.step - first
        state, seen = take_step(state)
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
    finite = jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state.particles)])
    return state, info, history, finite.all()
