"""What `sample` is asked to do, checked, and the same in every process of a run."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from spos import checks
from spos.dynamics.sampler import Sampler, check_sampler_type
from spos.io.checkpoint import fingerprint
from spos.loop.code import code_of
from spos.loop.run import Seed, check_steps, is_key, shown_seed
from spos.mesh.shards import mesh_of
from spos.types import Particles, PathLike, State

Callback = Callable[[State, dict[str, np.ndarray]], Any]


def checked(
    sampler: Sampler,
    particles: Particles,
    num_steps: int,
    seed: Seed,
    history_every: int | None,
    callback: Callback | None,
    callback_every: int,
    checkpoint: PathLike | None,
    checkpoint_every: float,
) -> dict[str, Any]:
    """What the processes of one run must have in common; nothing where there is one."""
    check_sampler_type(sampler)
    if not is_key(seed):
        checks.seed("seed", seed)
    checks.whole("num_steps", num_steps, at_least=0)
    if history_every is not None:
        checks.whole("history_every", history_every)
    if callback is not None:
        checks.function("callback", callback)
    checks.whole("callback_every", callback_every)
    checks.positive("checkpoint_every", checkpoint_every)
    if checkpoint is not None:
        checks.folder("checkpoint", checkpoint)
    check_steps(sampler.step_size, num_steps)
    mesh = mesh_of(particles)
    if mesh is None or not mesh.is_multi_process:
        return {}
    particles = checks.particles(particles)
    return {
        "num_steps": num_steps,
        "seed": shown_seed(seed),
        "history_every": history_every,
        "callback_every": None if callback is None else callback_every,
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "particles": str(jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape)}", particles)),
        "sampler": str(sampler.settings)[:500],
        "numbers and data": fingerprint([leaf for leaf in jax.tree.leaves(sampler) if _here(leaf)]),
        "code": code_of(sampler),
    }


def _here(leaf: Any) -> bool:
    return not isinstance(leaf, jax.Array) or leaf.is_fully_addressable
