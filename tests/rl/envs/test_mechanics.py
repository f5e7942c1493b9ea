"""The motion, held against MuJoCo, which solves Lagrange's equations, and its own energy."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from spos.rl.envs import cart_pole, double_pendulum, mechanics

MJCF = {
    cart_pole: """<mujoco>
      <compiler angle="radian"/><option gravity="0 0 -10" timestep="1e-4" integrator="RK4"/>
      <worldbody><body>
        <joint name="cart" type="slide" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <body><joint type="hinge" axis="0 -1 0"/>
          <inertial pos="0 0 .5" mass=".1" diaginertia=".01 .0084166666666666667 .01"/></body>
      </body></worldbody>
      <actuator><motor joint="cart"/></actuator></mujoco>""",
    double_pendulum: """<mujoco>
      <compiler angle="radian"/><option gravity="0 0 -10" timestep="1e-4" integrator="RK4"/>
      <worldbody><body>
        <joint type="hinge" axis="0 -1 0"/>
        <inertial pos="0 0 -.5" mass=".5" diaginertia=".05 .042083333333333333 .05"/>
        <body pos="0 0 -1"><joint name="elbow" type="hinge" axis="0 -1 0"/>
          <inertial pos="0 0 -.5" mass=".5" diaginertia=".05 .042083333333333333 .05"/></body>
      </body></worldbody>
      <actuator><motor joint="elbow"/></actuator></mujoco>""",
}
STRENGTH = {cart_pole: 10.0, double_pendulum: 50.0}
SYSTEMS = pytest.mark.parametrize("system", list(MJCF), ids=lambda s: s.__name__.split(".")[-1])


def to_joints(system, pair):
    """MuJoCo turns the lower link against the upper one; we turn both against the vertical."""
    return np.array([pair[0], pair[1] - pair[0]]) if system is double_pendulum else np.array(pair)


def from_joints(system, pair):
    return np.array([pair[0], pair[0] + pair[1]]) if system is double_pendulum else np.array(pair)


def random_states(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (count, 4)) * [3, 3, 4, 8]


def accelerations(system, states, forces):
    """The rates a frame leaves behind, differentiated by its length at length 0."""

    def one(state, force):
        def rates(h):
            return jnp.stack(system.move(system.Motion(*state), force, h)[2:])

        return jax.jvp(rates, (jnp.zeros(()),), (jnp.ones(()),))[1]

    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(states), jnp.asarray(forces)))


def mujoco_accelerations(system, states, forces):
    model = mujoco.MjModel.from_xml_string(MJCF[system])
    data = mujoco.MjData(model)
    found = []
    for state, force in zip(states, forces, strict=True):
        data.qpos[:] = to_joints(system, state[:2])
        data.qvel[:] = to_joints(system, state[2:])
        data.ctrl[:] = force
        mujoco.mj_forward(model, data)
        found.append(from_joints(system, data.qacc))
    return np.array(found)


def worst_disagreement(system) -> float:
    states = random_states(200)
    forces = np.random.default_rng(1).uniform(-1, 1, 200) * STRENGTH[system]
    ours, theirs = (f(system, states, forces) for f in (accelerations, mujoco_accelerations))
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


@SYSTEMS
def test_accelerations_are_mujocos(system):
    assert worst_disagreement(system) < 1e-10


MUTANTS = [
    (cart_pole, "SPIN", 0.0),
    (cart_pole, "GRAVITY", -10.0),
    (cart_pole, "SWING", 0.0251),
    (double_pendulum, "SPIN", 0.0418),
    (double_pendulum, "COUPLING", -0.25),
    (double_pendulum, "GRAVITY", 9.81),
]


@pytest.mark.parametrize(("system", "name", "wrong"), MUTANTS)
def test_a_wrong_constant_is_noticed(monkeypatch, system, name, wrong):
    monkeypatch.setattr(system, name, wrong)
    assert worst_disagreement(system) > 1e-4


def energy(system, state):
    """½ Σ m ‖velocity‖² + ½ Σ I ω² + Σ m g height, from where the bodies are."""
    first, second, first_rate, second_rate = state
    if system is cart_pole:

        def places(q):
            return jnp.stack([q[0], q[0] - 0.5 * jnp.sin(q[1]), 0.5 * jnp.cos(q[1])])

        masses, spins = jnp.array([1.0, 0.1, 0.1]), jnp.array([0.0, 0.1 * 1.01 / 12])
        weights = jnp.array([0.0, 0.0, 1.0])
    else:

        def places(q):
            elbow = jnp.stack([jnp.sin(q[0]), -jnp.cos(q[0])])
            end = jnp.stack([jnp.sin(q[1]), -jnp.cos(q[1])])
            return jnp.concatenate([0.5 * elbow, elbow + 0.5 * end])

        masses, spins = jnp.full(4, 0.5), jnp.full(2, 0.5 * 1.01 / 12)
        weights = jnp.array([0.0, 5.0, 0.0, 5.0])
    rates = jnp.stack([first_rate, second_rate])
    place, velocity = jax.jvp(places, (jnp.stack([first, second]),), (rates,))
    kinetic = 0.5 * (jnp.sum(masses * velocity**2) + jnp.sum(spins * rates**2))
    return kinetic, jnp.sum(weights * place)


def energy_changes(system, frame: float) -> np.ndarray:
    """Largest change of the energy in a second of free motion, relative to what is in motion."""

    def one(state):
        def go(state, _):
            state = system.move(state, 0.0, frame)
            return state, sum(energy(system, state))

        kinetic, potential = energy(system, state)
        energies = jax.lax.scan(go, state, None, round(1.0 / frame))[1]
        return jnp.max(jnp.abs(energies - kinetic - potential)) / (kinetic + 10.0)

    with jax.enable_x64(True):
        states = jnp.asarray(random_states(16, seed=2)) * jnp.array([1, 1, 0.5, 0.5])
        return np.asarray(jax.jit(jax.vmap(one))(system.Motion(*states.T)))


@SYSTEMS
def test_energy_is_kept_as_frames_shrink(system):
    coarse, fine = (energy_changes(system, h).max() for h in (8e-4, 2e-4))
    assert fine < 0.015  # measured: .0003 of the cart-pole, .011 of the double pendulum
    assert 3.3 < coarse / fine < 4.7  # first order: a quarter of the frame, a quarter of the error


@pytest.mark.parametrize(
    ("system", "name", "wrong"), [(cart_pole, "SPIN", 0.0), (double_pendulum, "COUPLING", -0.25)]
)
def test_energy_is_not_kept_by_a_wrong_constant(monkeypatch, system, name, wrong):
    monkeypatch.setattr(system, name, wrong)
    coarse, fine = (energy_changes(system, h).max() for h in (8e-4, 2e-4))
    assert fine > 0.015
    assert coarse / fine < 2


@SYSTEMS
def test_kinetic_energy_never_grows_without_forces_at_any_speed(monkeypatch, system):
    monkeypatch.setattr(system, "GRAVITY", 0.0)

    def kinetic(state):  # the bodies' velocities are those of where the frame began
        begun = [q - system.FRAME * rate for q, rate in zip(state[:2], state[2:], strict=True)]
        return energy(system, (*begun, *state[2:]))[0]

    def ratio_of(state):
        return kinetic(system.move(system.Motion(*state), 0.0)) / kinetic(state)

    with jax.enable_x64(True):
        states = jnp.asarray(random_states(300, seed=3)) * jnp.array([1, 1, 10, 50])
        ratio = np.asarray(jax.jit(jax.vmap(ratio_of))(states))
    assert ratio.max() <= 1 + 1e-12
    assert ratio.min() < 0.5  # fast bodies do feel the friction of the frames


@SYSTEMS
def test_small_frames_follow_mujoco_over_random_actions(system):
    model = mujoco.MjModel.from_xml_string(MJCF[system])
    data = mujoco.MjData(model)
    forces = 0.3 * STRENGTH[system] * np.random.default_rng(4).uniform(-1, 1, 10)
    data.qpos[:] = to_joints(system, [0.1, 0.3])
    theirs = []
    for force in forces:
        data.ctrl[:] = force
        for _ in range(200):
            mujoco.mj_step(model, data)
        theirs.append([*from_joints(system, data.qpos), *from_joints(system, data.qvel)])

    def step(state, force):
        state = jax.lax.fori_loop(0, 2000, lambda _, s: system.move(s, force, 1e-5), state)
        return state, jnp.stack(state)

    with jax.enable_x64(True):
        start = system.Motion(*jnp.asarray([0.1, 0.3, 0.0, 0.0]))
        ours = np.asarray(jax.jit(jax.lax.scan, static_argnums=0)(step, start, forces)[1])
    assert np.abs(ours - theirs).max() < 2e-3 * np.abs(theirs).max()


def test_two_equations_are_solved():
    x, y = mechanics.solve(2.0, jnp.float32(1.0), 3.0, jnp.float32(4.0), jnp.float32(7.0))
    assert (float(x), float(y)) == pytest.approx((1.0, 2.0))
