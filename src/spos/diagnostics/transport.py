"""Distances between two samples, as the work of carrying one onto the other.

**On a line** the 1-Wasserstein distance is exact, for samples of any two sizes:

    W1(a, b) = ∫ |F_a(x) - F_b(x)| dx,        F the share of a sample at or below x.

**In the plane and above** it is the cheapest plan that carries one sample onto the other,

    W1(a, b) = min Σ_ij π_ij ‖a_i - b_j‖,        Σ_j π_ij = 1/M,  Σ_i π_ij = 1/N,  π ≥ 0.

For samples of one size that is a matching of points, O(M³); otherwise a linear program, which is
slower. Both are exact and for small samples.

**For large samples** it is sliced: samples are projected onto directions u of length 1, and the
distances on those lines are averaged,

    SW1(a, b) = E_u W1(u·a, u·b) ≤ W1(a, b).

The directions are drawn once from a seed, so that numbers with the same seed can be compared. A
shift by v has SW1 = ‖v‖ E|u_1|, which in the plane is 2‖v‖/π. Two finite samples of one law are
never at distance zero: compare with what independent draws give.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.diagnostics import cloud
from spos.types import Particles

MATCHED = 5000  # points of each sample, at most, in an exact matching
PLANNED = 100_000  # pairs of points, at most, in a linear program


def wasserstein_1d(a: Any, b: Any) -> jax.Array:
    """The exact W1 of two samples of numbers; it can be compiled and differentiated.

    Args:
        a: numbers, of shape (M,).
        b: numbers, of shape (N,).

    Returns:
        The distance.

    Example:
        >>> float(spos.diagnostics.wasserstein_1d([0.0, 1.0], [2.0, 3.0]))
        2.0
    """
    a, b = _sample("a", a), _sample("b", b)
    if len(a) > len(b):
        a, b = b, a
    if len(b) % len(a) == 0:  # in sorted order, each point of a is matched with as many of b
        return jnp.mean(jnp.abs(jnp.repeat(jnp.sort(a), len(b) // len(a)) - jnp.sort(b)))
    places = jnp.sort(jnp.concatenate([a, b]))
    below_a = jnp.searchsorted(jnp.sort(a), places[:-1], side="right") / len(a)
    below_b = jnp.searchsorted(jnp.sort(b), places[:-1], side="right") / len(b)
    return jnp.sum(jnp.abs(below_a - below_b) * jnp.diff(places))


def wasserstein(a: Particles, b: Particles) -> float:
    """The exact W1 of two small samples in any dimension; it needs scipy.

    Args:
        a: an array of shape (M, d), or a pytree of arrays that share their first axis.
        b: another sample of points in the same space.

    Returns:
        The distance.

    Raises:
        ValueError: if the samples are too large for an exact answer.

    Example:
        >>> spos.diagnostics.wasserstein(jnp.zeros((2, 2)), jnp.ones((2, 2)))
        1.4142135623730951
    """
    first, second = (np.asarray(rows, np.float64) for rows in cloud.two_clouds(a, b))
    m, n = len(first), len(second)
    if m == n > MATCHED or (m != n and m * n > PLANNED):
        raise ValueError(
            f"a and b must hold at most {MATCHED} points each, or {PLANNED} pairs of points if "
            f"their sizes differ, got {m} and {n} points: thin them, or use sliced_wasserstein"
        )
    try:
        from scipy import optimize, sparse
        from scipy.spatial.distance import cdist
    except ImportError as error:
        raise ImportError("wasserstein needs scipy: pip install 'spos[diagnostics]'") from error
    cost = cdist(first, second)
    if m == n:
        return float(cost[optimize.linear_sum_assignment(cost)].mean())
    leaves = sparse.kron(sparse.eye_array(m), np.ones((1, n)))  # Σ_j π_ij
    arrives = sparse.kron(np.ones((1, m)), sparse.eye_array(n))  # Σ_i π_ij
    plan = optimize.linprog(
        cost.ravel(),
        A_eq=sparse.vstack([leaves, arrives], format="csc"),
        b_eq=np.repeat([1.0 / m, 1.0 / n], [m, n]),
        method="highs",
    )
    if not plan.success:
        raise RuntimeError(f"the linear program was not solved: {plan.message}")
    return float(plan.fun)


def sliced_wasserstein(
    a: Particles, b: Particles, *, num_directions: int = 128, seed: int = 0
) -> jax.Array:
    """The sliced W1 of two samples: the mean of W1 over projections onto random lines.

    Args:
        a: an array of shape (M, d), or a pytree of arrays that share their first axis.
        b: another sample of points in the same space.
        num_directions: of the lines.
        seed: of the lines; numbers with the same seed can be compared.

    Returns:
        The distance.

    Example:
        >>> float(spos.diagnostics.sliced_wasserstein(jnp.zeros((2, 1)), jnp.ones((3, 1))))
        1.0
    """
    a, b = cloud.two_clouds(a, b)
    checks.whole("num_directions", num_directions)
    checks.seed("seed", seed)
    normals = jax.random.normal(jax.random.key(seed), (num_directions, a.shape[1]), a.dtype)
    directions = normals / jnp.linalg.norm(normals, axis=1, keepdims=True)
    return _mean_over(directions, a, b)


@jax.jit
def _mean_over(directions: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    # one direction at a time: nothing larger than the samples is held
    return jnp.mean(jax.lax.map(lambda u: wasserstein_1d(a @ u, b @ u), directions))


def _sample(name: str, values: Any) -> jax.Array:
    array = jnp.asarray(checks.array(name, checks.numbers(name, values)))
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must have shape (M,) with at least one point, got {array.shape}")
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)
