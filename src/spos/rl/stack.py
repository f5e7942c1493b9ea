"""Many training runs as one compiled program: seeds, and learners that differ in numbers alone.

Learners are values, so that a stack of them is a sweep (`spos.run` under `vmap`). The runs go step
by step side by side, which keeps a processor busier than one after the other, and it is compiled
once. What a run of the stack leaves behind is what `Learner.train` would have, up to rounding.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from spos import checks
from spos.loop.run import run, run_key
from spos.programs import compiled
from spos.rl.envs import Environment
from spos.rl.learning import Learner
from spos.rl.trained import Trained
from spos.types import Info, State


def train_stack(learners: Sequence[Learner], seeds: Sequence[int]) -> list[Trained]:
    """Train several learners side by side, in one program.

    Args:
        learners: of one structure: they may differ in step size, α, β, γ, λ and other numbers.
            Their environment is one in pure JAX.
        seeds: of each learner, one.

    Returns:
        The runs, in the order of the learners. Each says as its time that of all. One whose
        policies left the finite numbers has NaN among its last returns; the others do not mind.

    Raises:
        ValueError: if the learners are not of one structure, or the seeds are not as many.
        TypeError: if an environment is not one in pure JAX.

    Example:
        >>> some = [
        ...     spos.rl.learner(
        ...         "cartpole", num_iterations=2, num_particles=2, num_episodes=2, step_size=size
        ...     )
        ...     for size in (1e-3, 1e-2)
        ... ]
        >>> [trained.returns.shape for trained in spos.rl.train_stack(some, seeds=[0, 0])]
        [(2, 2), (2, 2)]
    """
    learners, seeds = _checked(learners, seeds)
    kind: Any = jax.tree.structure(learners[0].sampler)
    for learner in learners:
        if not isinstance(learner.environment, Environment):
            raise TypeError(f"environment must be one in pure JAX, got {learner.environment!r}")
        if jax.tree.structure(learner.sampler) != kind:
            raise ValueError("learners must differ in numbers alone, got others")
    began = time.monotonic()
    pairs = list(zip(learners, seeds, strict=True))
    stack = _stacked([learner.sampler for learner in learners])
    keys = jnp.stack([run_key(seed) for seed in seeds])
    starts = _stacked([learner.start(seed) for learner, seed in pairs])
    ends = jax.block_until_ready(_runs(learners[0].num_steps, stack, keys, starts))
    seconds = time.monotonic() - began
    found = []
    for n, (learner, seed) in enumerate(pairs):
        particles, memory = jax.tree.map(lambda leaf, n=n: leaf[n], ends)
        found.append(learner._trained(particles, memory, seed, seconds))
    return found


def _checked(learners: Any, seeds: Any) -> tuple[list[Learner], list[int]]:
    if not isinstance(learners, list | tuple) or not learners:
        raise TypeError(f"learners must be a list of spos.rl.learner(...), got {learners!r}")
    for learner in learners:
        if not isinstance(learner, Learner):
            raise TypeError(f"learners must be of spos.rl.learner(...), got {learner!r}")
    if not isinstance(seeds, Iterable) or isinstance(seeds, str | bytes):
        raise TypeError(f"seeds must be whole numbers, one for each learner, got {seeds!r}")
    whole = [checks.seed("seeds", seed) for seed in seeds]
    if len(whole) != len(learners):
        raise ValueError(f"seeds must be one for each of {len(learners)} learners, got {seeds!r}")
    return list(learners), whole


def _stacked(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(one) for one in leaves]), *trees)


@compiled(1)
def _runs(num_steps: int, stack: Any, keys: jax.Array, starts: Any) -> Any:
    def one(sampler: Any, key: jax.Array, particles: Any) -> Any:
        state, _ = run(sampler, key, particles, num_steps, every=num_steps, observe=_nothing)
        return (state.particles, state.score_memory), state.score_memory.update

    # the counter of steps on the same episodes begins as a constant in here, and so is shared by
    # all runs, which the None insists on: with counters of their own, every step would play new
    # episodes and throw them away
    ends, _ = jax.vmap(one, out_axes=(0, None))(stack, keys, starts)
    return ends


def _nothing(state: State, info: Info) -> None:
    return None
