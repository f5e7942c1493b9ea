"""The motion, held against Box2D, an engine that works in frames too: friction and all."""

import math
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from spos.rl.envs import cart_pole, double_pendulum

with warnings.catch_warnings():  # its binding warns of itself, and turned into errors that aborts
    warnings.simplefilter("ignore")
    import Box2D


def box2d_cart_pole():
    world = Box2D.b2World(gravity=(0, -10), doSleep=False)
    track = world.CreateStaticBody(position=(0, 0))
    cart = world.CreateDynamicBody(position=(0, 0), allowSleep=False)
    cart.CreateFixture(shape=Box2D.b2PolygonShape(box=(0.5, 0.25)), density=2, groupIndex=-1)
    pole = world.CreateDynamicBody(position=(0, 0), allowSleep=False)
    shape = Box2D.b2PolygonShape(box=(0.05, 0.5, (0, 0.5), 0))
    pole.CreateFixture(shape=shape, density=1, groupIndex=-1)
    world.CreatePrismaticJoint(bodyA=track, bodyB=cart, anchor=(0, 0), axis=(1, 0))
    world.CreateRevoluteJoint(bodyA=cart, bodyB=pole, anchor=(0, 0))

    def push(force):
        cart.ApplyForceToCenter((force, 0), True)

    def seen():
        return cart.position[0], pole.angle, cart.linearVelocity[0], pole.angularVelocity

    def place(state):
        x, angle, x_rate, rate = state
        cart.position, cart.linearVelocity = (x, 0), (x_rate, 0)
        pole.position, pole.angle, pole.angularVelocity = (x, 0), angle, rate
        pole.linearVelocity = (
            x_rate - 0.5 * math.cos(angle) * rate,
            -0.5 * math.sin(angle) * rate,
        )

    return world, push, seen, place


def box2d_double_pendulum():
    world = Box2D.b2World(gravity=(0, -10), doSleep=False)
    above, links = world.CreateStaticBody(position=(0, 0)), []
    for height in (0.0, -1.0):
        link = world.CreateDynamicBody(position=(0, height), allowSleep=False)
        shape = Box2D.b2PolygonShape(box=(0.05, 0.5, (0, -0.5), 0))
        link.CreateFixture(shape=shape, density=5, groupIndex=-1)
        world.CreateRevoluteJoint(bodyA=above, bodyB=link, anchor=(0, height))
        links.append(link)
        above = link

    def push(torque):
        links[0].ApplyTorque(-torque, True)
        links[1].ApplyTorque(torque, True)

    def seen():
        return (*(link.angle for link in links), *(link.angularVelocity for link in links))

    return world, push, seen, lambda state: None


STRENGTH = {cart_pole: 10.0, double_pendulum: 50.0}
BOX2D = {
    cart_pole: (box2d_cart_pole, 1, (0.0, 0.1, 0.0, 0.0)),
    double_pendulum: (box2d_double_pendulum, 2, (0.0, 0.0, 0.0, 0.0)),
}


def both_engines(system, steps: int, strength: float, seed: int):
    """States after each step of Box2D and of ours, under the same random actions."""
    build, frames, start = BOX2D[system]
    world, push, seen, place = build()
    place(start)
    forces = strength * np.random.default_rng(seed).uniform(-1, 1, steps)
    theirs = []
    for force in forces:
        for _ in range(frames):
            push(force)
            world.Step(system.FRAME, 50, 50)
            world.ClearForces()
        theirs.append(seen())

    def step(state, force):
        for _ in range(frames):
            state = system.move(state, force)
        return state, jnp.stack(state)

    begin = system.Motion(*jnp.asarray(start, jnp.float32))
    return np.array(theirs), np.asarray(jax.lax.scan(step, begin, jnp.float32(forces))[1])


@pytest.mark.parametrize(
    ("system", "share", "tolerance"),
    # of the strongest action; measured: .034, .025 and .103
    [(cart_pole, 1.0, 0.04), (double_pendulum, 0.2, 0.04), (double_pendulum, 1.0, 0.13)],
)
def test_twenty_steps_agree_with_the_original_kind_of_engine(system, share, tolerance):
    worst = []
    for seed in range(5):
        theirs, ours = both_engines(system, 20, share * STRENGTH[system], seed)
        worst.append(np.abs(ours - theirs).max(0) / np.abs(theirs).max(0))
    assert np.max(worst) < tolerance


def test_random_torques_whirl_the_double_pendulum_as_fast_as_in_the_original_kind_of_engine():
    speeds = []
    for seed in range(4):
        theirs, ours = both_engines(double_pendulum, 500, 50.0, seed)
        speeds.append([np.sqrt(np.mean(path[:, 3] ** 2)) for path in (theirs, ours)])
    theirs, ours = np.mean(speeds, axis=0)
    assert ours == pytest.approx(theirs, rel=0.25)
