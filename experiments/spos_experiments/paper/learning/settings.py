"""Everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass

from spos_experiments.frame.options import option

TASKS = ("swing_up_sines", "swing_up", "double_pendulum", "cartpole")
METHODS = ("spos", "svpg", "independent")
GRADIENTS = ("ppo", "a2c", "reinforce")


def lesson_of(task: str, gradient: str) -> str:
    """The name of the setting that says how a task is learned."""
    if task == "cartpole":
        return task
    kind = "pendulum" if task == "double_pendulum" else "swing"
    return kind if gradient == "ppo" else f"{kind}_by_steps"


@dataclass(frozen=True)
class Lesson:
    """How a task is learned, by all methods alike."""

    num_iterations: int
    num_episodes: int  # of a particle and iteration, 500 steps each
    lam: float | None  # λ of generalized advantages, where the gradient has them
    hidden: tuple[int, ...]  # units of a policy's layers
    first: float = 1.0  # factor of the last layer's first weights


@dataclass(frozen=True)
class FadingLesson(Lesson):
    """With steps that shrink along a cosine."""

    last: float = 0.05  # the share of the first step size that is left in the end


@dataclass(frozen=True)
class Settings:
    tasks: tuple[str, ...] = option(
        ("swing_up_sines", "double_pendulum"), "what to learn", choices=TASKS
    )
    methods: tuple[str, ...] = option(METHODS, "which methods", choices=METHODS)
    seeds: int = option(20, "judged repeats", at_least=1)
    tries: int = option(10, "of each method on each task", at_least=1)
    gradient: str = option("ppo", "of a policy's return", choices=GRADIENTS)
    block: int = 5  # tries or seeds of each method that run side by side
    num_particles: int = 8
    swing: Lesson = Lesson(100, 8, 0.95, (25, 10))
    # Policies whose first actions are large, or which look ahead too little, often end by swinging
    # round and round; and steps as large as they were at first let go of what was learned.
    pendulum: Lesson = FadingLesson(400, 4, 0.99, (32, 32), 0.01)
    # Gradients that take one step on a set of episodes, in place of sixteen, need more of them.
    swing_by_steps: Lesson = Lesson(200, 4, None, (25, 10))
    pendulum_by_steps: Lesson = FadingLesson(200, 4, None, (32, 32), 0.01)
    cartpole: Lesson = Lesson(100, 4, None, (25, 10))
    # the ranges of the tries
    step_sizes: tuple[float, float] = (1e-3, 1e-2)
    alphas: tuple[float, float] = (1.0, 100.0)
    bandwidths: tuple[float, float] = (2.0, 2000.0)
    betas: tuple[float, float] = (1.0, 1e10)
    pilot_seed: int = 1000  # judged seeds are far below

    def lesson(self, task: str) -> Lesson:
        """How a task is learned."""
        found: Lesson = getattr(self, lesson_of(task, self.gradient))
        return found

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            tasks=("swing_up_sines",),
            gradient="reinforce",  # the quickest to compile
            seeds=2,
            tries=2,
            block=2,
            swing_by_steps=Lesson(3, 2, None, (25, 10)),
            num_particles=2,
        )
