"""Everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass

from spos_experiments.frame.options import option

TASKS = ("swing_up_sines", "swing_up", "double_pendulum")
METHODS = ("spos", "svpg", "independent")


@dataclass(frozen=True)
class Settings:
    tasks: tuple[str, ...] = option(
        ("swing_up_sines", "double_pendulum"), "what to learn", choices=TASKS
    )
    methods: tuple[str, ...] = option(METHODS, "which methods", choices=METHODS)
    seeds: int = option(20, "judged repeats", at_least=1)
    tries: int = option(10, "of each method on each task", at_least=1)
    gradient: str = "ppo"
    block: int = 5  # tries or seeds of each method that run side by side
    swing_iterations: int = 100
    pendulum_iterations: int = 400  # two joints take longer to learn
    num_particles: int = 8
    num_episodes: int = 8  # of a particle and iteration, 500 steps each
    # the ranges of the tries
    step_sizes: tuple[float, float] = (1e-3, 1e-2)
    alphas: tuple[float, float] = (1.0, 100.0)
    bandwidths: tuple[float, float] = (2.0, 2000.0)
    betas: tuple[float, float] = (1.0, 1e10)
    pilot_seed: int = 1000  # judged seeds are far below

    def iterations(self, task: str) -> int:
        """How long a run on a task is."""
        return self.pendulum_iterations if task == "double_pendulum" else self.swing_iterations

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            tasks=("swing_up_sines",),
            gradient="reinforce",  # the quickest to compile
            seeds=2,
            tries=2,
            block=2,
            swing_iterations=3,
            num_particles=2,
            num_episodes=2,
        )
