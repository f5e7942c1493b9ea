"""By what a run is known when it is resumed: another run is refused in a sentence.

Settings alone do not tell two log-densities or two schedules apart, and a function has no name that
can be trusted. So a run is also known by what it does: its step sizes at several k, its signed
scores at the start and around it, and the step that it takes from there; the same is compared at
the state that was saved. Where a function's code can be had, it counts too.
"""

import functools
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.cloud import flatten
from spos.dynamics.sampler import Sampler
from spos.io.checkpoint import agree, fingerprint
from spos.loop.feed import stand_in
from spos.loop.run import draw
from spos.programs import compiled
from spos.targets.source import detached
from spos.types import PyTree, State
from spos.values import Value, fields

PROBE = "probe"
STEPS = (0, 1, 10, 100, 1000, 10_000)  # at which step sizes are compared
NUMBERS = 12  # of each kind in a probe


def identity_of(sampler: Sampler, state: State, key: jax.Array, seed: Any) -> dict[str, Any]:
    """What a run must have in common with the one that was saved, as JSON can hold it."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    sizes = [float(sampler.step_size(jnp.asarray(k))) for k in STEPS]
    return {
        "sampler": sampler.settings,
        "seed": seed,
        "start": fingerprint(state.particles),
        "data": fingerprint(sampler.target),
        "step_size": [f"{size:.5g}" for size in sizes],
        # rounded, and compared with a tolerance
        "scores and steps at the start": [float(f"{x:.4g}") for x in probe(sampler, key, state)],
        f"code under Python {python}": code_of(sampler),
    }


def probe(sampler: Sampler, key: jax.Array, state: State) -> np.ndarray:
    """Some scores at the particles and around them, and some moves of the next step."""
    return np.asarray(_probe(detached(sampler), key, state, stand_in(sampler)))


@compiled()
def _probe(sampler: Sampler, key: jax.Array, state: State, batch: PyTree) -> jax.Array:
    key = jax.random.fold_in(key, state.step)
    batch = draw(sampler, key, state.step) if batch is None else batch
    around = jax.tree.map(lambda x: x + 0.5 * (1.0 + jnp.abs(x)), state.particles)
    after, _ = sampler.step(key, state, batch)
    moved = jax.tree.map(jnp.subtract, after.particles, state.particles)
    seen = (sampler.target.score(place, batch) for place in (state.particles, around))
    return jnp.concatenate(
        [flatten(tree).ravel()[:NUMBERS].astype(jnp.float32) for tree in (*seen, moved)]
    )


def must_agree(folder: Path, then: np.ndarray, now: np.ndarray) -> None:
    """The same target and the same method at the state that was saved, or an error."""
    if not agree(then.tolist(), now.tolist()):
        raise ValueError(
            f"checkpoint {folder} belongs to another run: at the state that was saved, its scores "
            "and steps were others. Use another folder, or delete this one."
        )


def code_of(value: Any) -> str:
    """A short name for the code of all functions in a value."""
    hasher = hashlib.sha256()
    for function in _functions(value):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            _hash_code(hasher, code)
            for cell in getattr(function, "__closure__", None) or ():
                hasher.update(_plain(cell))
    return hasher.hexdigest()[:16]


def _functions(one: Any) -> Iterator[Any]:
    if isinstance(one, functools.partial):  # JAX's own is one, too
        yield from _functions(one.func)
        for each in (*one.args, *one.keywords.values()):
            yield from _functions(each)
    elif isinstance(one, Value):
        for each in fields(one).values():
            yield from _functions(each)
    elif isinstance(one, tuple | list):
        for each in one:
            yield from _functions(each)
    elif callable(one):
        yield one


def _hash_code(hasher: Any, code: CodeType) -> None:
    hasher.update(code.co_code)
    hasher.update(repr((code.co_names, code.co_varnames)).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _hash_code(hasher, constant)
        elif isinstance(constant, int | float | str | None):
            hasher.update(repr(constant).encode())


def _plain(cell: Any) -> bytes:
    """A number that a function closes over; other things have no name that lasts."""
    try:
        held = cell.cell_contents
    except ValueError:  # empty
        return b""
    return repr(held).encode() if isinstance(held, bool | int | float | str) else b""
