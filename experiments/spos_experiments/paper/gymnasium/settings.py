"""The tasks, how each is learned, and everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

from spos_experiments.frame.options import option

SOLVED = {
    "CartPole-v1": 475.0,
    "Pendulum-v1": -200.0,
    "Acrobot-v1": -100.0,
    "MountainCarContinuous-v0": 90.0,
    "LunarLander-v3": 200.0,
    "HalfCheetah-v5": 4800.0,
}
SMALL = tuple(SOLVED)[:4]
SPARSE = "MountainCarContinuous-v0"
METHODS = ("spos", "svpg", "independent")
RIVALS = ("stable-baselines3",)
# what differs from the settings of "ppo"
OWN: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"num_iterations": 50},
    "Pendulum-v1": {"num_iterations": 100, "num_episodes": 16, "gamma": 0.95},
    "Acrobot-v1": {"num_iterations": 80},
    "MountainCarContinuous-v0": {"num_iterations": 50, "gamma": 0.999},
    "LunarLander-v3": {"num_iterations": 400, "gamma": 0.999},
    "HalfCheetah-v5": {"num_iterations": 600, "num_episodes": 4, "hidden": (64, 64)},
}


class Job(NamedTuple):
    """One training run."""

    task: str
    method: str  # one of ours, or a rival
    seed: int


@dataclass(frozen=True)
class Settings:
    tasks: tuple[str, ...] = option(SMALL, "which tasks", choices=tuple(SOLVED))
    seeds: int = option(1, "independent repeats", at_least=1)
    sparse_seeds: int = option(5, "repeats of each method on MountainCar", at_least=1)
    rivals: tuple[str, ...] = option((), "libraries that learn the same tasks", choices=RIVALS)
    num_particles: int = 4
    judged_episodes: int = 100
    changed: tuple[tuple[str, Any], ...] = ()  # settings of all tasks

    def quick(self) -> "Settings":
        few = (("num_iterations", 2), ("num_episodes", 2), ("gradient", "reinforce"))
        return dataclasses.replace(
            self, tasks=("CartPole-v1",), num_particles=2, judged_episodes=3, changed=few
        )

    def jobs(self, seed: int) -> list[Job]:
        """Every task by SPOS-PG, the small ones by rivals, and the one with a sparse reward by all
        methods."""
        solved = [
            Job(name, method, seed + n)
            for method in ("spos", *self.rivals)
            for n in range(self.seeds)
            for name in self.tasks
            if method == "spos" or name in SMALL
        ]
        if SPARSE not in self.tasks:
            return solved
        sparse = [Job(SPARSE, m, seed + n) for n in range(self.sparse_seeds) for m in METHODS]
        return list(dict.fromkeys(solved + sparse))
