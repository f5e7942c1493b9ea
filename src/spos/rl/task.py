"""A control task as the posterior of a policy needs it: environment, policy and advantages.

All of them are values, so that learners of one structure share one compiled program. Environments
are structure.
"""

import dataclasses
from typing import Any, Self

import jax

from spos.rl import coverage, episodes
from spos.rl.advantages import Advantages
from spos.rl.coverage import Grid
from spos.rl.envs.environment import Environment, Outline
from spos.rl.policies import Policy
from spos.rl.trajectories import Trajectories
from spos.targets.policy import PolicyTask
from spos.targets.policy.moments import Moments
from spos.types import Particles, PyTree
from spos.values import described, static, value


@value
class ControlTask(PolicyTask):
    """A task in pure JAX, which is played inside the compiled program."""

    policy: Policy
    judge: Advantages
    grid: Grid | None
    environment: Any = static()  # an Environment here, the Outline of one outside below
    num_episodes: int = static()

    def play(self, particles: Particles, key: jax.Array) -> Trajectories:
        return episodes.play(self.environment, self.policy, self.num_episodes, particles, key)

    def log_policy(self, theta: PyTree, observation: jax.Array, action: jax.Array) -> jax.Array:
        return self.policy.log_prob(theta, observation, action)

    def entropy(self, theta: PyTree, observation: jax.Array) -> jax.Array:
        return self.policy.entropy(theta, observation)

    def seeing(self, seen: Moments) -> Self:
        return dataclasses.replace(self, policy=self.policy.seeing(seen.mean, seen.deviation))

    @property
    def observation_size(self) -> int:
        return int(self.environment.observation_size)

    def first_critic(self) -> PyTree:
        return self.judge.first(self.environment.observation_size)

    def advantages(self, critic: PyTree, episodes: Trajectories) -> tuple[jax.Array, PyTree]:
        return self.judge.judge(critic, episodes)

    @property
    def num_cells(self) -> int:
        return 0 if self.grid is None else self.grid.num_cells

    def cells(self, observations: jax.Array) -> jax.Array:
        if self.grid is None:
            return super().cells(observations)
        return self.grid.visited(observations)

    def described(self) -> dict[str, Any]:
        """What a sampler's settings tell of the task."""
        return {
            "environment": self.environment.name,
            "horizon": self.environment.horizon,
            "num_episodes": self.num_episodes,
            "gradient": described(self.judge),
            "policy": described(self.policy),
        }


@value
class OutsideTask(ControlTask):
    """A task whose episodes are played on the host and handed to a step as its batch."""

    def play(self, particles: Particles, key: jax.Array) -> Trajectories:
        return episodes.blank(self.environment, self.num_episodes, particles)

    def draw(self, key: jax.Array) -> Any:
        raise ValueError(
            f"{self.environment.name} lives outside the compiled program: train on it with "
            "spos.rl.train, or give sampler.step its episodes as the batch"
        )


def task(environment: Any, policy: Policy, judge: Advantages, num_episodes: int) -> ControlTask:
    """The task that this environment poses.

    Args:
        environment: an `Environment`, or one outside with a `name`, `observation_size`, `actions`,
            `horizon` and `collect`.
        policy: what acts.
        judge: what tells how good actions were.
        num_episodes: of each particle in every iteration.

    Returns:
        The task.
    """
    grid = coverage.grid(environment.name)
    if isinstance(environment, Environment):
        return ControlTask(policy, judge, grid, environment, num_episodes)
    outline = Outline(
        environment.name, environment.observation_size, environment.actions, environment.horizon
    )
    return OutsideTask(policy, judge, grid, outline, num_episodes)
