"""A step of training on the swing-up, compiled whole and with the task in Gymnasium.

Both sides do the same: 16 policies play 20 episodes each, the advantages and the policy gradient of
every one follow, and SPOS takes its step with Adam. On the other side the same mechanics are a
`gymnasium.Env`, once with the functions of NumPy, as Gymnasium's own control tasks have them, and
once with those of `math`, which are faster for one number. All 320 run in one `SyncVectorEnv`.
Policy, gradient and step are the same compiled functions. Its episodes are shorter: a rate does not
need 500 steps.

All steps of an environment count on both sides, also those after an episode's end, which are played
and then masked. `counted` is the share before the end: the timing uses untrained policies, which
soon drive into a wall; with trained ones it nears 1, and the work is the same.
"""

import functools
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import rl
from spos.rl.envs import cart_pole
from spos.rl.episodes import play_outside
from spos.rl.trajectories import Trajectories
from spos_experiments.bench.measure import Work, best_times, steps_of
from spos_experiments.bench.peers import Skip

PARTICLES, EPISODES = 16, 20
THEIR_STEPS = 50  # of an episode


def control(quick: bool) -> Iterator[dict[str, Any]]:
    count = 4 if quick else EPISODES
    learner = rl.learner(
        "swing_up", num_particles=PARTICLES, num_episodes=count, num_iterations=100
    )
    start = learner.start(0)
    works = {"ours": steps_of(learner.sampler, start, reporting=False)}
    skipped = {}
    for name, numbers in (("numpy", np), ("math", math)):
        try:
            works[name] = gymnasium(learner, THEIR_STEPS, numbers)
        except Skip as reason:
            skipped = {"skipped": str(reason)}
    times = best_times(works, rounds=1 if quick else 3)
    ours = PARTICLES * count * cart_pole.HORIZON / times.pop("ours")
    rates = {who: PARTICLES * count * THEIR_STEPS / seconds for who, seconds in times.items()}
    played = learner.task.play(start, jax.random.key(0))
    yield {
        "case": f"{PARTICLES}x{count}x{cart_pole.HORIZON}",
        "counted": float(jnp.mean(played.alive)),
        "steps_per_s": ours,
        **{f"gymnasium_{who}_steps_per_s": rate for who, rate in rates.items()},
        **{f"{who}_ratio": ours / rate for who, rate in rates.items()},
        **skipped,
    }


def gymnasium(learner: rl.Learner, horizon: int, numbers: Any) -> Work:
    """The same iterations with the task in Gymnasium; `numbers` is `numpy` or `math`."""
    episodes = Vector(learner.num_particles * learner.num_episodes, horizon, numbers)
    policy, num = learner.policy, learner.num_episodes
    step = jax.jit(learner.sampler.step)
    start = learner.sampler.init(learner.start(0))

    def work(count: int) -> Any:
        state = start
        for n in range(count):
            key = jax.random.fold_in(jax.random.key(0), n)
            played = play_outside(episodes, policy, num, state.particles, key)
            state, _ = step(key, state, played)
        return jax.block_until_ready(state)

    return work


class Vector:
    """Episodes from a `SyncVectorEnv`, with no check that would cost time."""

    def __init__(self, num: int, horizon: int, numbers: Any) -> None:
        try:
            from gymnasium.vector import SyncVectorEnv
        except ImportError as error:
            raise Skip("gymnasium is not installed") from error
        self.horizon, self._environments = horizon, SyncVectorEnv([swing_up(numbers)] * num)

    def collect(self, act: Any, num: int, seed: int) -> Trajectories:
        shape = self.horizon, num
        observations, actions = np.zeros((*shape, 4), np.float32), np.zeros((*shape, 1), np.float32)
        rewards, alive = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        seen, _ = self._environments.reset(seed=seed)
        running = np.ones(num, bool)
        for t in range(self.horizon):
            observations[t], actions[t] = seen, act(seen, t)
            seen, reward, ended, _, _ = self._environments.step(actions[t])
            rewards[t], alive[t] = np.where(running, reward, 0.0), running
            running &= ~ended
        return Trajectories(observations, actions, rewards, alive, ~running, running, seen)


@functools.cache
def swing_up(numbers: Any) -> Any:
    """The swing-up of `spos.rl.envs` as a class of Gymnasium."""
    import gymnasium

    class SwingUp(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            x, angle, x_rate, angle_rate = self.np_random.uniform(-1.0, 1.0, 4).tolist()
            self.state = x, math.pi + angle, 2.0 * x_rate, 3.0 * angle_rate
            return self._observation(), {}

        def step(self, action: Any) -> Any:
            force = cart_pole.FORCE * min(max(float(action[0]), -1.0), 1.0)
            self.state = moved(numbers, *self.state, force)
            ended = abs(self.state[0]) > 3.0
            reward = -100.0 if ended else numbers.cos(self.state[1])
            return self._observation(), reward, ended, False, {}

        def _observation(self) -> np.ndarray:
            x, angle, x_rate, angle_rate = self.state
            return np.array((x, x_rate, angle, angle_rate), np.float32)

    return SwingUp


def moved(
    numbers: Any, x: float, angle: float, x_rate: float, angle_rate: float, force: float
) -> tuple[float, float, float, float]:
    """`spos.rl.envs.cart_pole.move` for one environment, on the host."""
    h, arm = cart_pole.FRAME, cart_pole.POLE * cart_pole.CENTRE
    a, b = cart_pole.CART + cart_pole.POLE, cart_pole.SPIN + cart_pole.SWING
    cosine, turn = numbers.cos(angle), h * angle_rate
    first = a * x_rate - arm * numbers.cos(angle - turn) * angle_rate + h * force
    inertia = cart_pole.SPIN + cart_pole.SWING * numbers.cos(turn)
    weight = h * arm * cart_pole.GRAVITY * numbers.sin(angle)
    second = inertia * angle_rate - arm * cosine * x_rate + weight
    c = -arm * cosine
    determinant = a * b - c * c
    x_rate = (b * first - c * second) / determinant
    angle_rate = (a * second - c * first) / determinant
    return x + h * x_rate, angle + h * angle_rate, x_rate, angle_rate
