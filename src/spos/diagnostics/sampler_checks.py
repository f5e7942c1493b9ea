"""The checks of `conformance.py`, each a function that says what is well, or raises a `Fault`."""

import json
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.cloud import flatten, size
from spos.diagnostics.reshaped import Reshaped, form_of, other_form
from spos.diagnostics.trial import (
    STEPS,
    Trial,
    close,
    finite,
    noiseless,
    parts,
    same,
    several_steps,
    trial_key,
)
from spos.dynamics.faults import fault_of
from spos.dynamics.sampler import Sampler
from spos.interaction.kernels import Kernel
from spos.loop.run import advance
from spos.names import leaf_name
from spos.targets.target import Target, check_target
from spos.types import Info, State

KEYS = 64  # over which the order of particles is averaged
SURE = 6.0  # standard errors


class Fault(Exception):
    """What is wrong, in a sentence."""


def _value(trial: Trial) -> str:
    kind = type(trial.sampler).__name__
    if (wrong := fault_of(trial.sampler)) is not None:
        raise Fault(wrong)
    leaves, structure = jax.tree.flatten(trial.sampler)
    if jax.tree.unflatten(structure, leaves) != trial.sampler:
        raise Fault(f"{kind} is not what its fields say: flattened and unflattened it differs")
    return f"{kind} is a value with {len(leaves)} numbers as leaves"


def _settings(trial: Trial) -> str:
    try:
        json.dumps(trial.sampler.settings)
    except (TypeError, ValueError) as error:
        raise Fault(f"settings must be plain data: {first_line(error)}") from None
    return "settings are plain data"


def _target(trial: Trial) -> str:
    target = trial.sampler.target
    check_target(target, trial.particles)
    if not finite(target.score(trial.particles)):
        raise Fault("the scores at the particles are not finite: give particles where they are")
    return "the target has finite scores at the particles"


def _init(trial: Trial) -> str:
    state = trial.sampler.init(trial.particles)
    if not isinstance(state, State):
        raise Fault(f"init must give a spos.State, got {type(state).__name__}")
    if not same(state.particles, trial.particles):
        raise Fault("init must leave the particles as they came")
    if state.step != 0:
        raise Fault(f"init must begin at step 0, got {state.step}")
    return "init gives a State with the particles as they came"


def _step(trial: Trial) -> str:
    before = trial.sampler.init(trial.particles)
    given = jax.eval_shape(lambda key: advance(trial.sampler, key, before), trial_key())
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[0], State):
        raise Fault(f"step must give (State, Info), got {type(given).__name__}")
    after, info = given
    if jax.tree.structure(after) != jax.tree.structure(before):  # type: ignore[operator]
        raise Fault("step must keep the structure of the state, or no loop could carry it")
    wanted = jax.tree_util.tree_leaves_with_path(before)
    for (path, old), new in zip(wanted, jax.tree.leaves(after), strict=True):
        if (new.shape, new.dtype) != (jnp.shape(old), jnp.result_type(old)):
            raise Fault(
                f"step must keep shapes and dtypes: {leaf_name(path)} was {jnp.shape(old)} of "
                f"{jnp.result_type(old)} and became {new.shape} of {new.dtype}"
            )
    if not isinstance(info, Info):
        raise Fault(f"step must give a spos.Info beside the state, got {type(info).__name__}")
    for name, seen in info._asdict().items():
        if jnp.shape(seen) != ():
            raise Fault(f"info.{name} must be a scalar, got shape {jnp.shape(seen)}")
    if (number := trial.program(trial_key(), trial.particles).step) != STEPS:
        raise Fault(f"step must add 1 to state.step, which is {number} after {STEPS} steps")
    return "step keeps structure, shapes and dtypes, and sees scalars"


def _all_finite(trial: Trial) -> str:
    if not finite(trial.moved()):
        raise Fault("particles become infinite or NaN: use a smaller step_size, or check drift")
    return "particles stay finite"


def _repeat(trial: Trial) -> str:
    if not same(trial.traced()(trial_key(), trial.particles).particles, trial.moved()):
        raise Fault(
            "the same key gives different results: take all randomness from `key`, never from "
            "np.random or from what a call leaves behind"
        )
    return "the same key gives the same bits"


def _vmap(trial: Trial) -> str:
    keys = jax.random.split(trial_key(), 2)
    starts = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf[::-1]]), trial.particles)
    together = jax.jit(jax.vmap(trial.program))(keys, starts).particles
    for n in range(2):
        start, found = (jax.tree.map(operator.itemgetter(n), each) for each in (starts, together))
        if not close(found, trial.moved(start, keys[n])):
            raise Fault("two runs under jax.vmap differ from the same runs one by one")
    return "runs can be vmapped"


def _tree(trial: Trial) -> str:
    if any(kernel.blocks == "leaf" for kernel in parts(trial.sampler, Kernel)):
        return "not looked at: the kernel has blocks by leaf, so that leaves matter"
    if len({leaf.dtype for leaf in jax.tree.leaves(trial.particles)}) > 1:
        return "not looked at: leaves of several dtypes have no flat matrix"
    other = other_form(trial.particles)
    form = form_of(trial.particles)

    def reshaped(part: Any) -> Any:
        return Reshaped(part, form) if isinstance(part, Target) else part

    like = jax.tree.map(reshaped, trial.sampler, is_leaf=lambda part: isinstance(part, Target))
    if not close(flatten(Trial(like, other).moved()), flatten(trial.moved())):
        raise Fault("a pytree of particles and the flat matrix of the same numbers move apart")
    return "a pytree moves as the flat matrix of the same numbers"


def _order(trial: Trial) -> str:
    own = type(trial.sampler).step is not Sampler.step
    one_step = advance if own else noiseless
    order = np.random.default_rng(0).permutation(size(trial.particles))

    def difference(key: jax.Array) -> jax.Array:
        mixed = jax.tree.map(lambda leaf: leaf[order], trial.particles)
        here, there = (
            flatten(several_steps(one_step, trial.sampler, key, start).particles)
            for start in (trial.particles, mixed)
        )
        return here[order] - there

    found = jax.jit(jax.vmap(difference))(jax.random.split(trial_key(), KEYS))
    error = jnp.std(found, axis=0) / KEYS**0.5
    rounding = 1e-4 * jnp.max(jnp.abs(flatten(trial.particles)), axis=0)
    if not close(jnp.mean(found, axis=0), jnp.zeros_like(error), SURE * error + rounding):
        raise Fault("where a particle goes depends on its place among the others")
    return "the order of particles does not matter"


def _meeting(trial: Trial) -> str:
    half = size(trial.particles) // 2
    all_meet = jax.tree.map(lambda leaf: leaf.at[:].set(leaf[0]), trial.particles)
    half_meet = jax.tree.map(lambda leaf: leaf.at[:half].set(leaf[0]), trial.particles)
    for start, words in ((all_meet, "all"), (half_meet, "half of the")):
        if not finite(trial.moved(start)):
            raise Fault(f"particles become infinite or NaN where {words} particles meet")
    return "particles may meet"


CHECKS: dict[str, Callable[[Trial], str]] = {
    "value": _value,
    "settings": _settings,
    "target": _target,
    "init": _init,
    "step": _step,
    "finite": _all_finite,
    "repeat": _repeat,
    "vmap": _vmap,
    "tree": _tree,
    "order": _order,
    "meeting": _meeting,
}


def first_line(error: Exception) -> str:
    return (str(error).strip() or "no message").splitlines()[0]
