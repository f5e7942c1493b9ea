"""Scores from minibatches in the coordinates of the mode, and the step that their noise allows.

    s(z; batch) = Lᵀ [ ∇ log p(θ; batch) - ∇ log p(c; batch) + ∇ log p(c; all data) ],   θ = c + L z

is unbiased, and its noise vanishes towards the centre. In z the posterior is nearly a standard
normal law, where a Langevin step z ← z + h s + √(2h) ξ with score noise of the covariance Σ has
the stationary variance, in the direction of an eigenvalue λ of Σ,

    (1 + hλ/2) / (1 - h/2)   ≈   1 + (h/2)(1 + λ)

so that h (1 + λ) / 4 is the share by which a standard deviation is too large: h/4 by the step,
hλ/4 by the noise. The step is the one whose half keeps this share at BIAS in the worst direction.

Reference: Baker, Fearnhead, Fox and Nemeth, Statistics and Computing 2019 (the control variate).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from spos.auto.tall.place import Place
from spos.programs import compiled
from spos.targets.reduced import corrected
from spos.targets.target import Target
from spos.types import Particles, PyTree
from spos.values import value

BIAS = 0.01  # of a standard deviation, by the half step
LONGEST = 0.08  # the step where there is no noise
REPEATS = 32  # minibatches by which the noise is measured


@value
class Centred(Target):
    """A target with minibatches, seen from its mode."""

    target: Target
    like: PyTree
    centre: jax.Array
    factor: jax.Array
    total: jax.Array

    @property
    def stochastic(self) -> bool:
        return True

    def unflatten(self, z: jax.Array) -> Particles:
        """θ of every row z."""
        return jax.vmap(ravel_pytree(self.like)[1])(self.centre + z @ self.factor.T)

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        one = jax.tree.map(lambda leaf: leaf[0], self.unflatten(theta[None]))
        return self.target.log_prob(one, batch)

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> PyTree:
        return self.target.draw(key, step)

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        here = self._flat(self.target.score(self.unflatten(particles), batch))
        there = self._flat(self.target.score(self.unflatten(jnp.zeros_like(particles[:1])), batch))
        return corrected(self.total, here, there) @ self.factor

    @staticmethod
    def _flat(scores: Particles) -> jax.Array:
        return jax.vmap(lambda one: ravel_pytree(one)[0])(scores)


def centred(target: Target, like: PyTree, place: Place) -> Centred:
    """The target around a mode."""
    centre, factor, total = (
        jnp.asarray(x, jnp.float32) for x in (place.centre, place.factor, place.score)
    )
    return Centred(target, like, centre, factor, total)


def largest_noise(target: Centred, z: np.ndarray, seed: int) -> float:
    """λ, the largest eigenvalue of the covariance of the scores' noise, over these points."""
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), 11), REPEATS)
    noise = np.asarray(_noise(target, keys, jnp.asarray(z, jnp.float32)), np.float64)
    if not np.isfinite(noise).all():
        return float("inf")
    flat = noise.reshape(-1, noise.shape[-1])
    return float(np.linalg.eigvalsh(flat.T @ flat / (len(flat) * (1 - 1 / REPEATS)))[-1])


def step_size(noise: float) -> float:
    """h, for noise whose largest eigenvalue is this."""
    return min(LONGEST, 8.0 * BIAS / (1.0 + noise))


@compiled()
def _noise(target: Centred, keys: jax.Array, z: jax.Array) -> jax.Array:
    scores = jax.lax.map(lambda key: target.score(z, target.draw(key)), keys)
    return scores - scores.mean(0)
