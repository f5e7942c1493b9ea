"""The tasks: rewards, ends, starts and sights as their tables say."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from spos.rl import envs
from spos.rl.envs import cart_pole, double_pendulum

KEYS = jax.random.split(jax.random.key(0), 4096)
NOTHING = jnp.zeros(1)


def cart(x=0.0, angle=0.0, x_rate=0.0, angle_rate=0.0):
    return cart_pole.Motion(*map(jnp.float32, (x, angle, x_rate, angle_rate)))


def test_unknown_names_are_answered_with_the_known_ones():
    known = "cartpole, swing_up, swing_up_sines, double_pendulum"
    assert ", ".join(envs.ENVIRONMENTS) == known
    with pytest.raises(ValueError, match=f"one of {known}, got 'acrobot'"):
        envs.make("acrobot")


@pytest.mark.parametrize("name", envs.ENVIRONMENTS)
def test_a_whole_episode_stays_finite_and_float32_whatever_is_done(name):
    task = envs.make(name)

    def step(states, actions):
        states, reward, ended = jax.vmap(task.step)(states, actions)
        return states, (jax.vmap(task.observe)(states), reward, ended)

    noise = np.random.default_rng(0).normal(size=(task.horizon, 8, 1)).astype(np.float32)
    noise[:, 0], noise[:, 1] = 1.0, np.inf
    start = jax.vmap(task.reset)(KEYS[:8])
    seen, rewards, ended = jax.jit(jax.lax.scan, static_argnums=0)(step, start, noise)[1]
    assert seen.shape == (task.horizon, 8, task.observation_size)
    assert seen.dtype == rewards.dtype == np.float32
    assert ended.dtype == bool
    assert np.isfinite(seen).all()
    assert np.isfinite(rewards).all()


@pytest.mark.parametrize("name", envs.ENVIRONMENTS)
def test_actions_are_clipped(name):
    task = envs.make(name)
    state = task.reset(KEYS[0])
    far, full, half = (task.step(state, jnp.full(1, a)).state for a in (7.0, 1.0, 0.5))
    assert jax.tree.map(float, far) == jax.tree.map(float, full)
    assert jax.tree.map(float, half) != jax.tree.map(float, full)


def test_a_full_push_is_ten_newtons_for_a_frame():
    upright = cart_pole.keep_up(cart(), jnp.ones(1)).state
    arm, inertia = 0.05, 0.0334166667  # about the pivot, as the task's table has it
    assert float(upright.x_rate) == pytest.approx(
        0.5 * inertia / (1.1 * inertia - arm**2), rel=1e-5
    )
    assert float(upright.x) == pytest.approx(0.05 * float(upright.x_rate), rel=1e-6)


@pytest.mark.parametrize(
    ("start", "reward", "ended"),
    [
        (cart(angle=0.1), 10 - (1 - math.cos(0.1)), False),
        (cart(x=2.39), 10.0, False),
        (cart(x=2.41), 0.0, True),
        (cart(x=-2.41), 0.0, True),
        (cart(angle=0.21), 0.0, True),
        (cart(angle=-0.21), 0.0, True),
    ],
)
def test_the_pole_kept_up(start, reward, ended):
    found = cart_pole.keep_up(start, NOTHING)
    assert float(found.reward) == pytest.approx(reward, abs=2e-3)  # a frame later
    assert bool(found.terminated) is ended


def test_a_push_costs_a_little():
    free, pushed = (cart_pole.keep_up(cart(), jnp.full(1, a)) for a in (0.0, 1.0))
    lean = 1 - math.cos(float(pushed.state.angle))
    assert float(free.reward - pushed.reward) == pytest.approx(1e-3 + lean, abs=2e-6)


@pytest.mark.parametrize(
    ("start", "reward", "ended"),
    [
        (cart(angle=math.pi), -1.0, False),
        (cart(angle=2 * math.pi), 1.0, False),
        (cart(x=2.99), 1.0, False),
        (cart(x=3.01), -100.0, True),
        (cart(x=-3.01), -100.0, True),
    ],
)
def test_the_pole_swung_up(start, reward, ended):
    found = cart_pole.swing_up(start, NOTHING)
    assert float(found.reward) == pytest.approx(reward, abs=1e-4)
    assert bool(found.terminated) is ended


@pytest.mark.parametrize(
    ("angles", "distance"),
    [((0, 0), 4.0), ((math.pi, math.pi), 0.0), ((math.pi, 0), 2.0), ((0, math.pi), 2.0)],
)
def test_the_tip_is_to_come_to_the_point_above(angles, distance):
    still = double_pendulum.Motion(*map(jnp.float32, (*angles, 0, 0)))
    found = double_pendulum.step(still, NOTHING)
    assert float(found.reward) == pytest.approx(-distance, abs=1e-3)
    assert not bool(found.terminated)


def test_the_motor_turns_the_links_apart():
    state = double_pendulum.step(double_pendulum.Motion(*jnp.zeros(4)), jnp.ones(1)).state
    assert float(state.rate2) > 0 > float(state.rate1)
    # at rest and straight: [[A, C], [C, B]] ω = (-u, u) h, for two frames (their friction is small)
    a, b, c = 0.667083, 0.167083, 0.25
    first = 0.02 * 50 * np.linalg.solve([[a, c], [c, b]], [-1, 1])
    assert [float(state.rate1), float(state.rate2)] == pytest.approx(first, rel=0.1)


@pytest.mark.parametrize(("pole", "friction"), [(0.1, 0.0), (0.3, 0.7)])
def test_only_force_and_friction_change_the_momentum(pole, friction):
    """(M + m) ẋ - m l cos θ θ̇, θ that of the frame before: as the first equation of motion says."""

    def momentum(state):
        before = state.angle - cart_pole.FRAME * state.angle_rate
        carried = pole * cart_pole.CENTRE * jnp.cos(before) * state.angle_rate
        return (cart_pole.CART + pole) * state.x_rate - carried

    def step(carry, force):
        state, gained = carry
        gained = gained + cart_pole.FRAME * (force - friction * state.x_rate)
        return (cart_pole.move(state, force, pole=pole, friction=friction), gained), None

    start = cart(x_rate=1.0, angle=2.0, angle_rate=3.0)
    forces = jnp.asarray([5.0, -8.0, 3.0, 0.0, 9.0] * 4)
    (end, gained), _ = jax.lax.scan(step, (start, jnp.zeros(())), forces)
    assert float(momentum(end) - momentum(start)) == pytest.approx(float(gained), abs=1e-4)
    without = jax.lax.scan(lambda s, f: (cart_pole.move(s, f), None), start, forces)[0]
    assert (abs(float(end.x - without.x)) > 0.01) == (friction > 0)


def test_what_is_seen():
    seen = envs.make("swing_up").observe(cart(x=1, x_rate=2, angle=3, angle_rate=4))
    assert seen.tolist() == [1, 2, 3, 4]
    turned = cart(x=1, x_rate=2, angle=3 - 2 * math.pi, angle_rate=4)  # the same pose
    seen = envs.make("swing_up_sines").observe(turned)
    assert seen.tolist() == pytest.approx([1, 2, math.sin(3), math.cos(3), 4], abs=1e-6)
    seen = double_pendulum.observe(double_pendulum.Motion(*map(jnp.float32, (0.5, 2.0, 3.0, 4.0))))
    expected = [math.sin(0.5), math.cos(0.5), 3, math.sin(2), math.cos(2), 4]
    assert seen.tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "centre", "spread"),
    [
        ("cartpole", (0, 0, 0, 0), (0.12, 0.2, 0.01, 0.2)),
        ("swing_up", (0, 0, math.pi, 0), (1, 2, 1, 3)),
    ],
)
def test_carts_start_uniformly(name, centre, spread):
    task = envs.make(name)
    drawn = np.asarray(jax.vmap(lambda key: task.observe(task.reset(key)))(KEYS))
    unit = (drawn - np.array(centre)) / np.array(spread)
    assert np.abs(unit).max() <= 1 + 1e-5
    # four standard errors of a mean and of a variance: eight numbers, fails once in 2000 seeds
    assert np.abs(unit.mean(0)).max() < 4 * math.sqrt(1 / 3 / 4096)
    assert np.abs(unit.var(0) - 1 / 3).max() < 4 * math.sqrt(4 / 45 / 4096)


def test_links_start_near_hanging():
    drawn = np.stack(jax.vmap(double_pendulum.reset)(KEYS), axis=1) / [0.1, 0.1, 0.01, 0.01]
    assert np.abs(drawn.mean(0)).max() < 4 * math.sqrt(1 / 4096)
    assert np.abs(drawn.var(0) - 1).max() < 4 * math.sqrt(2 / 4096)
