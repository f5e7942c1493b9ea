"""A policy and its episodes by hand, for the tests of its target."""

import jax.numpy as jnp
import numpy as np

from spos.rl.advantages import reinforce
from spos.rl.trajectories import Trajectories
from spos.targets.policy import PolicyTask
from spos.values import value

# two particles, four steps, three episodes, observations of two numbers
RANDOM = np.random.default_rng(0)
THETA = RANDOM.normal(size=(2, 2)).astype(np.float32)
SEEN, ACTIONS = RANDOM.normal(size=(2, 4, 3, 2)), RANDOM.normal(size=(2, 4, 3))
ALIVE = np.ones((2, 4, 3))
ALIVE[0, 2:, 1] = 0.0
REWARDS = RANDOM.normal(size=(2, 4, 3)) * ALIVE
OVER = np.zeros((2, 3), bool)
EPISODES = Trajectories(
    *(jnp.asarray(part, jnp.float32) for part in (SEEN, ACTIONS, REWARDS, ALIVE)),
    *(jnp.asarray(part) for part in (~OVER, OVER)),
    jnp.zeros((2, 3, 2)),
)
GAMMA = 0.9


def log_policy(theta, observation, action):
    """A normal action around a linear mean, up to a constant."""
    return -0.5 * (action - observation @ theta) ** 2


@value
class ByHand(PolicyTask):
    num_cells = 2

    def play(self, particles, key):
        return EPISODES

    def log_policy(self, theta, observation, action):
        return log_policy(theta, observation, action)

    def advantages(self, critic, episodes):
        return reinforce(GAMMA).judge(critic, episodes)

    def cells(self, seen):
        return (jnp.asarray([jnp.max(seen), jnp.min(seen)]) > 0).astype(jnp.float32)
