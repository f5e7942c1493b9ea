"""`spos paper gymnasium`: are the small tasks of Gymnasium solved through `spos.rl.gymnasium`?

    CartPole-v1                  475    keep a pole up, two choices
    Pendulum-v1                 -200    swing a pole up and hold it, torque
    Acrobot-v1                  -100    swing two links up, three choices
    MountainCarContinuous-v0      90    leave a valley by swinging; nothing is earned before

A few policies learn together by SPOS-PG with PPO's gradient. The numbers are what the tasks'
authors call solved, but for the pendulum, which has none. Judged are 100 new episodes, without
noise of actions, by all policies together (`trained.policy()`) and by each of them.

**Exploration.** In the valley of MountainCar nothing but the cost of moving is felt until a policy
leaves it for the first time; one that never does learns to stand still. So this task is also
learned by SVPG and by policies that learn alone, from several seeds: what share of the policies
leaves the valley?

A task that has ended is a file in `runs/`, and one that has not is a checkpoint there.

    pip install 'spos[rl]'
    spos paper gymnasium
    spos paper gymnasium --tasks CartPole-v1 --seeds 3
"""

import dataclasses
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spos import rl
from spos.io.figures import TRUTH
from spos.io.html import Table
from spos_experiments.frame import draw as drawing
from spos_experiments.frame import resume
from spos_experiments.frame.bootstrap import interval
from spos_experiments.frame.experiment import Drawing, Findings, Tick
from spos_experiments.frame.options import option
from spos_experiments.frame.record import Claim, Record, numbers, verdict
from spos_experiments.paper.learning.figures import TINTS
from spos_experiments.paper.learning.findings import LABELS

TITLE = "Small tasks of Gymnasium"
ABOUT = "Four policies learn each task together, through the adapter for Gymnasium."

SOLVED = {
    "CartPole-v1": 475.0,
    "Pendulum-v1": -200.0,
    "Acrobot-v1": -100.0,
    "MountainCarContinuous-v0": 90.0,
}
SPARSE = "MountainCarContinuous-v0"
METHODS = ("spos", "svpg", "independent")
FEWEST = 5  # seeds that a comparison takes
NAMES = dict(zip(SOLVED, ("CartPole", "Pendulum", "Acrobot", "MountainCar"), strict=True))
# what differs from the settings of "ppo"
OWN: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"num_iterations": 50},
    "Pendulum-v1": {"num_iterations": 100, "num_episodes": 16, "gamma": 0.95},
    "Acrobot-v1": {"num_iterations": 80},
    "MountainCarContinuous-v0": {"num_iterations": 50, "gamma": 0.999},
}


class Job(NamedTuple):
    """One training run."""

    task: str
    method: str
    seed: int


@dataclass(frozen=True)
class Settings:
    tasks: tuple[str, ...] = option(tuple(SOLVED), "which tasks", choices=tuple(SOLVED))
    seeds: int = option(1, "independent repeats", at_least=1)
    sparse_seeds: int = option(5, "repeats of each method on MountainCar", at_least=1)
    num_particles: int = 4
    judged_episodes: int = 100
    changed: tuple[tuple[str, Any], ...] = ()  # settings of all tasks

    def quick(self) -> "Settings":
        few = (("num_iterations", 2), ("num_episodes", 2), ("gradient", "reinforce"))
        return dataclasses.replace(
            self, tasks=("CartPole-v1",), num_particles=2, judged_episodes=3, changed=few
        )

    def jobs(self, seed: int) -> list[Job]:
        """Every task by SPOS-PG, and the one with a sparse reward by all methods."""
        solved = [Job(name, "spos", seed + n) for n in range(self.seeds) for name in self.tasks]
        if SPARSE not in self.tasks:
            return solved
        sparse = [Job(SPARSE, m, seed + n) for n in range(self.sparse_seeds) for m in METHODS]
        return list(dict.fromkeys(solved + sparse))


class Outcome(NamedTuple):
    """A run, and what its policies earned afterwards."""

    returns: np.ndarray  # (iterations, particles)
    together: np.ndarray  # (episodes,)
    alone: np.ndarray  # (particles, episodes)
    steps: int  # of the environment and a particle, at most
    settings: dict[str, Any]
    seconds: float


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    mark = resume.mark(settings.num_particles, settings.judged_episodes, settings.changed)
    store = resume.store(folder)
    places = {
        job: store / f"{'-'.join(map(str, job))}-{resume.mark(OWN[job.task], mark)}.npz"
        for job in settings.jobs(seed)
    }

    def make(job: Job, state: Path, tick: Tick) -> Outcome:
        return outcome(settings, job, state)

    found: dict[Job, Outcome] = {}
    for job, one in resume.in_turn(places, Outcome, make, lambda job: 1, tick):
        found[job] = one
        yield findings(settings, seed, found)


def outcome(settings: Settings, job: Job, state: Path) -> Outcome:
    with rl.gymnasium(job.task) as environment:
        given = {"gradient": "ppo", **OWN[job.task], **dict(settings.changed)}
        learner = rl.learner(environment, job.method, num_particles=settings.num_particles, **given)
        run = learner.train(job.seed, checkpoint=state, progress=False)
        num = settings.judged_episodes
        together, *alone = (
            _earned(environment, run, particle, num, job.seed)
            for particle in (None, *range(settings.num_particles))
        )
    most = learner.num_iterations * learner.num_episodes * environment.horizon
    told = dict(run.settings)
    return Outcome(run.returns, together, np.stack(alone), most, told, run.seconds)


def _earned(
    environment: Any, run: rl.Trained, particle: int | None, num: int, seed: int
) -> np.ndarray:
    """The returns of new episodes, played by the exported policies."""
    with tempfile.TemporaryDirectory() as folder:
        act = rl.deployed.load(run.export(Path(folder) / "policy.npz", particle=particle)).act

    def all_of(seen: np.ndarray, step: int) -> np.ndarray:
        return np.asarray([act(one) for one in seen])

    played = environment.collect(all_of, num, 2**31 - 1 - seed)
    earned: np.ndarray = played.rewards.sum(axis=0)
    return earned


def findings(settings: Settings, seed: int, found: Mapping[Job, Outcome]) -> Findings:
    rows = [
        {
            **job._asdict(),
            "solved": SOLVED[job.task],
            "together": float(one.together.mean()),
            "alone": one.alone.mean(axis=1),
            "steps": one.steps,
            "seconds": one.seconds,
            "curve": one.returns.mean(axis=1),
            "settings": one.settings,
        }
        for job, one in found.items()
    ]
    own = [row for row in rows if row["method"] == "spos" and row["seed"] < seed + settings.seeds]
    return Findings(
        numbers=numbers({"rows": rows}),
        claims=[solved_claim(own), *exploration_claims(rows)],
        table=Table(
            ("task", "method", "seed", "solved", "together", "each alone", "steps of a policy"),
            [
                (
                    row["task"],
                    LABELS[row["method"]],
                    str(row["seed"]),
                    f"{row['solved']:.0f}",
                    f"{row['together']:.1f}",
                    ", ".join(f"{one:.1f}" for one in row["alone"]),
                    f"at most {row['steps'] / 1e3:.0f} thousand",
                )
                for row in rows
            ],
            f"Mean returns of {settings.judged_episodes} new episodes without noise of actions.",
        ),
    )


def solved_claim(rows: list[dict[str, Any]]) -> Claim:
    tasks = dict.fromkeys(row["task"] for row in rows)
    worst = {t: min(row["together"] for row in rows if row["task"] == t) for t in tasks}
    return Claim(
        "SPOS-PG with PPO's gradient solves the small tasks of Gymnasium.",
        "All policies together, worst seed: "
        + "; ".join(f"{name}: {value:.1f}" for name, value in worst.items())
        + ".",
        verdict({name: value >= SOLVED[name] for name, value in worst.items()}, "on "),
        "Seen on a task when the mean return of every seed reaches the task's number.",
    )


def left_valley(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    """The share of each run's policies that solve the task with a sparse reward."""
    return {
        method: [
            float(np.mean(np.asarray(row["alone"]) >= SOLVED[SPARSE]))
            for row in rows
            if (row["task"], row["method"]) == (SPARSE, method)
        ]
        for method in METHODS
    }


def exploration_claims(rows: list[dict[str, Any]]) -> list[Claim]:
    shares = left_valley(rows)
    if min(map(len, shares.values())) < FEWEST or len(set(map(len, shares.values()))) > 1:
        return []
    ours = np.asarray(shares["spos"])
    gains = {
        LABELS[other]: interval(100 * (ours - np.asarray(shares[other])))
        for other in ("svpg", "independent")
    }
    return [
        Claim(
            "With a sparse reward, more policies of SPOS-PG than of others find it.",
            "Policies that leave the valley of MountainCar: "
            + "; ".join(f"{LABELS[m]} {np.mean(s):.0%}" for m, s in shares.items())
            + ". Mean difference, seed by seed, in per cent: "
            + "; ".join(f"to {name}: {gain}" for name, gain in gains.items())
            + ".",
            verdict({name: gain.low > 0 for name, gain in gains.items()}, "against "),
            "Seen when the 95 % interval of the mean difference lies above 0.",
        )
    ]


def draw(record: Record) -> list[Drawing]:
    rows = record.numbers["rows"]
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    figure, panels = drawing.titled(
        3.4,
        "Tasks of Gymnasium",
        "mean return over policies against iterations; dotted: solved",
        columns=len(tasks),
        squeeze=False,
    )
    for axes, task in zip(panels[0], tasks, strict=True):
        axes.axhline(SOLVED[task], color=TRUTH, lw=0.8, ls=":")
        for row in (row for row in rows if row["task"] == task):
            curve, tint = row["curve"], TINTS[row["method"]]
            axes.plot(range(1, len(curve) + 1), curve, color=tint, lw=1.2)
        axes.set_title(NAMES[task], fontsize=9)
        axes.set_xlabel("iteration", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.grid(color=drawing.GRID, lw=0.6)
        axes.set_axisbelow(True)
    shown = list(dict.fromkeys(row["method"] for row in rows))
    for number, method in enumerate(shown if len(shown) > 1 else []):
        panels[0, -1].text(
            0.95, 0.06 + 0.08 * number, LABELS[method], transform=panels[0, -1].transAxes,
            ha="right", color=TINTS[method], weight="bold", fontsize=8,
        )  # fmt: skip
    told = "; ".join(f"{r['task']}: {r['together']:.0f}" for r in rows if r["method"] == "spos")
    return [
        Drawing(
            "gymnasium.png",
            figure,
            f"Learning curves. Afterwards, all policies together earn {told}.",
            f"{record.settings['num_particles']} policies by SPOS-PG with PPO's gradient.",
        )
    ]
