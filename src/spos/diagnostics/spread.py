"""How far apart are the particles, and how much do they feel of each other?

* The **expected particle distance** of the SPOS paper, sqrt(Σ_ij ‖θ_i - θ_j‖²). Divided by M it is
  the root mean square distance of two particles, itself included.
* The **distance to the nearest neighbour**, as quantiles over particles. Copies are at distance 0.
* The **kernel weight of the others**, the mean over i of Σ_{j≠i} k_ij / Σ_j k_ij. Near 0 each
  particle is alone and a kernel method is M separate ones; near 1 it follows the crowd. Where all
  distances are alike, as in many dimensions, the median rule makes it a half.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from spos.cloud import Matrices, expected_particle_distance
from spos.diagnostics import cloud
from spos.interaction import pairwise
from spos.interaction.kernels import Kernel, rbf
from spos.programs import compiled
from spos.types import Particles

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True)
class Spread:
    """How far apart particles are, and how much they feel of each other.

    Attributes:
        num_particles: M.
        dimension: d, the number of parameters.
        epd: the expected particle distance.
        nearest: maps a quantile over particles to a distance to the nearest neighbour.
        bandwidth: η² of the kernel.
        kernel_weight: of the others, on average over particles.
    """

    num_particles: int
    dimension: int
    epd: float
    nearest: dict[float, float]
    bandwidth: float
    kernel_weight: float

    @property
    def distance(self) -> float:
        """Root mean square distance of two particles."""
        return self.epd / self.num_particles

    def __str__(self) -> str:
        quantiles = "  ".join(f"{q:.0%} {value:.4g}" for q, value in self.nearest.items())
        return "\n".join(
            [
                f"{self.num_particles} particles in {self.dimension} dimensions",
                f"expected particle distance {self.epd:.4g}; two particles are {self.distance:.4g} "
                "apart (root mean square)",
                f"nearest neighbour at  {quantiles}",
                f"kernel weight of the others {self.kernel_weight:.1%} "
                f"(bandwidth η² {self.bandwidth:.4g})",
            ]
        )


def spread(particles: Particles, kernel: Kernel = rbf()) -> Spread:  # noqa: B008 (immutable)
    """Distances in a cloud of two or more particles, and the kernel weight between them.

    Args:
        particles: a pytree whose leaves share a leading axis of length M.
        kernel: `spos.rbf(...)`, `spos.imq(...)` or another `spos.Kernel`.

    Returns:
        The distances; printed, it is a few lines.

    Example:
        >>> spos.diagnostics.spread(jnp.array([[0.0], [2.0]])).distance
        1.4142135...
    """
    rows = cloud.points("particles", particles, at_least=2)
    pairs = cloud.pairs(kernel, rows)
    nearest, weight = _neighbours(kernel, pairs)
    values = np.quantile(np.asarray(nearest, np.float64), QUANTILES)
    return Spread(
        num_particles=len(rows),
        dimension=rows.shape[1],
        epd=float(expected_particle_distance(rows)),
        nearest=dict(zip(QUANTILES, values.tolist(), strict=True)),
        bandwidth=float(pairs.eta2),
        kernel_weight=float(jnp.mean(weight)),
    )


@compiled()
def _neighbours(kernel: Kernel, pairs: pairwise.Cloud) -> Matrices:
    """Each particle's distance to the nearest other, and its kernel weight on all others."""
    numbers = jnp.arange(len(pairs.theta[0]))

    def rows(here: Matrices, sq: jax.Array, own: jax.Array) -> Matrices:
        sq = jnp.where(own == numbers, jnp.inf, sq)
        others = jnp.sum(kernel(sq, pairs.eta2)[0], axis=1)  # at an infinite distance it is 0
        return [jnp.sqrt(jnp.min(sq, axis=1)), others / (1.0 + others)]

    return pairwise.by_rows(pairs, rows, numbers[:, None])
