"""The constants of a target and a kernel that the bounds are written in.

With the drift F = -∇ log p and the kernel K(θ) = exp(-‖θ‖²/η²):

    lipschitz                  L_F    ‖F(a) - F(b)‖ ≤ L_F ‖a - b‖
    convexity                  m_F    ⟨F(a) - F(b), a - b⟩ ≥ m_F ‖a - b‖²
    score_bound                H_F    ‖F(a)‖ ≤ H_F
    bandwidth                  η²     as everywhere in this library: K = exp(-‖θ‖²/bandwidth)
    kernel_lipschitz           L_K    |K(a) - K(b)| ≤ L_K ‖a - b‖,             sqrt(2/e)/η
    kernel_gradient_bound      H_∇K   ‖∇K(a)‖ ≤ H_∇K,                          sqrt(2/e)/η
    kernel_gradient_lipschitz  L_∇K   ‖∇K(a) - ∇K(b)‖ ≤ L_∇K ‖a - b‖,          2/η²
    kernel_concavity           m_K    ⟨∇K(a) - ∇K(b), a - b⟩ ≤ -m_K ‖a - b‖²

The kernel's three are exact: ‖∇K‖ = (2r/η²) exp(-r²/η²) peaks at r = η/√2, and the Hessian of K is
largest at the origin. The theory also wants the mode at the origin, F(0) = 0. None of the constants
here feels a shift, so only the start has to be described relative to the mode (`gamma0`).

Reference: assumptions 1 to 3 of the SPOS paper (AISTATS 2020).
"""

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from spos import checks
from spos.theory.arguments import Run, not_negative, of_kind

# Hessians held in memory at once: enough to keep the device busy, small enough for large d.
_HESSIANS_AT_ONCE = 64

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Constants:
    """A target and a kernel as the theory sees them; build it by hand where they are known.

    Attributes:
        dim: d, the number of parameters.
        lipschitz: L_F of the drift.
        convexity: m_F; negative for a target that is not convex.
        score_bound: H_F; infinite for a score without a bound.
        bandwidth: η² of the RBF kernel.
        kernel_concavity: m_K; negative for a kernel that is not concave where the particles are.
    """

    dim: int
    lipschitz: float
    convexity: float
    score_bound: float
    bandwidth: float
    kernel_concavity: float

    def __post_init__(self) -> None:
        checks.whole("dim", self.dim)
        not_negative("lipschitz", self.lipschitz)
        for name in ("convexity", "score_bound", "kernel_concavity"):
            checks.real(name, getattr(self, name))
        checks.positive("bandwidth", self.bandwidth)
        if not self.convexity <= self.lipschitz:
            raise ValueError(
                f"convexity must be at most lipschitz ({self.lipschitz!r}), got {self.convexity!r}"
            )
        if not self.score_bound >= 0:
            raise ValueError(f"score_bound must be at least 0, got {self.score_bound!r}")
        if not self.kernel_concavity <= self.kernel_gradient_lipschitz:
            raise ValueError(
                f"kernel_concavity must be at most 2/bandwidth = "
                f"{self.kernel_gradient_lipschitz!r}, got {self.kernel_concavity!r}"
            )

    @property
    def kernel_lipschitz(self) -> float:
        """L_K, the steepest slope of the kernel."""
        return math.sqrt(2 / math.e / self.bandwidth)

    @property
    def kernel_gradient_bound(self) -> float:
        """H_∇K, the longest gradient: the steepest slope by another name."""
        return self.kernel_lipschitz

    @property
    def kernel_gradient_lipschitz(self) -> float:
        """L_∇K, the largest curvature of the kernel."""
        return 2 / self.bandwidth


def speaks_of_constants(function: F) -> F:
    """A function of the theory, whose `constants` and `run` must be what they are called."""
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **named}
        for name, kind in (("constants", Constants), ("run", Run)):
            if name in given:
                of_kind(name, given[name], kind)
        return function(*args, **named)

    return checked  # type: ignore[return-value]


def kernel_concavity(bandwidth: float, radius: float) -> float:
    """m_K of the RBF kernel while no two particles are further than `radius` apart.

    With u = radius²/η² it is (2/η²)(1 - 2u) exp(-u): positive only within η/√2, the concave cap of
    the kernel. Beyond u = 3/2 it stays at its worst, -(4/η²) exp(-3/2).

    Args:
        bandwidth: η², above 0.
        radius: the largest distance of two particles.

    Returns:
        The constant.

    Example:
        >>> spos.theory.kernel_concavity(bandwidth=2.0, radius=0.0)
        1.0
    """
    width: float = checks.positive("bandwidth", bandwidth)
    # the root first: the square of a large radius is not a number
    u = min(min(not_negative("radius", radius) / math.sqrt(width), 2.0) ** 2, 1.5)
    return 2 / width * (1 - 2 * u) * math.exp(-u)


def constants(
    log_prob: Callable[[jax.Array], jax.Array],
    bandwidth: float,
    region: tuple[ArrayLike, ArrayLike],
    *,
    num_points: int = 1024,
    seed: int = 0,
) -> Constants:
    """Estimate the constants of `log_prob` over a box by automatic differentiation.

    L_F is the largest absolute eigenvalue of the Hessian of -log p met on the way, m_F the smallest
    eigenvalue, H_F the longest gradient. Finitely many points can miss the extremes, so L_F and H_F
    are estimates from below and m_F is one from above: read the bounds built on them as slightly
    hopeful. For a Gaussian L_F and m_F are exact. m_K is that of particles anywhere in the box; it
    is exact.

    Args:
        log_prob: the log-density, up to a constant, at one point of shape (d,).
        bandwidth: η² of the RBF kernel.
        region: the box as (low, high), two arrays of shape (d,).
        num_points: how many points are drawn uniformly in the box.
        seed: of those points.

    Returns:
        The constants.

    Example:
        >>> box = (jnp.array([-1.0]), jnp.array([1.0]))
        >>> about = spos.theory.constants(lambda x: -(x @ x), 4.0, box, num_points=8)
        >>> about.lipschitz, about.convexity
        (2.0, 2.0)
    """
    checks.function("log_prob", log_prob)
    checks.positive("bandwidth", bandwidth)
    checks.whole("num_points", num_points)
    checks.seed("seed", seed)
    if not isinstance(region, tuple | list) or len(region) != 2:
        raise ValueError(f"region must be a pair (low, high), got {region!r}")
    low, high = (
        jnp.asarray(checks.array("region", checks.numbers("region", corner)), float)
        for corner in region
    )
    if low.ndim != 1 or low.shape != high.shape or low.size == 0:
        raise ValueError(
            f"region must be (low, high) of one shape (d,), got shapes {low.shape} and {high.shape}"
        )
    if not bool(jnp.all(low < high)) or not bool(jnp.all(jnp.isfinite(high - low))):
        raise ValueError(f"region must be finite with low < high, got {low} and {high}")
    checks.log_prob_output("log_prob", jax.eval_shape(log_prob, low), (), "one number per point")

    def extremes(point: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        curvatures = jnp.linalg.eigvalsh(-jax.hessian(log_prob)(point))
        return curvatures[0], curvatures[-1], jnp.linalg.norm(jax.grad(log_prob)(point))

    points = jax.random.uniform(
        jax.random.key(seed), (num_points, low.size), minval=low, maxval=high
    )
    smallest, largest, slopes = jax.lax.map(extremes, points, batch_size=_HESSIANS_AT_ONCE)
    convexity, top, slope = float(smallest.min()), float(largest.max()), float(slopes.max())
    if not all(map(math.isfinite, (convexity, top, slope))):
        raise ValueError(
            "log_prob must be twice differentiable over the region, got a gradient or Hessian "
            "that is not finite"
        )
    return Constants(
        dim=low.size,
        lipschitz=max(top, -convexity),
        convexity=convexity,
        score_bound=slope,
        bandwidth=bandwidth,
        kernel_concavity=kernel_concavity(bandwidth, float(jnp.linalg.norm(high - low))),
    )
