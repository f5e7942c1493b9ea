"""What is wrong with a method of somebody's own, in a sentence that names its class.

JAX complains too, but of the arguments of a program that the author has never seen. And a drift of
the wrong shape it does not complain of at all: one vector is added to every particle.
"""

import dataclasses
from collections.abc import Hashable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.names import leaf_name
from spos.targets.target import Target
from spos.types import Particles
from spos.values import Value


def fault_of(sampler: Any) -> str | None:
    """Why the sampler is no value that a program can take; None where all is well."""
    kind = type(sampler).__name__
    built = f"build the sampler with {kind}.of(log_prob, step_size)"
    if not isinstance(sampler.target, Target):
        return f"target must be a spos.Target, got {sampler.target!r}: {built}"
    leaves = jax.tree_util.tree_leaves_with_path(sampler)
    for path, leaf in leaves:
        if isinstance(leaf, Value):
            return f"{type(leaf).__name__} is not registered: put @spos.value above the class"
        if not isinstance(leaf, np.ndarray | np.generic | jax.Array | float | int):
            return (
                f"{leaf_name(path)} is a leaf of {kind} but no number, {leaf!r}: declare its field "
                "as spos.static(), or give it as a value"
            )
    if not callable(sampler.step_size):
        return f"step_size must be a schedule, got {sampler.step_size!r}: {built}"
    for field in dataclasses.fields(sampler):
        own = getattr(sampler, field.name)
        if field.metadata.get("static") and not isinstance(own, Hashable):
            return f"{field.name} is static and cannot be hashed: {own!r}; use a tuple"
    return None


def check_drift(name: str, given: Any, particles: Particles) -> None:
    """Is it a `spos.Drift`, with a direction for every particle? Only shapes are looked at."""
    if not isinstance(given, tuple) or len(given) != 2:
        raise TypeError(f"{name} must return spos.Drift(direction), got {checks.shapes(given)}")
    (found, form), (wanted, like) = map(jax.tree.flatten, (given[0], particles))
    same = form == like  # type: ignore[operator]
    if not same or [*map(jnp.shape, found)] != [*map(jnp.shape, wanted)]:
        raise ValueError(
            f"{name} must return a direction like the particles, {checks.shapes(particles)}, got "
            f"{checks.shapes(given[0])}"
        )
