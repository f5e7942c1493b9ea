"""Radial positive-definite kernels, as functions of a squared distance.

A kernel maps squared distances `sq` and a bandwidth η² to `(k, slope)`, where

    slope = -2 ∂ log k / ∂ sq,    so that    ∇_j k_ij = k_ij · slope_ij · (θ_i - θ_j)

is the push that particle j gives to particle i. For the RBF kernel the slope is one number, which
lets the interaction merge its two sums into a single matrix product.

    rbf    k = exp(-sq/η²)            slope = 2/η²
    imq    k = (1 + sq/η²)^(-1/2)     slope = k²/η²       (inverse multiquadric, heavy tails)

**Blocks.** In many dimensions all particles are about equally far from each other, the kernel's
push gets weak, and SVGD loses the variance of the cloud. With `blocks="leaf"` or `"entry"` each
leaf of the parameters, or each single entry, has a kernel k_b of its own, on its own coordinates
and with its own median, and moves by it:

    stein_i^b = (1/M) Σ_j [ k_b(θ_i^b, θ_j^b) s_j^b + ∇_j^b k_b(θ_i^b, θ_j^b) ].

That is one block-diagonal, matrix-valued kernel, the direct product of the blocks' function spaces.
SVGD with 50 particles on N(0, I_100) keeps 4 % of the variance with one kernel and 93 % with one an
entry. The target stays invariant for ever so many particles, but less is asked of the cloud: scores
must balance given one block, whatever the others. So correlations *between* blocks are not seen.
On two entries with correlation .9, a cloud that starts uncorrelated ends with a variance of .2
instead of 1 and a correlation of .1, while one that starts with the target keeps it roughly. Blocks
are for blocks that are nearly independent, or beside noise (`spos.spos`), which sees everything.
`tests/interaction/test_blocks.py` measures all this.

It is not the scalar kernel Π_b k_b. With a median in each block, that one is about 1/M to the power
of the number of blocks for two different particles: it vanishes, no particle sees another, and each
climbs to the mode.
"""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from spos import checks

Bandwidth = float | Literal["median"]
Blocks = Literal["leaf", "entry"] | None


@dataclass(frozen=True)
class Kernel:
    """A shape and a bandwidth: a number for η², or "median" for the rule of `bandwidth.py`, which
    is applied anew every `refresh_every` steps. `blocks` are the parts of a particle that have a
    kernel of their own."""

    name: Literal["rbf", "imq"]
    bandwidth: Any = "median"
    refresh_every: int = 1
    blocks: Blocks = None

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
        if self.blocks is not None:
            checks.one_of("blocks", self.blocks, ("leaf", "entry"))
            if self.refresh_every != 1:
                raise ValueError(
                    "refresh_every must be 1 with blocks: no bandwidth is kept from step to step, "
                    f"got {self.refresh_every}"
                )

    def __call__(self, sq: jax.Array, bandwidth: jax.Array) -> tuple[jax.Array, jax.Array]:
        flat = self.constant_slope(bandwidth)
        if flat is not None:
            return jnp.exp(sq * (-1.0 / bandwidth)), flat
        k = jax.lax.rsqrt(1.0 + sq / bandwidth)
        return k, k * k / bandwidth

    def constant_slope(self, bandwidth: jax.Array) -> jax.Array | None:
        """The slope where it is the same for all distances, else None."""
        return 2.0 / bandwidth if self.name == "rbf" else None


def rbf(
    bandwidth: Bandwidth = "median", *, refresh_every: int = 1, blocks: Blocks = None
) -> Kernel:
    """Gaussian kernel `exp(-‖x - y‖² / bandwidth)`."""
    return Kernel("rbf", bandwidth, refresh_every, blocks)


def imq(
    bandwidth: Bandwidth = "median", *, refresh_every: int = 1, blocks: Blocks = None
) -> Kernel:
    """Inverse multiquadric kernel `(1 + ‖x - y‖² / bandwidth)^(-1/2)`."""
    return Kernel("imq", bandwidth, refresh_every, blocks)
