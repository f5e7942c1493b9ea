"""The maximum mean discrepancy: are two samples from one law?

    MMD² = E k(x, x') - 2 E k(x, y) + E k(y, y'),     x, x' from one law and y, y' from the other.

**V-statistic**: all pairs of a sample count, each point with itself too; never negative, and of
order 1/M + 1/N for samples of one law. **U-statistic**: no point is paired with itself; the right
mean, and below zero about as often as above for samples of one law.

**The test** deals the labels of the points out anew and gives the share of deals that reach the
V-statistic found. Under the median rule the bandwidth comes from both samples together, so that it
is the same for every deal, and the test is exact for independent points.

For two Gaussians with covariances v I and w I at a distance of m, and k = exp(-‖x - y‖²/η²),

    E k(x, y) = (1 + 2(v + w)/η²)^(-d/2) exp(-m² / (η² + 2(v + w))).

Reference: Gretton, Borgwardt, Rasch, Schölkopf, Smola, JMLR 2012.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

from spos import checks
from spos.diagnostics import cloud
from spos.diagnostics.stein import STATISTICS
from spos.interaction import pairwise
from spos.interaction.kernels import Kernel, rbf
from spos.programs import compiled
from spos.types import Particles


@dataclass(frozen=True)
class MMDTest:
    """A permutation test for two samples.

    Attributes:
        statistic: MMD².
        p_value: how often chance gives at least this MMD² if both samples are from one law.
        num_permutations: deals of the labels.
        bandwidth: η² of the kernel.
    """

    statistic: float
    p_value: float
    num_permutations: int
    bandwidth: float

    def __str__(self) -> str:
        return (
            f"MMD² {self.statistic:.4g}, p-value {self.p_value:.3g} "
            f"({self.num_permutations} permutations, bandwidth η² {self.bandwidth:.4g})"
        )


def mmd(
    a: Particles,
    b: Particles,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    *,
    statistic: Literal["v", "u"] = "v",
) -> jax.Array:
    """The squared maximum mean discrepancy of two samples.

    Args:
        a: an array of shape (M, d), or a pytree of arrays that share their first axis.
        b: another sample of points in the same space.
        kernel: `spos.rbf(...)`, `spos.imq(...)` or another `spos.Kernel`.
        statistic: "v" counts each point with itself too, "u" does not.

    Returns:
        MMD².

    Example:
        >>> a = jnp.array([[0.0], [1.0]])
        >>> float(spos.diagnostics.mmd(a, a))
        0.0
    """
    checks.one_of("statistic", statistic, STATISTICS)
    m, n, pairs = _prepare(a, b, kernel, at_least=2 if statistic == "u" else 1)
    is_a = (jnp.arange(m + n) < m).astype(pairs.eta2.dtype)
    labels = jnp.stack([is_a, 1 - is_a], axis=1)
    (aa, ab), (_, bb) = labels.T @ _products(kernel, pairs, labels)
    # as floats: the square of a whole number could be too large for JAX
    few, many = float(m), float(n)
    if statistic == "v":
        return aa / few**2 - 2.0 * ab / (few * many) + bb / many**2
    # k(x, x) = 1
    return (
        (aa - few) / (few * (few - 1.0))
        - 2.0 * ab / (few * many)
        + (bb - many) / (many * (many - 1.0))
    )


def mmd_test(
    a: Particles,
    b: Particles,
    kernel: Kernel = rbf(),  # noqa: B008 (immutable)
    *,
    num_permutations: int = 999,
    seed: int = 0,
) -> MMDTest:
    """Could two samples be from one law?

    Args:
        a: an array of shape (M, d), or a pytree of arrays that share their first axis.
        b: another sample of points in the same space.
        kernel: `spos.rbf(...)`, `spos.imq(...)` or another `spos.Kernel`.
        num_permutations: deals of the labels.
        seed: of the deals.

    Returns:
        The test.

    Example:
        >>> a, b = jnp.zeros((20, 1)) + jnp.arange(20.0)[:, None], 100.0 + jnp.arange(20.0)[:, None]
        >>> spos.diagnostics.mmd_test(a, b, num_permutations=99).p_value
        0.01
    """
    checks.whole("num_permutations", num_permutations)
    checks.seed("seed", seed)
    m, n, pairs = _prepare(a, b, kernel)
    found = jnp.where(jnp.arange(m + n) < m, 1.0 / m, -1.0 / n).astype(pairs.eta2.dtype)
    keys = jax.random.split(jax.random.key(seed), num_permutations)
    dealt = jax.vmap(lambda key: jax.random.permutation(key, found), out_axes=1)(keys)
    weights = jnp.concatenate([found[:, None], dealt], axis=1)
    values = jnp.sum(weights * _products(kernel, pairs, weights), axis=0)
    reached = jnp.sum(values[1:] >= values[0])
    return MMDTest(
        statistic=float(values[0]),
        p_value=(1 + int(reached)) / (1 + num_permutations),
        num_permutations=num_permutations,
        bandwidth=float(pairs.eta2),
    )


def _prepare(
    a: Particles, b: Particles, kernel: Kernel, at_least: int = 1
) -> tuple[int, int, pairwise.Cloud]:
    first, second = cloud.two_clouds(a, b, at_least)
    return len(first), len(second), cloud.pairs(kernel, jnp.concatenate([first, second]))


@compiled()
def _products(kernel: Kernel, pairs: pairwise.Cloud, weights: jax.Array) -> jax.Array:
    """The kernel matrix times the weights."""
    (products,) = pairwise.by_rows(pairs, lambda here, sq: [kernel(sq, pairs.eta2)[0] @ weights])
    return products
