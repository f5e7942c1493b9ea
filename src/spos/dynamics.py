"""One step of particles along a drift, with noise.

    θ_i += h P v_i + sqrt(2 h T P) ξ_i,        ξ_i standard normal

`v` is the drift an algorithm computes, `T` its noise level (1/β, or none) and `h` the step size of
this step, which drives drift and noise alike. `P` is a diagonal preconditioner made from the
drift's own history, 1 by default. It scales the drift by P and the noise by sqrt(P), so that the
target stays in balance; its slow change along the path is neglected, as in preconditioned SGLD.

    rmsprop   V ← a V + (1 - a) v²      P = 1 / (ε + sqrt(V))
    adagrad   V ← V + v²                P = 1 / (ε + sqrt(V))

A deterministic method may instead hand its drift to any optax optimizer (`optimize`).
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.geometry import expected_particle_distance, norm
from spos.noise import normal_matrix
from spos.score import check_target, estimator_of
from spos.types import Info, Particles, PyTree, Sampler, Schedule, State, Target

# (key, state, scores) -> (drift, bandwidth)
Drift = Callable[[jax.Array, State, Particles], tuple[Particles, jax.Array]]


class Move(NamedTuple):
    """How a drift becomes new particles."""

    init: Callable[[Particles], PyTree]
    apply: Callable[..., tuple[Particles, PyTree]]  # (key, h, particles, drift, memory)


@dataclass(frozen=True)
class Preconditioner:
    """P = 1 / (epsilon + sqrt(V)), V a running square of the drift."""

    name: str
    keep: float  # of the old V
    add: float  # of the new square
    epsilon: float

    def init(self, particles: Particles) -> Particles:
        return jax.tree.map(jnp.zeros_like, particles)

    def update(self, drift: Particles, memory: Particles) -> tuple[Particles, Particles]:
        memory = jax.tree.map(lambda v, m: self.keep * m + self.add * v * v, drift, memory)
        return jax.tree.map(lambda m: 1.0 / (self.epsilon + jnp.sqrt(m)), memory), memory


def rmsprop(decay: float = 0.9, epsilon: float = 1e-8) -> Preconditioner:
    """Scale each parameter by the recent size of its drift."""
    decay = checks.fraction("decay", decay)
    return Preconditioner("rmsprop", decay, 1.0 - decay, checks.positive("epsilon", epsilon))


def adagrad(epsilon: float = 1e-8) -> Preconditioner:
    """Scale each parameter by the total size of its drift so far: steps shrink like 1/sqrt(k)."""
    return Preconditioner("adagrad", 1.0, 1.0, checks.positive("epsilon", epsilon))


def langevin(noise: Any, preconditioner: Preconditioner | None) -> Move:
    """The step above; `noise` is T, or None for no noise at all."""
    if preconditioner is not None and not isinstance(preconditioner, Preconditioner):
        raise TypeError(
            "preconditioner must be spos.rmsprop(...), spos.adagrad(...) or None, "
            f"got {preconditioner!r}"
        )

    def init(particles: Particles) -> PyTree:
        return () if preconditioner is None else preconditioner.init(particles)

    def apply(key, h, particles, drift, memory):
        scale = None
        if preconditioner is not None:
            scale, memory = preconditioner.update(drift, memory)
            drift = jax.tree.map(jnp.multiply, scale, drift)
        moved = jax.tree.map(lambda x, v: x + h.astype(x.dtype) * v, particles, drift)
        if noise is None:
            return moved, memory
        amount = jnp.sqrt(2.0 * h * noise)
        kick = standard_normal(key, particles)
        if scale is not None:
            kick = jax.tree.map(lambda xi, p: jnp.sqrt(p) * xi, kick, scale)
        return jax.tree.map(lambda x, xi: x + amount.astype(x.dtype) * xi, moved, kick), memory

    return Move(init, apply)


def optimize(optimizer: Any) -> Move:
    """The drift as an ascent direction for an optax optimizer, which brings its own step size."""
    if not (callable(getattr(optimizer, "init", None)) and hasattr(optimizer, "update")):
        raise TypeError(f"optimizer must be an optax optimizer, got {optimizer!r}")

    def apply(key, h, particles, drift, memory):
        descent = jax.tree.map(jnp.negative, drift)
        updates, memory = optimizer.update(descent, memory, particles)
        return jax.tree.map(lambda x, u: (x + u).astype(x.dtype), particles, updates), memory

    return Move(optimizer.init, apply)


def build_sampler(
    target: Target, drift: Drift, move: Move, step_size: Schedule, settings: Mapping[str, Any]
) -> Sampler:
    """The sampler that scores, drifts and moves."""
    estimator = estimator_of(target)

    def init(particles: Particles) -> State:
        particles = checks.particles(particles)
        check_target(target, particles)
        unknown = jnp.full((), jnp.nan, jnp.result_type(*jax.tree.leaves(particles)))
        start = jnp.zeros((), jnp.int32)
        return State(particles, start, unknown, move.init(particles), estimator.init(particles))

    def step(key: jax.Array, state: State, batch: PyTree = None) -> tuple[State, Info]:
        h = jnp.asarray(step_size(state.step), jnp.result_type(float))
        scores, recalled = estimator.apply(state.score_memory, state.particles, batch)
        direction, bandwidth = drift(jax.random.fold_in(key, 1), state, scores)
        bandwidth = jnp.asarray(bandwidth, state.bandwidth.dtype)
        particles, memory = move.apply(key, h, state.particles, direction, state.memory)
        info = Info(
            step_size=h,
            bandwidth=bandwidth,
            drift_norm=norm(direction),
            score_norm=norm(scores),
            epd=expected_particle_distance(state.particles),
        )
        return State(particles, state.step + 1, bandwidth, memory, recalled), info

    about = {**settings, "target": getattr(target, "settings", None)}
    return Sampler(init, step, target, about)


def standard_normal(key: jax.Array, particles: Particles) -> Particles:
    """Normals shaped like the particles. A leaf gets the columns it would have in the flat matrix
    of all leaves, so that a pytree and that matrix take the same path."""
    leaves, treedef = jax.tree.flatten(particles)
    columns = [leaf[0].size for leaf in leaves]
    dtype = jnp.result_type(*leaves)
    drawn = [
        normal_matrix(key, (len(leaf), width), dtype, first).reshape(leaf.shape).astype(leaf.dtype)
        for leaf, width, first in zip(
            leaves, columns, itertools.accumulate(columns, initial=0), strict=False
        )
    ]
    return jax.tree.unflatten(treedef, drawn)


def scaled(weight: Any, vectors: Particles) -> Particles:
    """`weight · vectors` in the vectors' own precision."""
    return jax.tree.map(lambda v: jnp.asarray(weight, v.dtype) * v, vectors)
