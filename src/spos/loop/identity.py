"""By what a run is known when it is resumed: another run is refused in a sentence.

Settings alone do not tell two log-densities or two schedules apart, and a function has no name that
can be trusted. So a run is also known by its code (`code.py`), and by what it does: its step sizes
at several k, its signed scores at the start and around it, and the step that it takes from there;
the same is compared at the state that was saved.

Of each of these three clouds a *probe* is kept: some entries of the first particles, spread over
all parameters, and sums of all entries with random signs, which any parameter can change. They are
compared within rounding, each kind by its own size: a step is much smaller than a score.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.cloud import flatten
from spos.dynamics.sampler import Sampler
from spos.io.checkpoint import agree, fingerprint
from spos.loop.code import LABEL, code_of
from spos.loop.feed import stand_in
from spos.loop.run import draw
from spos.mesh import shards
from spos.programs import compiled
from spos.targets.source import detached
from spos.types import Particles, PyTree, State

PROBE = "probe"
STEPS = (0, 1, 10, 100, 1000, 10_000)  # at which step sizes are compared
NUMBERS = 12  # particles that are looked at, and numbers of each kind in a probe


def identity_of(
    sampler: Sampler,
    state: State,
    key: jax.Array,
    seed: Any,
    history_every: int | None,
    fingerprint: Callable[[PyTree], str] = fingerprint,
) -> dict[str, Any]:
    """What a run must have in common with the one that was saved, as JSON can hold it."""
    sizes = [float(sampler.step_size(jnp.asarray(k))) for k in STEPS]
    return {
        "history_every": history_every,
        "sampler": sampler.settings,
        "seed": seed,
        "start": fingerprint(state.particles),
        "data": fingerprint(sampler.target),
        "step_size": [f"{size:.5g}" for size in sizes],
        "scores and steps at the start": rounded(probe(sampler, key, state)),
        LABEL: code_of(sampler),
    }


def rounded(numbers: np.ndarray) -> Any:
    """As JSON can hold them; they are compared with a tolerance."""
    return [rounded(each) if np.ndim(each) else float(f"{each:.4g}") for each in numbers]


def probe(sampler: Sampler, key: jax.Array, state: State) -> np.ndarray:
    """Scores at the particles and around them, and moves of the next step: two rows of each."""
    return np.asarray(_probe(detached(sampler), key, state, stand_in(sampler)))


@compiled()
def _probe(sampler: Sampler, key: jax.Array, state: State, batch: PyTree) -> jax.Array:
    key = jax.random.fold_in(key, state.step)
    batch = draw(sampler, key, state.step) if batch is None else batch
    around = jax.tree.map(lambda x: x + 0.5 * (1.0 + jnp.abs(x)), state.particles)
    after, _ = sampler.step(key, state, batch)
    moved = jax.tree.map(jnp.subtract, after.particles, state.particles)
    scores = [sampler.target.score(place, batch) for place in (state.particles, around)]
    kinds = [kind for cloud in (*scores, moved) for kind in some_numbers(cloud)]
    return shards.on_all(jnp.stack(kinds))


def some_numbers(cloud: Particles) -> tuple[jax.Array, jax.Array]:
    """Entries of the first particles, and sums of all of theirs with random signs."""
    few = jax.tree.map(lambda leaf: leaf[:NUMBERS], cloud)  # sharded leaves are not joined whole
    entries = flatten(few).ravel().astype(jnp.float32)
    spread = np.linspace(0, entries.size - 1, NUMBERS).round().astype(int)
    signs = jax.random.rademacher(jax.random.key(0), entries.shape, entries.dtype)
    signed = jnp.pad(signs * entries, (0, -entries.size % NUMBERS))
    return entries[spread], jnp.sum(signed.reshape(NUMBERS, -1), axis=1)


def must_agree(folder: Path, then: np.ndarray, now: np.ndarray) -> None:
    """The same target and the same method at the state that was saved, or an error."""
    if not agree(then.tolist(), now.tolist()):
        raise ValueError(
            f"checkpoint {folder} belongs to another run: at the state that was saved, its scores "
            "and steps were others. Use another folder, or delete this one."
        )
