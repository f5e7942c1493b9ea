"""One step of particles along a drift, with noise: how a drift becomes new particles.

    θ_i += h P v_i + sqrt(2 h T P) ξ_i,        ξ_i standard normal                     Langevin

`v` is the drift an algorithm computes, `T` its noise level (1/β, or none) and `h` the step size of
this step, which drives drift and noise alike. `P` is a diagonal preconditioner
(`preconditioners.py`), 1 by default, or the covariance of the particles (`ensemble.py`).

A deterministic method may instead hand its drift to any optax optimizer (`Optimize`), and a method
with momentum keeps a velocity beside every particle (`Underdamped`):

    u_i += sqrt(2h) v_i,   θ_i += sqrt(h/2) u_i,                      a kick, then half the way
    u_i ← (1 - f) u_i + sqrt(f(2 - f)) ξ_i,   θ_i += sqrt(h/2) u_i    friction, the other half
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from spos.dynamics.ensemble import Ensemble, cloud_noise, whitened
from spos.dynamics.noise import normal_matrix
from spos.dynamics.preconditioners import Preconditioner
from spos.interaction.diffusion import correlate
from spos.interaction.kernels import Kernel
from spos.mesh.shards import ALL, OWN, by_shards
from spos.programs import compiled_fast
from spos.types import Number, Particles, PyTree, State

ONE_DRAW = 2**20  # normals drawn at once and dealt to the leaves; more of them would only be moved


class Drift(NamedTuple):
    """Where particles are drawn.

    Attributes:
        direction: a pytree like the particles.
        bandwidth: η² of the kernel that said so; nan without one.
    """

    direction: Particles
    bandwidth: Any = jnp.nan


DriftOf = Callable[[jax.Array, State, Particles], tuple[Particles, Any]]  # (key, state, scores)


@dataclass(frozen=True)
class Langevin:
    """The first formula. `noise` is T, or None for no noise at all; a `kernel` makes the noise of
    one particle depend on that of others (`spos.noisy_svgd`)."""

    noise: Number | None = None
    preconditioner: Preconditioner | None = None
    kernel: Kernel | None = None

    def init(self, particles: Particles) -> PyTree:
        return () if self.preconditioner is None else self.preconditioner.init(particles)

    def drift(self, drift: DriftOf, key: jax.Array, state: State, scores: Particles) -> Drift:
        """The drift in the coordinates of the step."""
        if isinstance(self.preconditioner, Ensemble):
            return Drift(*whitened(drift, self.noise, key, state, scores))
        return Drift(*drift(key, state, scores))

    def apply(
        self, key: jax.Array, h: jax.Array, particles: Particles, drift: Particles, memory: PyTree
    ) -> tuple[Particles, PyTree]:
        if isinstance(self.preconditioner, Ensemble):
            return self._in_ensemble(key, h, particles, drift), memory
        scale = None
        if self.preconditioner is not None:
            scale, drift, memory = self.preconditioner.update(drift, memory)
            drift = jax.tree.map(jnp.multiply, scale, drift)
        if self.noise is None:
            return _moved(h, particles, drift), memory
        amount = jnp.sqrt(2.0 * h * self.noise)
        kick = standard_normal(key, particles)
        if self.kernel is not None:
            kick = correlate(self.kernel, particles, kick)

        def all_at_once(particles: Particles, drift: Particles, kick: Particles) -> Particles:
            if scale is not None:
                kick = jax.tree.map(lambda xi, p: jnp.sqrt(p) * xi, kick, scale)
            moved = _moved(h, particles, drift)
            return jax.tree.map(lambda x, xi: x + amount.astype(x.dtype) * xi, moved, kick)

        if not compiled_fast():
            return all_at_once(particles, drift, kick), memory
        # A branch that is always taken. Where XLA compiles fast, a loop that writes to where it
        # reads takes one number at a time, as this one would; what a branch gives is elsewhere.
        always = (jax.random.key_data(key).astype(jnp.uint32).ravel()[0] | 1) != 0
        return jax.lax.cond(always, all_at_once, _zeros, particles, drift, kick), memory

    def _in_ensemble(
        self, key: jax.Array, h: jax.Array, particles: Particles, drift: Particles
    ) -> Particles:
        moved = add(particles, scaled(h, drift))
        if self.noise is None:
            return moved
        kick = cloud_noise(lambda shaped: standard_normal(key, shaped), particles)
        return add(moved, scaled(jnp.sqrt(2.0 * h * self.noise), kick))


@dataclass(frozen=True)
class Underdamped:
    """The step with a velocity, which begins at rest; `friction` is f, its share lost in a step."""

    friction: Number

    def init(self, particles: Particles) -> PyTree:
        return jax.tree.map(jnp.zeros_like, particles)

    def drift(self, drift: DriftOf, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(*drift(key, state, scores))

    def apply(
        self, key: jax.Array, h: jax.Array, particles: Particles, drift: Particles, memory: PyTree
    ) -> tuple[Particles, PyTree]:
        keep = 1.0 - self.friction
        kick, way = jnp.sqrt(2.0 * h), jnp.sqrt(0.5 * h)
        velocity = add(memory, scaled(kick, drift))
        halfway = add(particles, scaled(way, velocity))
        renewed = scaled(jnp.sqrt(1.0 - keep**2), standard_normal(key, particles))
        velocity = add(scaled(keep, velocity), renewed)
        return add(halfway, scaled(way, velocity)), velocity


@dataclass(frozen=True)
class Optimize:
    """The drift as an ascent direction for an optax optimizer, which brings its own step size."""

    optimizer: optax.GradientTransformation

    def init(self, particles: Particles) -> PyTree:
        return self.optimizer.init(particles)

    def drift(self, drift: DriftOf, key: jax.Array, state: State, scores: Particles) -> Drift:
        return Drift(*drift(key, state, scores))

    def apply(
        self, key: jax.Array, h: jax.Array, particles: Particles, drift: Particles, memory: PyTree
    ) -> tuple[Particles, PyTree]:
        descent = jax.tree.map(jnp.negative, drift)
        updates, memory = self.optimizer.update(descent, memory, particles)
        return jax.tree.map(lambda x, u: (x + u).astype(x.dtype), particles, updates), memory


Move = Langevin | Underdamped | Optimize


def standard_normal(key: jax.Array, particles: Particles) -> Particles:
    """Normals shaped like the particles. A leaf gets the columns it would have in the flat matrix
    of all leaves, so that a pytree and that matrix take the same path."""
    if jnp.result_type(*jax.tree.leaves(particles)) == jnp.float64:
        return _standard_normal(key, particles)  # by JAX, which shards its own
    return by_shards(_standard_normal, (ALL, OWN), OWN)(key, particles)


def _standard_normal(key: jax.Array, particles: Particles) -> Particles:
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


def _zeros(particles: Particles, *_: Particles) -> Particles:
    return jax.tree.map(jnp.zeros_like, particles)


def _moved(h: jax.Array, particles: Particles, drift: Particles) -> Particles:
    return jax.tree.map(lambda x, v: x + h.astype(x.dtype) * v, particles, drift)


def add(one: Particles, other: Particles) -> Particles:
    return jax.tree.map(jnp.add, one, other)


def scaled(weight: Any, vectors: Particles) -> Particles:
    """`weight · vectors` in the vectors' own precision."""
    return jax.tree.map(lambda v: jnp.asarray(weight, v.dtype) * v, vectors)
