"""Running mean and deviation of numbers that come in batches.

Two batches of n and m numbers with means a, b and sums of squared deviations S, R have together

    mean a + (b - a) m / (n + m),        squares S + R + (b - a)² n m / (n + m)

which never subtracts two large numbers of nearly the same size.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

SMALLEST = 1e-4  # a deviation below it is that of a number that does not vary, and is not used


class Moments(NamedTuple):
    """What is known of numbers, or of vectors of them, so far."""

    seen: jax.Array  # how many
    mean: jax.Array
    squares: jax.Array  # the sum of squared deviations from the mean

    @property
    def deviation(self) -> jax.Array:
        """The standard deviation; 1 for numbers that have not varied yet."""
        found = jnp.sqrt(self.squares / jnp.maximum(self.seen, 1.0))
        return jnp.where(found > SMALLEST, found, 1.0)

    def standard(self, rows: jax.Array) -> jax.Array:
        """The rows less the mean, in deviations."""
        return (rows - self.mean) / self.deviation

    def joined(self, rows: jax.Array, counted: jax.Array) -> "Moments":
        """The moments that have seen these rows, too.

        Args:
            rows: (…, *shape of the mean).
            counted: (…), 1 where a row counts and 0 where it does not.

        Returns:
            The moments.
        """
        flat = rows.reshape(-1, *self.mean.shape)
        share = counted.reshape(-1, *(1,) * self.mean.ndim)
        count = jnp.sum(share)
        mean = jnp.sum(share * flat, axis=0) / jnp.maximum(count, 1.0)
        squares = jnp.sum(share * (flat - mean) ** 2, axis=0)
        total = self.seen + count
        off, part = mean - self.mean, count / jnp.maximum(total, 1.0)
        return Moments(
            total,
            self.mean + off * part,
            self.squares + squares + off**2 * self.seen * part,
        )


def unknown(shape: tuple[int, ...]) -> Moments:
    """Before the first numbers: mean 0 and deviation 1."""
    return Moments(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))
