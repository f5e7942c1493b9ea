"""The kernelised Stein discrepancy: do particles fit a density that is known up to a constant?

With the score s of the target and a kernel k,

    KSD² = E u(x, y),        x, y independent from the law of the particles,
    u(x, y) = s(x)ᵀs(y) k + s(x)ᵀ∇_y k + s(y)ᵀ∇_x k + tr ∇_x∇_y k.

If x follows the target, E_x u(x, y) = 0 for every y. For a radial kernel with g = -2 ∂k/∂sq (the
product of `k` and `slope` in `spos.interaction.kernels`),

    u = k s(x)ᵀs(y) + g [d + (s(x) - s(y))ᵀ(x - y)] + 2 sq ∂g/∂sq.

**V-statistic**: the mean of u over all M² pairs, the exact KSD² of the particles as they lie; never
negative, and of order 1/M for independent draws from the target. **U-statistic**: the mean over
pairs of different particles, which has the right mean for independent particles.

**The test** compares Σ_ij u_ij with Σ_ij ε_i ε_j u_ij for random signs ε (wild bootstrap), and
gives the share of signs that reach the first. It supposes independent particles: those of one cloud
of SVGD or SPOS, which feel each other, are not.

Heavy tails need the IMQ kernel: with RBF in many dimensions far particles can go unnoticed (Gorham
and Mackey, ICML 2017). References: Liu, Lee, Jordan and Chwialkowski, Strathmann, Gretton, both
ICML 2016.
"""

import functools
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from spos import checks
from spos.cloud import Matrices
from spos.diagnostics import cloud
from spos.interaction import pairwise
from spos.interaction.kernels import Kernel, imq
from spos.programs import compiled
from spos.targets.target import TargetLike
from spos.types import Particles

STATISTICS = ("v", "u")


@dataclass(frozen=True)
class KSDTest:
    """A bootstrap test of particles against a target.

    Attributes:
        statistic: KSD².
        p_value: how often chance gives at least this KSD² if the particles follow the target.
        num_bootstrap: draws of signs.
        bandwidth: η² of the kernel.
    """

    statistic: float
    p_value: float
    num_bootstrap: int
    bandwidth: float

    def __str__(self) -> str:
        return (
            f"KSD² {self.statistic:.4g}, p-value {self.p_value:.3g} "
            f"({self.num_bootstrap} bootstrap draws, bandwidth η² {self.bandwidth:.4g})"
        )


def ksd(
    target: Any,
    particles: Particles,
    kernel: Kernel = imq(),  # noqa: B008 (immutable)
    *,
    statistic: Literal["v", "u"] = "v",
) -> jax.Array:
    """The squared kernelised Stein discrepancy of particles from a target.

    Args:
        target: a log-density, a target such as `spos.posterior` (all its data are used), or the
            scores at the particles, shaped like them.
        particles: a pytree whose leaves share a leading axis of length M.
        kernel: `spos.imq(...)`, `spos.rbf(...)` or another `spos.Kernel`.
        statistic: "v" is the exact KSD² of the particles as they lie, "u" has the right mean for
            independent ones.

    Returns:
        KSD².

    Example:
        >>> near, far = jnp.array([[-1.0], [1.0]]), jnp.array([[3.0], [5.0]])
        >>> bool(spos.diagnostics.ksd(lambda x: -0.5 * jnp.sum(x**2), near) < spos.diagnostics.ksd(
        ...     lambda x: -0.5 * jnp.sum(x**2), far))
        True
    """
    pairs, scores = _prepare(target, particles, kernel, statistic)
    sums, own = _sums(kernel, pairs, scores, jnp.ones_like(scores[:, :1]))
    return _mean(statistic, len(scores), sums[0], own)


def ksd_test(
    target: Any,
    particles: Particles,
    kernel: Kernel = imq(),  # noqa: B008 (immutable)
    *,
    statistic: Literal["v", "u"] = "v",
    num_bootstrap: int = 999,
    seed: int = 0,
) -> KSDTest:
    """Could the particles be independent draws from the target?

    The p-value is the same for both statistics, as signs do not change the terms i = j.

    Args:
        target: a log-density, a target such as `spos.posterior` (all its data are used), or the
            scores at the particles, shaped like them.
        particles: a pytree whose leaves share a leading axis of length M.
        kernel: `spos.imq(...)`, `spos.rbf(...)` or another `spos.Kernel`.
        statistic: "v" or "u", as in `ksd`.
        num_bootstrap: draws of signs.
        seed: of the signs.

    Returns:
        The test.

    Example:
        >>> far = 5.0 + jnp.arange(10.0)[:, None]
        >>> found = spos.diagnostics.ksd_test(lambda x: -0.5 * jnp.sum(x**2), far, num_bootstrap=99)
        >>> found.p_value < 0.05
        True
    """
    checks.whole("num_bootstrap", num_bootstrap)
    checks.seed("seed", seed)
    pairs, scores = _prepare(target, particles, kernel, statistic, at_least=2)
    count = len(scores)
    drawn = jax.random.rademacher(jax.random.key(seed), (count, num_bootstrap), scores.dtype)
    signs = jnp.concatenate([jnp.ones_like(scores[:, :1]), drawn], axis=1)
    sums, own = _sums(kernel, pairs, scores, signs)
    reached = jnp.sum(sums[1:] >= sums[0])
    return KSDTest(
        statistic=float(_mean(statistic, count, sums[0], own)),
        p_value=(1 + int(reached)) / (1 + num_bootstrap),
        num_bootstrap=num_bootstrap,
        bandwidth=float(pairs.eta2),
    )


def _prepare(
    target: TargetLike | Particles,
    particles: Particles,
    kernel: Kernel,
    statistic: str,
    at_least: int = 1,
) -> tuple[pairwise.Cloud, jax.Array]:
    checks.one_of("statistic", statistic, STATISTICS)
    rows = cloud.points("particles", particles, at_least=2 if statistic == "u" else at_least)
    return cloud.pairs(kernel, rows), cloud.scores_at(target, particles)


def _mean(statistic: str, count: int, total: jax.Array, own: jax.Array) -> jax.Array:
    if statistic == "v":
        return total / float(count) ** 2  # a whole number could be too large for JAX
    return (total - own) / (float(count) * (count - 1))


@compiled()
def _sums(
    kernel: Kernel, pairs: pairwise.Cloud, scores: jax.Array, signs: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Σ_ij ε_i u_ij ε_j for every column ε of `signs`, and Σ_i u_ii."""
    theta = pairs.theta[0]
    dimension = theta.shape[1]
    rise = jnp.sum(scores * theta, axis=1)

    def push(sq: jax.Array) -> jax.Array:  # g
        return jnp.multiply(*kernel(sq, pairs.eta2))

    def rows(here: Matrices, sq: jax.Array, s: jax.Array) -> Matrices:
        x = here[0]
        k, _ = kernel(sq, pairs.eta2)
        g, bend = jax.jvp(push, (sq,), (jnp.ones_like(sq),))
        steepening = jnp.sum(s * x, axis=1)[:, None] + rise - _inner(s, theta) - _inner(x, scores)
        u = k * _inner(s, scores) + g * (dimension + steepening) + 2.0 * sq * bend
        return [u @ signs]

    (products,) = pairwise.by_rows(pairs, rows, scores)
    own = jnp.sum(scores * scores) + len(theta) * dimension * push(jnp.zeros_like(pairs.eta2))
    return jnp.sum(signs * products, axis=0), own


def _inner(a: jax.Array, b: jax.Array) -> jax.Array:
    """All inner products of the rows of two matrices."""
    if a.shape[1] > pairwise.DIRECT_DIMENSIONS:
        return a @ b.T
    # with so few terms a product would cost more than it saves: it is written to memory
    return functools.reduce(jnp.add, [x[:, None] * y for x, y in zip(a.T, b.T, strict=True)])
