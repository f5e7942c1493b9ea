"""Two links with a motor between them: bring the tip to a point above.

**Motion.** Two equal links of mass m and length L hang from a fixed joint; θ1 and θ2 are their
angles from hanging, each against the vertical. A link's centre of mass is l along it and its
inertia about that centre is I. The centres are at l (sin θ1, -cos θ1) and
L (sin θ1, -cos θ1) + l (sin θ2, -cos θ2), so that with

    A = I + m l² + m L²   B = I + m l²   C = m L l   G1 = m (l + L) g   G2 = m l g   Δ = θ1 - θ2

    T = ½ A θ̇1² + ½ B θ̇2² + C cos Δ θ̇1 θ̇2               V = -G1 cos θ1 - G2 cos θ2

The motor turns the lower link with torque u and the upper one with -u: its work is u d(θ2 - θ1).
Lagrange's equations are

    A θ̈1 + C cos Δ θ̈2 + C sin Δ θ̇2² + G1 sin θ1 = -u
    C cos Δ θ̈1 + B θ̈2 - C sin Δ θ̇1² + G2 sin θ2 = +u

In frames (`mechanics.py`), with θ′ = θ - h θ̇ the angles of the frame before, two velocities of
directions θ and θ′ have the cosine of θ - θ′ between them, and the new rates ω solve

    A ω1 + C cos Δ ω2 = A′ θ̇1 + C cos(θ1 - θ2′) θ̇2 - h (u + G1 sin θ1)
    C cos Δ ω1 + B ω2 = C cos(θ2 - θ1′) θ̇1 + B′ θ̇2 + h (u - G2 sin θ2)

    A′ = I + m (l² + L²) cos(h θ̇1)        B′ = I + m l² cos(h θ̇2)

whose determinant A B - (C cos Δ)² is positive.

**Task.** An action a in [-1, 1] is a torque u = 50 a newton metres, held for two frames of .01 s.
The policy sees sin, cos and rate of θ1, then of θ2. Both start near hanging, angles N(0, .1²) and
rates N(0, .01²). The reward after a step is minus the distance of the tip to the point (0, 2), two
lengths above the fixed joint. The task never ends by itself.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from spos.rl.envs.environment import Continuous, Environment, Step
from spos.rl.envs.mechanics import solve

GRAVITY = 10.0
MASS = 0.5  # kg, of each link
LENGTH, WIDTH = 1.0, 0.1  # of each link, a rectangle of even density
CENTRE = LENGTH / 2  # l
SPIN = MASS * (LENGTH**2 + WIDTH**2) / 12  # I
UPPER_SWING, LOWER_SWING = MASS * (CENTRE**2 + LENGTH**2), MASS * CENTRE**2  # m (l² + L²), m l²
COUPLING = MASS * LENGTH * CENTRE  # C
TORQUE = 50.0  # newton metres at full action
FRAME, FRAMES = 0.01, 2  # seconds, and how many to a step
HEIGHT = 2.0  # of the goal
HORIZON = 500


class Motion(NamedTuple):
    """Where the links are and how fast they turn, as scalars."""

    angle1: jax.Array
    angle2: jax.Array
    rate1: jax.Array
    rate2: jax.Array


def move(state: Motion, torque: jax.Array, h: float | jax.Array = FRAME) -> Motion:
    """The motion a frame later.

    Args:
        state: before.
        torque: of the motor, in newton metres.
        h: the length of the frame in seconds.

    Returns:
        The state after.
    """
    angle1, angle2, rate1, rate2 = state
    turn1, turn2 = h * rate1, h * rate2
    apart = angle1 - angle2
    rate1, rate2 = solve(
        SPIN + UPPER_SWING,
        COUPLING * jnp.cos(apart),
        SPIN + LOWER_SWING,
        (SPIN + UPPER_SWING * jnp.cos(turn1)) * rate1
        + COUPLING * jnp.cos(apart + turn2) * rate2
        - h * (torque + MASS * (CENTRE + LENGTH) * GRAVITY * jnp.sin(angle1)),
        (SPIN + LOWER_SWING * jnp.cos(turn2)) * rate2
        + COUPLING * jnp.cos(apart - turn1) * rate1
        + h * (torque - MASS * CENTRE * GRAVITY * jnp.sin(angle2)),
    )
    return Motion(angle1 + h * rate1, angle2 + h * rate2, rate1, rate2)


def observe(state: Motion) -> jax.Array:
    """sin, cos and rate of each angle."""
    seen = [
        part
        for angle, rate in ((state.angle1, state.rate1), (state.angle2, state.rate2))
        for part in (jnp.sin(angle), jnp.cos(angle), rate)
    ]
    return jnp.stack(seen).astype(jnp.float32)


def reset(key: jax.Array) -> Motion:
    """Near hanging, and almost at rest."""
    angle1, angle2, rate1, rate2 = jax.random.normal(key, (4,))
    return Motion(0.1 * angle1, 0.1 * angle2, 0.01 * rate1, 0.01 * rate2)


def step(state: Motion, action: jax.Array) -> Step:
    """Two frames with one torque."""
    torque = TORQUE * jnp.clip(action[0], -1.0, 1.0)
    for _ in range(FRAMES):
        state = move(state, torque)
    across = LENGTH * (jnp.sin(state.angle1) + jnp.sin(state.angle2))
    above = -LENGTH * (jnp.cos(state.angle1) + jnp.cos(state.angle2)) - HEIGHT
    return Step(state, -jnp.sqrt(across**2 + above**2), jnp.zeros((), bool))


DOUBLE_PENDULUM = Environment(
    name="double_pendulum",
    observation_size=6,
    actions=Continuous(1),
    horizon=HORIZON,
    reset=reset,
    observe=observe,
    step=step,
)
