"""A few steps of a sampler on trial, and when two outcomes are the same."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.dynamics.moves import Move, Optimize, Underdamped
from spos.dynamics.sampler import Sampler
from spos.loop.run import advance, draw
from spos.types import Info, Particles, PyTree, State

STEPS = 2  # what is remembered counts from the second on


@dataclasses.dataclass(frozen=True)
class Trial:
    """A sampler and the particles it is tried on."""

    sampler: Sampler
    particles: Particles

    @functools.cached_property
    def program(self) -> Callable[[jax.Array, Particles], State]:
        """The state after `STEPS` steps, compiled once."""
        return self.traced()

    def traced(self) -> Callable[[jax.Array, Particles], State]:
        """The same as a program of its own."""
        return jax.jit(lambda key, start: several_steps(advance, self.sampler, key, start))

    def moved(self, start: Particles | None = None, key: jax.Array | None = None) -> Particles:
        """The particles after some steps, from where they are by default."""
        start = self.particles if start is None else start
        return self.program(trial_key() if key is None else key, start).particles


def several_steps(one_step: Any, sampler: Sampler, key: jax.Array, start: Particles) -> State:
    first = sampler.init(start)
    return jax.lax.fori_loop(0, STEPS, lambda _, state: one_step(sampler, key, state)[0], first)


def noiseless(sampler: Sampler, key: jax.Array, state: State) -> tuple[State, Info]:
    """A step with the noise of its move turned off."""
    key = jax.random.fold_in(key, state.step)
    return sampler.step_by(_quiet(sampler.move), key, state, draw(sampler, key, state.step))


def _quiet(move: Move) -> Move:
    if isinstance(move, Optimize):
        return move
    if isinstance(move, Underdamped):  # noise gives back what friction takes
        return dataclasses.replace(move, friction=0.0)
    return dataclasses.replace(move, noise=None)


def parts(sampler: Sampler, kind: type) -> list[Any]:
    parts = jax.tree.leaves(sampler, is_leaf=lambda part: isinstance(part, kind))
    return [part for part in parts if isinstance(part, kind)]


def trial_key() -> jax.Array:
    return jax.random.key(0)


def finite(tree: PyTree) -> bool:
    return all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(tree))


def same(one: PyTree, other: PyTree) -> bool:
    return all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))


def close(one: PyTree, other: PyTree, error: Any = 0.0) -> bool:
    """Equal up to rounding, which programs of different shapes do in different orders."""

    def near(a: jax.Array, b: jax.Array) -> bool:
        rounding = 1e-4 * (1.0 + jnp.abs(b))
        return bool(jnp.all(jnp.abs(a - b) <= rounding + error))

    return all(map(near, jax.tree.leaves(one), jax.tree.leaves(other)))
