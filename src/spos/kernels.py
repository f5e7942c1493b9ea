"""Radial positive-definite kernels, as functions of a squared distance.

A kernel maps squared distances `sq` and a bandwidth η² to `(k, slope)`, where

    slope = -2 ∂ log k / ∂ sq,    so that    ∇_j k_ij = k_ij · slope_ij · (θ_i - θ_j)

is the push that particle j gives to particle i. For the RBF kernel the slope is one number, which
lets the interaction merge its two sums into a single matrix product.

    rbf    k = exp(-sq/η²)            slope = 2/η²
    imq    k = (1 + sq/η²)^(-1/2)     slope = k²/η²       (inverse multiquadric, heavy tails)
"""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from spos import checks

Bandwidth = float | Literal["median"]


@dataclass(frozen=True)
class Kernel:
    """A shape and a bandwidth: a number for η², or "median" for the rule in `spos.bandwidth`, which
    is applied anew every `refresh_every` steps."""

    name: Literal["rbf", "imq"]
    bandwidth: Any = "median"
    refresh_every: int = 1

    def __post_init__(self) -> None:
        checks.one_of("name", self.name, ("rbf", "imq"))
        if isinstance(self.bandwidth, str):
            if self.bandwidth != "median":
                raise ValueError(
                    f'bandwidth must be a number above 0 or "median", got {self.bandwidth!r}'
                )
        else:
            checks.positive("bandwidth", self.bandwidth)
        checks.whole("refresh_every", self.refresh_every)

    def __call__(self, sq: jax.Array, bandwidth: jax.Array) -> tuple[jax.Array, jax.Array]:
        flat = self.constant_slope(bandwidth)
        if flat is not None:
            return jnp.exp(sq * (-1.0 / bandwidth)), flat
        k = jax.lax.rsqrt(1.0 + sq / bandwidth)
        return k, k * k / bandwidth

    def constant_slope(self, bandwidth: jax.Array) -> jax.Array | None:
        """The slope where it is the same for all distances, else None."""
        return 2.0 / bandwidth if self.name == "rbf" else None


def rbf(bandwidth: Bandwidth = "median", *, refresh_every: int = 1) -> Kernel:
    """Gaussian kernel `exp(-‖x - y‖² / bandwidth)`."""
    return Kernel("rbf", bandwidth, refresh_every)


def imq(bandwidth: Bandwidth = "median", *, refresh_every: int = 1) -> Kernel:
    """Inverse multiquadric kernel `(1 + ‖x - y‖² / bandwidth)^(-1/2)`."""
    return Kernel("imq", bandwidth, refresh_every)
