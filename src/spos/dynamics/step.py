"""One step of particles along a drift, with noise.

    θ_i += h P v_i + sqrt(2 h T P) ξ_i,        ξ_i standard normal

`v` is the drift an algorithm computes, `T` its noise level (1/β, or none) and `h` the step size of
this step, which drives drift and noise alike. `P` is a diagonal preconditioner made from the
drift's own history, 1 by default. It scales the drift by P and the noise by sqrt(P), so that the
target stays in balance; its slow change along the path is neglected, as in preconditioned SGLD.

    rmsprop   V ← a V + (1 - a) v²      P = 1 / (ε + sqrt(V))
    adagrad   V ← V + v²                P = 1 / (ε + sqrt(V))
    adam      V ← a V + (1 - a) v²      P = 1 / (ε + sqrt(V̂)),    m̂ in place of v

Adam's m̂ and V̂ are running means of v and v², corrected for their start at zero. The noise is as
without momentum: m̂ has the mean of v and lags it by a few steps, in which θ hardly moves.

`spos.ensemble()` is no diagonal: P is the covariance of the particles (see `spos.ensemble`).

A deterministic method may instead hand its drift to any optax optimizer (`optimize`), and a method
with momentum keeps a velocity beside every particle (`underdamped`):

    u_i += sqrt(2h) v_i,   θ_i += sqrt(h/2) u_i,                      a kick, then half the way
    u_i ← (1 - f) u_i + sqrt(f(2 - f)) ξ_i,   θ_i += sqrt(h/2) u_i    friction, the other half
"""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from spos import checks
from spos.cloud import expected_particle_distance, norm
from spos.dynamics.ensemble import Ensemble, check_cloud, cloud_noise, whitened
from spos.dynamics.noise import normal_matrix
from spos.dynamics.schedules import as_schedule
from spos.targets.target import check_target, estimator_of
from spos.types import Info, Particles, PyTree, Sampler, Schedule, State, Target

ONE_DRAW = 2**20  # normals drawn at once and dealt to the leaves; more of them would only be moved

# (key, state, scores) -> (drift, bandwidth)
Drift = Callable[[jax.Array, State, Particles], tuple[Particles, jax.Array]]


class Move(NamedTuple):
    """How a drift becomes new particles."""

    init: Callable[[Particles], PyTree]
    apply: Callable[..., tuple[Particles, PyTree]]  # (key, h, particles, drift, memory)
    around: Callable[[Drift], Drift] = lambda drift: drift  # the coordinates a drift is taken in


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

    def direction(self, drift: Particles, memory: PyTree) -> Particles:
        """What P scales; `memory` is that after `update`."""
        return drift


class AdamMemory(NamedTuple):
    square: Particles
    mean: Particles
    steps: jax.Array


@dataclass(frozen=True)
class Adam(Preconditioner):
    """P from a corrected running square, and a running mean of the drift."""

    momentum: float = 0.9

    def init(self, particles: Particles) -> AdamMemory:
        zeros = jax.tree.map(jnp.zeros_like, particles)
        return AdamMemory(zeros, zeros, jnp.zeros((), jnp.int32))

    def update(self, drift: Particles, memory: AdamMemory) -> tuple[Particles, AdamMemory]:
        def blend(keep: float, old: Particles, new: Particles) -> Particles:
            return jax.tree.map(lambda a, b: keep * a + (1.0 - keep) * b, old, new)

        square = blend(self.keep, memory.square, jax.tree.map(jnp.square, drift))
        mean = blend(self.momentum, memory.mean, drift)
        memory = AdamMemory(square, mean, memory.steps + 1)
        seen = 1.0 - self.keep**memory.steps
        scale = jax.tree.map(lambda m: 1.0 / (self.epsilon + jnp.sqrt(m / seen)), square)
        return scale, memory

    def direction(self, drift: Particles, memory: AdamMemory) -> Particles:
        return jax.tree.map(lambda m: m / (1.0 - self.momentum**memory.steps), memory.mean)


def rmsprop(decay: float = 0.9, epsilon: float = 1e-8) -> Preconditioner:
    """Scale each parameter by the recent size of its drift."""
    decay = checks.fraction("decay", decay)
    return Preconditioner("rmsprop", decay, 1.0 - decay, checks.positive("epsilon", epsilon))


def adagrad(epsilon: float = 1e-8) -> Preconditioner:
    """Scale each parameter by the total size of its drift so far: steps shrink like 1/sqrt(k)."""
    return Preconditioner("adagrad", 1.0, 1.0, checks.positive("epsilon", epsilon))


def adam(momentum: float = 0.9, decay: float = 0.999, epsilon: float = 1e-8) -> Adam:
    """Adam's step: `rmsprop` with a running mean of the drift in place of the drift."""
    momentum, decay = checks.fraction("momentum", momentum), checks.fraction("decay", decay)
    return Adam("adam", decay, 1.0 - decay, checks.positive("epsilon", epsilon), momentum)


def langevin(
    noise: Any,
    preconditioner: Preconditioner | Ensemble | None,
    correlate: Callable[[Particles, Particles], Particles] | None = None,
) -> Move:
    """The step above; `noise` is T, or None for no noise at all. `correlate(particles, normals)`
    makes the noise of one particle depend on that of others."""
    if isinstance(preconditioner, Ensemble):
        if correlate is not None:
            raise ValueError("preconditioner must not be spos.ensemble() where noise is correlated")
        return _in_ensemble(noise)
    if preconditioner is not None and not isinstance(preconditioner, Preconditioner):
        raise TypeError(
            "preconditioner must be spos.rmsprop(...), spos.adagrad(...), spos.adam(...), "
            f"spos.ensemble() or None, got {preconditioner!r}"
        )

    def init(particles: Particles) -> PyTree:
        return () if preconditioner is None else preconditioner.init(particles)

    def apply(key, h, particles, drift, memory):
        scale = None
        if preconditioner is not None:
            scale, memory = preconditioner.update(drift, memory)
            drift = preconditioner.direction(drift, memory)
            drift = jax.tree.map(jnp.multiply, scale, drift)
        moved = jax.tree.map(lambda x, v: x + h.astype(x.dtype) * v, particles, drift)
        if noise is None:
            return moved, memory
        amount = jnp.sqrt(2.0 * h * noise)
        kick = standard_normal(key, particles)
        if correlate is not None:
            kick = correlate(particles, kick)
        if scale is not None:
            kick = jax.tree.map(lambda xi, p: jnp.sqrt(p) * xi, kick, scale)
        return jax.tree.map(lambda x, xi: x + amount.astype(x.dtype) * xi, moved, kick), memory

    return Move(init, apply)


def _in_ensemble(noise: Any) -> Move:
    """The step in the coordinates in which the cloud is round."""

    def init(particles: Particles) -> PyTree:
        check_cloud(particles)
        return ()

    def apply(key, h, particles, drift, memory):
        moved = add(particles, scaled(h, drift))
        if noise is None:
            return moved, memory
        kick = cloud_noise(lambda shaped: standard_normal(key, shaped), particles)
        return add(moved, scaled(jnp.sqrt(2.0 * h * noise), kick)), memory

    return Move(init, apply, lambda drift: whitened(drift, noise))


def underdamped(friction: Any) -> Move:
    """The step with a velocity, which begins at rest; `friction` is f, its share lost in a step."""
    keep = 1.0 - friction

    def init(particles: Particles) -> PyTree:
        return jax.tree.map(jnp.zeros_like, particles)

    def apply(key, h, particles, drift, velocity):
        kick, way = jnp.sqrt(2.0 * h), jnp.sqrt(0.5 * h)
        velocity = add(velocity, scaled(kick, drift))
        halfway = add(particles, scaled(way, velocity))
        renewed = scaled(jnp.sqrt(1.0 - keep**2), standard_normal(key, particles))
        velocity = add(scaled(keep, velocity), renewed)
        return add(halfway, scaled(way, velocity)), velocity

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


def noiseless(
    step_size: Any, preconditioner: Preconditioner | Ensemble | None, optimizer: Any
) -> tuple[Move, Schedule]:
    """How a deterministic method moves: by a step size, or as an optax optimizer would."""
    if optimizer is None:
        if step_size is None:
            raise ValueError("step_size must be given unless an optimizer is, got None")
        return langevin(None, preconditioner), as_schedule("step_size", step_size)
    if step_size is not None or preconditioner is not None:
        raise ValueError(
            "step_size and preconditioner must be left out when an optimizer is given: "
            f"it has its own, got step_size={step_size!r}, preconditioner={preconditioner!r}"
        )
    return optimize(optimizer), lambda step: math.nan


def build_sampler(
    target: Target, drift: Drift, move: Move, step_size: Schedule, settings: Mapping[str, Any]
) -> Sampler:
    """The sampler that scores, drifts and moves."""
    estimator = estimator_of(target)
    drift = move.around(drift)
    blocks = getattr(settings.get("kernel"), "blocks", None)
    if blocks is not None and isinstance(settings.get("preconditioner"), Ensemble):
        raise ValueError(
            "kernel must not have blocks with spos.ensemble(), which mixes all parameters, "
            f"got blocks={blocks!r}"
        )

    def init(particles: Particles) -> State:
        particles = checks.particles(particles)
        check_target(target, particles)
        memory, recalled = move.init(particles), estimator.init(particles)
        unknown = jnp.full((), jnp.nan, jnp.result_type(*jax.tree.leaves(particles)))
        start = jnp.zeros((), jnp.int32)
        return State(particles, start, unknown, memory, recalled)

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
    ends = list(itertools.accumulate(leaf[0].size for leaf in leaves))
    dtype, rows = jnp.result_type(*leaves), len(leaves[0])
    if dtype != jnp.float64 and rows * ends[-1] <= ONE_DRAW:
        columns = jnp.split(normal_matrix(key, (rows, ends[-1]), dtype), ends[:-1], axis=1)
    else:
        columns = [
            normal_matrix(key, (rows, end - first), dtype, first)
            for first, end in itertools.pairwise([0, *ends])
        ]
    drawn = [
        part.reshape(leaf.shape).astype(leaf.dtype)
        for part, leaf in zip(columns, leaves, strict=True)
    ]
    return jax.tree.unflatten(treedef, drawn)


def add(one: Particles, other: Particles) -> Particles:
    return jax.tree.map(jnp.add, one, other)


def scaled(weight: Any, vectors: Particles) -> Particles:
    """`weight · vectors` in the vectors' own precision."""
    return jax.tree.map(lambda v: jnp.asarray(weight, v.dtype) * v, vectors)
