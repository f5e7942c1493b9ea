"""A whole run as one pure function.

The random numbers of step k depend on the key and on k alone, so that neither chunks nor an
interruption nor a resumed run can change a bit of the result.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.dynamics.sampler import Sampler, check_sampler_type
from spos.dynamics.schedules import CHECKED, Schedule
from spos.mesh import shards
from spos.programs import compiled
from spos.targets.source import detached, source_of
from spos.types import Info, Particles, PyTree, State

Observe = Callable[[State, Info], PyTree]


def see_info(state: State, info: Info) -> Info:
    """What `run` observes by default."""
    return info


Seed = int | jax.Array  # a number, or a key of JAX


def is_key(seed: Any) -> bool:
    return isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key)


def run_key(seed: Seed) -> jax.Array:
    """The key of a whole run."""
    return seed if isinstance(seed, jax.Array) and is_key(seed) else jax.random.key(seed)


def shown_seed(seed: Seed) -> Any:
    """The seed as it is told and saved."""
    if isinstance(seed, jax.Array) and is_key(seed):
        return np.asarray(jax.random.key_data(seed)).tolist()
    return seed


def begin(sampler: Sampler, particles: Particles) -> State:
    """The state before the first step, each part of it made where its particles are."""
    if shards.ambient() is None:
        return sampler.init(particles)
    program = detached(sampler)
    places = shards.specs(program.init, checks.particles(particles))
    return jax.jit(lambda given, here: given.init(here), out_shardings=places)(program, particles)


def draw(sampler: Sampler, key: jax.Array, step: jax.Array) -> PyTree:
    """The minibatch of a step, from the key of that step (which is the key of the noise too)."""
    return sampler.target.draw(jax.random.fold_in(key, 2), step)


def advance(
    sampler: Sampler, key: jax.Array, state: State, batch: PyTree = None
) -> tuple[State, Info]:
    """The step that `state` is due for: its minibatch, and the randomness of its number.

    Args:
        sampler: what `spos.spos`, `spos.svgd`, … give.
        key: of the whole run.
        state: of the step before.
        batch: the minibatch, where it has been read from a source; None draws it.

    Returns:
        The next state, and what the step saw.
    """
    check_sampler_type(sampler)
    _check_state(state)
    key = jax.random.fold_in(checks.key("key", key), state.step)
    batch = draw(sampler, key, state.step) if batch is None else batch
    after, info = sampler.step(key, state, batch)
    if shards.ambient() is not None:
        after = shards.kept_on(after, shards.specs(sampler.init, after.particles))
    return after, info


def _check_state(state: Any) -> None:
    if not isinstance(state, State):
        raise TypeError(f"state must be a spos.State, such as sampler.init gives, got {state!r}")


def check_steps(schedule: Schedule, num_steps: int, first: Any = 0) -> None:
    """A function of one's own must stay above 0 to the last step: a step of 0 is none, and one
    below leads away. It is asked at the last step and at halving distances from the first.

    Args:
        schedule: of a sampler.
        num_steps: of its run.
        first: the number of its first step.
    """
    if isinstance(schedule, CHECKED):
        return
    if checks.is_traced(first):
        return
    ahead = num_steps - 1
    while ahead > 0:
        step = int(first) + ahead
        size: Any = schedule(step)  # type: ignore[arg-type]  # as at 0
        if checks.is_traced(size):
            return
        checks.positive(f"step_size({step})", size)
        ahead //= 2


def run(
    sampler: Sampler,
    key: jax.Array,
    particles: Particles | None,
    num_steps: int,
    *,
    state: State | None = None,
    every: int = 1,
    observe: Observe = see_info,
) -> tuple[State, PyTree]:
    """`num_steps` steps as a pure function, to be jitted, vmapped or put inside another program.

    Samplers that differ in their numbers alone share one compiled program, and a stack of samplers
    is a sweep: `jax.vmap(lambda s, k: spos.run(s, k, particles, n))(stack, keys)`.

    Args:
        sampler: what `spos.spos`, `spos.svgd`, … give.
        key: of the whole run; that of step k is `fold_in(key, k)`.
        particles: where the run begins; None if `state` is given.
        num_steps: how many steps to take.
        state: where to go on: what an earlier run returned.
        every: observe only every so many steps.
        observe: `observe(state, info)`, called after a step; what it returns is stacked.

    Returns:
        The last state, and what `observe` saw, with a leading axis of `num_steps // every`.

    Example:
        >>> sampler = spos.svgd(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> start = jnp.linspace(-1.0, 1.0, 10)[:, None]
        >>> state, info = spos.run(sampler, jax.random.key(0), start, 20, every=5)
        >>> info.epd.shape
        (4,)
    """
    check_sampler_type(sampler)
    checks.key("key", key)
    checks.whole("num_steps", num_steps, at_least=0)
    checks.whole("every", every)
    checks.function("observe", observe)
    if (source := source_of(sampler)) is not None:
        raise ValueError(
            f"sampler must have its data in memory, got {source!r}: run is one compiled program, "
            "which cannot read. spos.sample reads ahead of its steps"
        )
    if (state is None) == (particles is None):
        raise ValueError("give particles to begin with or a state to go on from, and not both")
    if state is not None:
        _check_state(state)
    check_steps(sampler.step_size, num_steps, 0 if state is None else state.step)
    with shards.over(particles if state is None else state.particles):
        if state is None:
            state = begin(sampler, particles)
        return _run(num_steps, every, observe, sampler, key, state)


@compiled(3)
def _run(
    num_steps: int,
    every: int,
    observe: Observe,
    sampler: Sampler,
    key: jax.Array,
    state: State,
) -> tuple[State, PyTree]:
    def step(state: State, _: Any) -> tuple[State, PyTree]:
        state, info = advance(sampler, key, state)
        return state, observe(state, info)

    def unseen(state: State, count: int) -> State:
        return jax.lax.fori_loop(0, count, lambda _, s: advance(sampler, key, s)[0], state)

    def record(state: State, _: Any) -> tuple[State, PyTree]:
        return step(unseen(state, every - 1), None)

    records, left = divmod(num_steps, every)
    state, seen = jax.lax.scan(step if every == 1 else record, state, length=records)
    return (unseen(state, left) if left else state), seen
