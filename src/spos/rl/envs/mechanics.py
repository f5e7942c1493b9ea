"""Linked bodies through time, in frames of length h, as rigid-body engines do it.

Bodies with masses 𝐌 have places y(q) that follow from a few coordinates q, and velocities Y(q) q̇
with Y = ∂y/∂q. In a frame the forces change the velocities, the joints then allow only what fits
the present q, and the bodies move on with what is left:

    ẏ ← Y(q′) q̇ + h 𝐌⁻¹ f        where q′ = q - h q̇ is the q of the frame before
    q̇ ← the rates whose velocities Y(q) q̇ are nearest to ẏ, in the metric of 𝐌
    q ← q + h q̇

The second line is a least-squares problem, two linear equations when q has two coordinates:

    Y(q)ᵀ 𝐌 Y(q) q̇_new = Y(q)ᵀ 𝐌 Y(q′) q̇ + h Y(q)ᵀ f

Y(q)ᵀ 𝐌 Y(q) is the mass matrix of Lagrange's equations and Y(q)ᵀ f their generalised force. The
other terms of these equations, those with q̇², are the first-order difference of Y(q′) and Y(q), so
that as h → 0 the motion becomes Lagrange's. At a finite h there are two differences:

* Without forces a projection can only shorten ẏ: kinetic energy never grows, whatever the speed,
  and no rate ever explodes. (Euler's method on Lagrange's equations does at the torques used here.)
* What the joints take away acts like friction: a part of about (h ω)² of the kinetic energy per
  frame in a body that turns at ω. The published tasks were run by such an engine with these frames,
  and this friction is part of them: without it random torques whirl the double pendulum
  several times as fast.
"""

import jax


def solve(
    a: float | jax.Array,
    c: jax.Array,
    b: float | jax.Array,
    first: jax.Array,
    second: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """x and y with a x + c y = first and c x + b y = second, by Cramer's rule.

    Args:
        a: one entry of the diagonal.
        c: the entry beside it.
        b: the other entry of the diagonal.
        first: the right-hand side of the first equation.
        second: that of the second.

    Returns:
        x and y.
    """
    determinant = a * b - c * c
    return (b * first - c * second) / determinant, (a * second - c * first) / determinant
