"""How the step of a move varies, so that a leapfrog does not go round in circles.

Usually e is uniform between half of the tuned step and all of it. Where the scale of the density
changes from place to place, it fits the place:

    log e = log s(z) + u + constant,        log s = -½ max(0, log |g(z)|²/2d),

u drawn from a law with the density l, which has two exponential sides. Backwards, from z', the same
e asks for u' = u + log s(z) - log s(z'), so that the Metropolis test has the factor l(u')/l(u):
still exact, and it costs no evaluation.
"""

import jax
import jax.numpy as jnp
import numpy as np

BELOW, ABOVE = 0.5, 0.15  # the means of the two sides of u


def uniform_jitter(uniform: np.ndarray) -> np.ndarray:
    """log e without a place, where the constant is 0."""
    return np.log(0.5 + 0.5 * uniform)


def local_scale(score: jax.Array) -> jax.Array:
    """log s, from rows of g."""
    square = jnp.sum(score**2, 1) / (2.0 * score.shape[1])
    return -0.5 * jnp.log(jnp.maximum(square, 1.0))


def local_jitter(uniform: np.ndarray) -> np.ndarray:
    """u, by the inverse of its distribution function."""
    share, least = BELOW / (BELOW + ABOVE), 1e-12
    below = BELOW * np.log(np.maximum(uniform / share, least))
    above = -ABOVE * np.log(np.maximum((1.0 - uniform) / (1.0 - share), least))
    return np.where(uniform < share, below, above).astype(uniform.dtype)


def log_density(u: jax.Array) -> jax.Array:
    """log l up to a constant."""
    return jnp.where(u > 0, -u / ABOVE, u / BELOW)
