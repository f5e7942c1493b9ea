"""Gymnasium's own environments, and small ones made to be difficult."""

import gymnasium as gym
import numpy as np
import pytest

from spos.rl.envs import Continuous, Discrete
from spos.rl.gymnasium import GymnasiumEnvironment
from spos.rl.gymnasium import gymnasium as make


class Countdown(gym.Env):
    """Ends after 3 steps plus the first number of its seed; sees its own clock and last action."""

    def __init__(self, action_space=None, observation_space=None, trouble=None):
        box = gym.spaces.Box(-np.inf, np.inf, (3,), np.float64)
        self.action_space = action_space or gym.spaces.Discrete(2, start=5)
        self.observation_space = observation_space or box
        self.trouble = trouble
        self.episode = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.clock, self.length = 0, 3 + int(self.np_random.integers(4))
        self.episode += 1
        return self._see(0.0), {}

    def step(self, action):
        self.clock += 1
        over = self.clock == self.length
        bad = self.trouble if self.clock == 2 and self.length > 3 else None
        return (
            self._see(action, bad == "observation"),
            np.nan if bad == "reward" else 1.0,
            over,
            False,
            {},
        )

    def _see(self, action, bad=False):
        if isinstance(self.observation_space, gym.spaces.Dict):
            return {"place": np.float32([self.clock, 0.5]), "lamp": self.clock % 3}
        return np.array([np.nan if bad else self.clock, self.episode, np.ravel(action)[0]])


gym.register("Countdown-v0", entry_point=Countdown)
gym.register("Timed-v0", entry_point=Countdown, max_episode_steps=20)


def balance(seen, t):
    """Keeps CartPole-v1 up for ever."""
    return (seen @ np.array([0.1, 0.5, 10.0, 2.0]) > 0).astype(int)


def lean_left(seen, t):
    return np.zeros(len(seen), int)


def test_cart_pole_ends_by_falling_or_by_its_clock():
    with make("CartPole-v1") as task:
        assert (task.observation_size, task.actions, task.horizon) == (4, Discrete(2), 500)
        fell, stood = task.collect(lean_left, 3, 0), task.collect(balance, 3, 0)
    assert fell.terminated.all()
    assert not fell.truncated.any()
    assert stood.truncated.all()
    assert not stood.terminated.any()
    assert stood.alive.sum(0).tolist() == [500] * 3
    lengths = fell.alive.sum(0).astype(int)
    assert ((lengths > 5) & (lengths < 15)).all()
    assert fell.rewards.sum(0).tolist() == lengths.tolist()  # nothing from episodes begun later
    for i, length in enumerate(lengths):
        assert (
            np.abs(fell.observations[:length, i, 2]).max()
            < 0.2095
            < abs(fell.last_observations[i, 2])
        )


def test_shapes_and_precision():
    with make("CartPole-v1", horizon=7) as task:
        found = task.collect(balance, 2, 3)
    assert found.observations.shape == (7, 2, 4)
    assert found.actions.shape == found.rewards.shape == found.alive.shape == (7, 2)
    assert found.last_observations.shape == (2, 4)
    assert found.actions.dtype == np.int32
    assert found.observations.dtype == found.rewards.dtype == np.float32
    assert found.truncated.all()  # a horizon of our own is a clock too


def test_the_same_seed_repeats_and_others_share_nothing():
    with make("CartPole-v1", horizon=10) as task:
        first, other, again = (task.collect(balance, 4, seed) for seed in (0, 1, 0))
    for a, b in zip(first, again, strict=True):
        assert (a == b).all()
    starts = np.concatenate([first.observations[0], other.observations[0]])
    assert len(np.unique(starts, axis=0)) == 8


def test_an_episode_is_the_one_gymnasium_plays_by_itself():
    with make("Pendulum-v1", horizon=30) as task:
        assert (task.observation_size, task.actions) == (3, Continuous(1))
        found = task.collect(lambda seen, t: np.full((2, 1), np.sin(t)), 2, 5)
    alone = gym.make("Pendulum-v1")
    for i, seed in enumerate(np.random.SeedSequence(5).generate_state(2)):
        seen, _ = alone.reset(seed=int(seed))
        for t in range(30):
            assert found.observations[t, i] == pytest.approx(seen, abs=1e-6)
            seen, reward, *_ = alone.step(np.float32([2.0 * np.sin(t)]))  # torques of ± 2
            assert found.rewards[t, i] == pytest.approx(reward, rel=1e-5, abs=1e-6)
        assert found.last_observations[i] == pytest.approx(seen, abs=1e-6)
    alone.close()


def test_mujoco_double_pendulum_falls():
    with make("InvertedDoublePendulum-v5") as task:
        assert (task.actions, task.horizon) == (Continuous(1), 1000)
        found = task.collect(lambda seen, t: np.ones((2, 1)), 2, 0)
        assert found.observations.shape == (1000, 2, task.observation_size)
        assert found.terminated.all()
        assert found.alive.sum(0).max() < 100
        short = make("InvertedDoublePendulum-v5", horizon=2)
        assert short.collect(lambda seen, t: np.zeros((2, 1)), 2, 0).truncated.all()
        short.close()


def test_only_the_first_episode_counts_though_others_begin():
    with make("Timed-v0") as task:
        found = task.collect(lambda seen, t: np.ones(len(seen), int), 8, 0)
    lengths = found.alive.sum(0).astype(int)
    assert len(set(lengths)) > 1
    assert found.rewards.sum(0).tolist() == lengths.tolist()
    assert found.last_observations[:, 0].tolist() == lengths.tolist()  # not of the next reset
    episodes = found.observations[..., 1][found.alive > 0]
    assert (episodes == episodes[0]).all()
    assert (found.last_observations[:, 2] == 6).all()  # action 1 of a space that starts at 5


@pytest.mark.parametrize("trouble", ["observation", "reward"])
def test_what_is_not_finite_is_named_with_its_place(trouble):
    with make("Timed-v0") as good, make("Timed-v0", trouble=trouble) as task:
        lengths = good.collect(lean_left, 8, 0).alive.sum(0)
        first = int(np.argmax(lengths > 3))
        message = rf"the {trouble} of environment {first} is not finite in step 1"
        for _ in range(2):  # and it can be tried again
            with pytest.raises(FloatingPointError, match=message):
                task.collect(lean_left, 8, 0)


def test_actions_of_policies_gone_wrong_are_named():
    with make("Pendulum-v1") as task:
        with pytest.raises(FloatingPointError, match=r"the action of environment 1 .* in step 0"):
            task.collect(lambda seen, t: np.array([[0.0], [np.nan]]), 2, 0)
        with pytest.raises(ValueError, match=r"shape \(2, 1\) for Pendulum-v1, got \(2,\)"):
            task.collect(lambda seen, t: np.zeros(2), 2, 0)
    with make("CartPole-v1") as task:
        with pytest.raises(ValueError, match=r"2 integers for CartPole-v1, got .* float64"):
            task.collect(lambda seen, t: np.zeros(2), 2, 0)
        with pytest.raises(ValueError, match="actions in 0 … 1, got"):
            task.collect(lambda seen, t: np.full(2, 2), 2, 0)


def test_dictionaries_are_seen_as_one_vector():
    space = gym.spaces.Dict(place=gym.spaces.Box(-1, 99, (2,)), lamp=gym.spaces.Discrete(3))
    with make("Timed-v0", observation_space=space) as task:
        found = task.collect(lean_left, 1, 0)
    assert task.observation_size == 5
    assert found.observations[1, 0].tolist() == [1, 0.5, 0, 1, 0]  # clock 1, lamp 1 of 3


def test_boxes_without_bounds_take_the_number_itself():
    box = gym.spaces.Box(np.float32([-np.inf, 0.5, -4, 2]), np.float32([np.inf, np.inf, 8, 3]))
    task = make("Timed-v0", action_space=box)
    assert task.actions == Continuous(4)
    chosen = np.array([[0.5, -1, 0, 0], [3, 0.75, 1, -1], [-3, 3, -1, 1]])
    expected = [[0.5, 0.5, 2, 2.5], [1, 0.75, 8, 2], [-1, 1, -4, 3]]
    assert task._translate(chosen).tolist() == expected


def test_processes_of_their_own_play_the_same_episodes():
    with (
        make("Pendulum-v1", horizon=5) as here,
        make("Pendulum-v1", horizon=5, mode="async") as there,
    ):
        act = lambda seen, t: np.cos(seen[:, :1])  # noqa: E731
        for a, b in zip(here.collect(act, 2, 0), there.collect(act, 2, 0), strict=True):
            assert (a == b).all()


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.MultiDiscrete([2, 3]),
        gym.spaces.MultiBinary(2),
        gym.spaces.Text(4),
        gym.spaces.Box(0, 9, (2,), np.int64),
    ],
    ids=lambda space: type(space).__name__,
)
def test_other_action_spaces_are_refused(space):
    with pytest.raises(TypeError, match="a Discrete space or a Box of floats, got"):
        make("Timed-v0", action_space=space)


def test_observations_of_no_fixed_size_are_refused():
    space = gym.spaces.Sequence(gym.spaces.Discrete(2))
    with pytest.raises(TypeError, match="can be flattened, got Sequence"):
        make("Timed-v0", observation_space=space)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: make("CartPol-v1"), ValueError, "got 'CartPol-v1'; close to it are CartPole-v1"),
        (lambda: make("CartPole-v9"), ValueError, "close to it are CartPole-v1"),
        (lambda: make("xyzzy"), ValueError, "got 'xyzzy'; there are .*Pendulum-v1"),
        (lambda: make(3), TypeError, "name must be the id .*, got 3"),
        (lambda: make("Countdown-v0"), ValueError, "horizon must be given: Countdown-v0 has no"),
        (lambda: make("CartPole-v1", horizon=0), ValueError, "horizon must be at least 1, got 0"),
        (lambda: make("CartPole-v1", mode="gpu"), ValueError, "mode must be one of sync, async"),
        (lambda: make("Timed-v0").collect(lean_left, 0, 0), ValueError, "num must be at least 1"),
        (lambda: make("Timed-v0").collect(lean_left, 1, -1), ValueError, "seed must be at least 0"),
        (lambda: make("Timed-v0").collect(3, 1, 0), TypeError, "act must be a function, got 3"),
    ],
)
def test_bad_arguments_are_named(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_a_time_limit_of_our_own_serves_environments_without_one():
    task = make("Countdown-v0", horizon=2)
    assert isinstance(task, GymnasiumEnvironment)
    assert task.collect(lean_left, 2, 0).truncated.all()
    task.close()


def test_an_episode_becomes_a_film(tmp_path):
    pytest.importorskip("pygame")
    from PIL import Image

    with make("CartPole-v1", horizon=12) as environment:
        earned = environment.film(lambda seen: int(seen[2] > 0), tmp_path / "pole.gif", seed=1)
        assert earned == 12
        with Image.open(tmp_path / "pole.gif") as film:
            assert 1 < film.n_frames <= 4  # of twelve every third, and equal ones once
            assert film.size == (600, 400)
        with pytest.raises(ValueError, match="act must return actions"):
            environment.film(lambda seen: 7, tmp_path / "wrong.gif")
        assert not (tmp_path / "wrong.gif").exists()


def test_what_cannot_be_drawn_says_so(tmp_path):
    drawn = pytest.raises(ValueError, match="Countdown-v0 cannot be drawn")
    with make("Countdown-v0", horizon=2) as environment, drawn:
        environment.film(lambda seen: 0, tmp_path / "none.gif")
