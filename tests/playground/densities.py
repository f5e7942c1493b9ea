"""The playground's targets as log-densities for the library: written down again, from their
formulas, or the library's own where it has them."""

import jax
import jax.numpy as jnp
import numpy as np

from spos.targets import analytic, toys

MODES = ((0.5, -1.6, -0.9), (0.3, 1.6, -0.9), (0.2, 0.0, 1.7))


def ring(theta):
    radius = jnp.sqrt(jnp.sum(theta**2) + 1e-12)
    return -0.5 * ((radius - 2.5) / 0.35) ** 2


def funnel(theta):
    return -0.5 * ((theta[1] / 1.2) ** 2 + theta[0] ** 2 * jnp.exp(-theta[1]) + theta[1])


def three(theta):
    logs = [
        jnp.log(weight) - 0.5 * jnp.sum((theta - jnp.asarray([x, y])) ** 2) / 0.25
        for weight, x, y in MODES
    ]
    return jax.nn.logsumexp(jnp.stack(logs))


def drawn(ink):
    """A cubic spline through the logarithm of the smoothed ink, within a wall."""
    axis = np.linspace(-5.0, 5.0, 64)
    cell = axis[1] - axis[0]
    y, x = np.meshgrid(axis, axis, indexing="ij")
    density = 1e-6 * np.exp(-(x**2 + y**2) / 32)
    for qx, qy in ink:
        square = (x - qx) ** 2 + (y - qy) ** 2
        density += np.exp(-square / 0.18) + 0.001 * np.exp(-square / 4.5)
    coefficients = np.log(density)

    def basis(places):
        """The B-spline of every grid point, at a place counted in cells."""
        far = jnp.abs(places - jnp.arange(64))
        near = 2 / 3 - far**2 + far**3 / 2
        return jnp.where(far < 1, near, jnp.where(far < 2, (2 - far) ** 3 / 6, 0.0))

    def log_density(theta):
        inside = (jnp.clip(theta, -4.8, 4.8) + 5.0) / cell
        smooth = basis(inside[1]) @ jnp.asarray(coefficients) @ basis(inside[0])
        return smooth - 0.5 * jnp.sum((jax.nn.relu(jnp.abs(theta) - 4.8) / 0.3) ** 2)

    return log_density


def densities(ink):
    """All targets by the names they have on the page."""
    return {
        "gaussian": analytic.gaussian([0.0, 0.0], [[2.0, 1.2], [1.2, 1.0]]),
        "banana": analytic.banana(1.5, 0.5),
        "ring": ring,
        "funnel": funnel,
        "three": three,
        **toys.TOYS,
        "drawn": drawn(ink),
    }
