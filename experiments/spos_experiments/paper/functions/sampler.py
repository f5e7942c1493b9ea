"""SPOS whose kernel compares what networks say; the mathematics is on top of the package.

The Stein direction of one kernel for all of θ also shares scores of what is no weight, such as the
noise; the other leaves each its own.
"""

from typing import Any

import jax
import jax.numpy as jnp

import spos
from spos.cloud import flatten, size, unflatten
from spos.dynamics.moves import Langevin
from spos.interaction.pairwise import prepare, squared_distances
from spos.types import Number, Particles

RBF = spos.rbf()


@spos.value
class ByOutputs(spos.Sampler):
    """Langevin drift and noise of weight 1/β, and a direction by outputs at random rows."""

    beta: Number
    say: Any  # say(θ, x): the outputs of one network at rows x
    inputs: jax.Array
    preconditioner: Any
    rows: int = spos.static()
    stein: bool = spos.static()

    @property
    def noise(self) -> Number:
        return 1.0 / self.beta

    @property
    def move(self) -> Langevin:
        return Langevin(self.noise, self.preconditioner)

    def drift(self, key: jax.Array, state: spos.State, scores: Particles) -> spos.Drift:
        x = self.inputs[jax.random.randint(key, (self.rows,), 0, len(self.inputs))]

        def outputs(theta: Any) -> jax.Array:
            return jnp.ravel(self.say(theta, x))

        direction = by_stein if self.stein else by_density
        moved, eta2 = direction(outputs, state.particles, scores)
        return spos.Drift(jax.tree.map(lambda s, g: self.noise * s + g, scores, moved), eta2)


def by_density(outputs: Any, particles: Particles, scores: Particles) -> tuple[Particles, Any]:
    """(1/M) [s_i - J_iᵀ Σ_j ∂k_ij/∂f_i / Σ_j k_ij], and η²."""
    f, pull = jax.vmap(lambda theta: jax.vjp(outputs, theta))(particles)
    k, slope, eta2 = kernel(f)
    away = slope * (jnp.sum(k, axis=1, keepdims=True) * f - k @ f)
    away = away / jnp.sum(k, axis=1, keepdims=True)
    (pushed,) = jax.vmap(lambda pull, cotangent: pull(cotangent))(pull, away)
    return jax.tree.map(lambda s, p: (s + p) / len(f), scores, pushed), eta2


def by_stein(outputs: Any, particles: Particles, scores: Particles) -> tuple[Particles, Any]:
    """(1/M) Σ_j [k_ij s_j + J_jᵀ ∂k_ij/∂f_j], and η²."""
    f, pull = jax.vmap(lambda theta: jax.vjp(outputs, theta))(particles)
    k, slope, eta2 = kernel(f)
    toward = (
        slope * k.T[:, :, None] * (f[None, :, :] - f[:, None, :])
    )  # of j for i: (j, i, outputs)
    every = jax.vmap(jax.vmap(lambda pull, c: pull(c)[0], (None, 0)))(pull, toward)
    pushed = jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), every)
    shared = unflatten(k @ flatten(scores), particles)
    return jax.tree.map(lambda s, p: (s + p) / size(particles), shared, pushed), eta2


def kernel(f: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """k, its slope (as in `spos.interaction.kernels`) and η² for outputs (M, n)."""
    theta, eta2, _ = prepare(RBF, [f], None, all_pairs=False)
    k, slope = RBF(squared_distances(theta, theta), eta2)
    return k, slope, eta2
