"""How the step of a move varies, so that a leapfrog does not go round in circles.

Usually e is uniform between half of the tuned step and all of it. Where the scale of the density
changes from place to place, it fits the place:

    log e = log s(z) + u + constant,        log s = -½ max(0, log |g(z)|²/2d),

u drawn from a law with the density l, which has exponential sides, and below a second, longer one:
a particle that has come into a narrow place, where its steps are still far too long, soon tries one
that fits. Backwards, from z', the same e asks for u' = u + log s(z) - log s(z'), so that the
Metropolis test has the factor l(u')/l(u): still exact, and it costs no evaluation.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

FAR_BELOW, BELOW, ABOVE = 2.0, 0.5, 0.15  # the means of the sides of u
FAR = 0.15  # the share of the first; those of the others are such that their densities meet at 0
NEAR = (1.0 - FAR) / (BELOW + ABOVE)  # their density at 0


def uniform_jitter(uniform: np.ndarray) -> np.ndarray:
    """log e without a place, where the constant is 0."""
    return np.log(0.5 + 0.5 * uniform)


def local_scale(score: jax.Array) -> jax.Array:
    """log s, from rows of g."""
    square = jnp.sum(score**2, 1) / (2.0 * score.shape[1])
    return -0.5 * jnp.log(jnp.maximum(square, 1.0))


def local_jitter(uniform: np.ndarray) -> np.ndarray:
    """u, by the inverse of the distribution function of each side."""
    below, above, least = NEAR * BELOW, NEAR * ABOVE, 1e-12
    sides = (
        FAR_BELOW * np.log(np.maximum(uniform / FAR, least)),
        BELOW * np.log(np.maximum((uniform - FAR) / below, least)),
        -ABOVE * np.log(np.maximum((1.0 - uniform) / above, least)),
    )
    which = [uniform < FAR, uniform < FAR + below]
    return np.select(which, sides[:2], sides[2]).astype(uniform.dtype)


def log_density(u: jax.Array) -> jax.Array:
    """log l."""
    near, far = math.log(NEAR), math.log(FAR / FAR_BELOW)
    below = jnp.logaddexp(near + u / BELOW, far + u / FAR_BELOW)
    return jnp.where(u > 0, near - u / ABOVE, below)
