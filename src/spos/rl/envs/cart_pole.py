"""A pole on a cart, and two tasks with it: keep it up, and swing it up.

**Motion.** The cart of mass M is at x. The pole of mass m leans by θ from upright, to the left
where θ > 0; its centre of mass is a distance l from the pivot, at (x - l sin θ, l cos θ), and its
inertia about that centre is I. With J = I + m l²,

    T = ½ (M + m) ẋ² - m l cos θ ẋ θ̇ + ½ J θ̇²           V = m g l cos θ

and Lagrange's equations, with a force F on the cart, are

    (M + m) ẍ - m l cos θ θ̈ + m l sin θ θ̇² = F
    J θ̈ - m l cos θ ẍ - m g l sin θ        = 0

In frames (`mechanics.py`), with θ′ = θ - h θ̇ the angle of the frame before, the velocity of the
pole's centre is (ẋ - l cos θ′ θ̇, -l sin θ′ θ̇), and the new rates solve

    (M + m) ẋ_new - m l cos θ θ̇_new = (M + m) ẋ - m l cos θ′ θ̇ + h F
    -m l cos θ ẋ_new + J θ̇_new      = -m l cos θ ẋ + (I + m l² cos(h θ̇)) θ̇ + h m g l sin θ

whose determinant (M + m) J - (m l cos θ)² is positive.

**Tasks.** An action a in [-1, 1] pushes with F = 10 a newtons for a frame of .05 s. The policy sees
x, ẋ, θ, θ̇; the angle of a pole that turns over and over is not wound back, so that the same pose
looks ever new. `swing_up_sines` is the second task seen as x, ẋ, sin θ, cos θ, θ̇.

| | reset, uniform | reward after a step | ends when |
|---|---|---|---|
| keep up | x ± .12, ẋ ± .2, θ ± .01, θ̇ ± .2 | 9 + cos θ - 10⁻⁵ F², 0 at the end | |x|>2.4, |θ|>.2 |
| swing up | x ± 1, ẋ ± 2, θ π ± 1, θ̇ ± 3 | cos θ, -100 at the end | |x|>3 |
"""

import dataclasses
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from spos.rl.envs.environment import Continuous, Environment, Step
from spos.rl.envs.mechanics import solve

GRAVITY = 10.0
CART, POLE = 1.0, 0.1  # kg
LENGTH, WIDTH = 1.0, 0.1  # of the pole, a rectangle of even density
CENTRE = LENGTH / 2  # l
SPIN = POLE * (LENGTH**2 + WIDTH**2) / 12  # I
SWING = POLE * CENTRE**2  # m l²
FORCE = 10.0  # newtons at full action
FRAME = 0.05  # seconds
HORIZON = 500


class Motion(NamedTuple):
    """Where cart and pole are and how fast they move, as scalars.

    A vector was no faster over many environments.
    """

    x: jax.Array
    angle: jax.Array
    x_rate: jax.Array
    angle_rate: jax.Array


def move(
    state: Motion,
    force: jax.Array,
    h: float | jax.Array = FRAME,
    *,
    pole: float | jax.Array = POLE,
    friction: float | jax.Array = 0.0,
) -> Motion:
    """The motion a frame later.

    Args:
        state: before.
        force: on the cart, in newtons.
        h: the length of the frame in seconds.
        pole: its mass in kg.
        friction: that slows the cart, in newtons for each metre per second.

    Returns:
        The state after.
    """
    x, angle, x_rate, angle_rate = state
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    turned_sine, turned_cosine = jnp.sin(h * angle_rate), jnp.cos(h * angle_rate)
    before = cosine * turned_cosine + sine * turned_sine  # cos θ′
    heavier = pole / POLE
    arm, spin, swing = pole * CENTRE, heavier * SPIN, heavier * SWING
    x_rate, angle_rate = solve(
        CART + pole,
        -arm * cosine,
        spin + swing,
        (CART + pole) * x_rate - arm * before * angle_rate + h * (force - friction * x_rate),
        (spin + swing * turned_cosine) * angle_rate
        - arm * cosine * x_rate
        + h * arm * GRAVITY * sine,
    )
    return Motion(x + h * x_rate, angle + h * angle_rate, x_rate, angle_rate)


def observe(state: Motion) -> jax.Array:
    """x, ẋ, θ, θ̇."""
    seen = (state.x, state.x_rate, state.angle, state.angle_rate)
    return jnp.stack(seen).astype(jnp.float32)


def observe_sines(state: Motion) -> jax.Array:
    """x, ẋ, sin θ, cos θ, θ̇."""
    turned = jnp.sin(state.angle), jnp.cos(state.angle)
    return jnp.stack((state.x, state.x_rate, *turned, state.angle_rate)).astype(jnp.float32)


def keep_up(state: Motion, action: jax.Array) -> Step:
    """A step of the first task."""
    force = _force(action)
    state = move(state, force)
    ended = (jnp.abs(state.x) > 2.4) | (jnp.abs(state.angle) > 0.2)
    reward = 9.0 + jnp.cos(state.angle) - 1e-5 * force**2
    return Step(state, jnp.where(ended, 0.0, reward), ended)


def swing_up(state: Motion, action: jax.Array, **build: float | jax.Array) -> Step:
    """A step of the second task, with a cart and pole of another build where `move` is told so."""
    state = move(state, _force(action), **build)
    ended = jnp.abs(state.x) > 3.0
    return Step(state, jnp.where(ended, -100.0, jnp.cos(state.angle)), ended)


def _force(action: jax.Array) -> jax.Array:
    return FORCE * jnp.clip(action[0], -1.0, 1.0)


Four = tuple[float, float, float, float]  # x, θ, ẋ, θ̇


def _start(key: jax.Array, centre: Four, spread: Four) -> Motion:
    offset = jax.random.uniform(key, (4,), minval=-1.0, maxval=1.0)
    return Motion(*(c + s * u for c, s, u in zip(centre, spread, offset, strict=True)))


CARTPOLE = Environment(
    name="cartpole",
    observation_size=4,
    actions=Continuous(1),
    horizon=HORIZON,
    reset=lambda key: _start(
        key,
        (0.0, 0.0, 0.0, 0.0),
        (0.12, 0.01, 0.2, 0.2),
    ),
    observe=observe,
    step=keep_up,
)

SWING_UP = Environment(
    name="swing_up",
    observation_size=4,
    actions=Continuous(1),
    horizon=HORIZON,
    reset=lambda key: _start(
        key,
        (0.0, math.pi, 0.0, 0.0),
        (1.0, 1.0, 2.0, 3.0),
    ),
    observe=observe,
    step=swing_up,
)

SWING_UP_SINES = dataclasses.replace(
    SWING_UP, name="swing_up_sines", observation_size=5, observe=observe_sines
)
