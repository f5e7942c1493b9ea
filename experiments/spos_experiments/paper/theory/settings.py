"""Everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    sizes: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128)
    mean_field: int = 2048  # particles that stand in for infinitely many
    cases: tuple[tuple[str, float], ...] = (("Gaussian", 0.2), ("Gaussian", 1.0), ("logistic", 1.0))
    pool: int = 40_960  # particles over all repeats
    snapshots: int = 20
    betas: tuple[float, ...] = (0.1, 0.2, 0.4, 1.0, 10.0)
    decay_particles: int = 128
    decay_repeats: int = 300
    shift: float = 1.0  # of the start from the target
    steps_beta: float = 0.2
    steps_particles: int = 16
    num_steps: int = 4096
    large_step: float = 0.03
    step_sizes: tuple[int, ...] = (1, 8, 64)  # numbers of particles for the error of the step
    budget: int = 2048
    plan_sizes: tuple[int, ...] = (4, 16, 64, 128, 256, 512)
    plan_steps: tuple[float, ...] = (0.005, 0.01, 0.02, 0.05, 0.1)
    pilot_sizes: tuple[int, ...] = (5, 20, 80)
    pilot_steps: tuple[float, ...] = (0.01, 0.03, 0.1)
    checked: tuple[str, ...] = ("logistic", "mixture")
    plan_repeats: int = 128
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            sizes=(8,),
            mean_field=16,
            cases=(("Gaussian", 0.2),),
            pool=400,
            snapshots=4,
            betas=(0.2, 1.0),
            decay_particles=8,
            decay_repeats=20,
            num_steps=256,
            step_sizes=(8,),
            budget=512,
            plan_sizes=(16,),
            plan_steps=(0.02, 0.1),
            pilot_sizes=(5, 20),
            checked=("logistic",),
            plan_repeats=8,
            hasty=True,
        )
