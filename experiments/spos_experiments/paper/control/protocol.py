"""Which runs there are, and how they are done: two at a time, each safe from interruption.

A run saves itself in a checkpoint folder; the file that it ends in takes the folder's place.
"""

import shutil
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from spos import rl
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Tick
from spos_experiments.paper.control.settings import Settings

WORKERS = 2  # runs at a time: one of them keeps a core busy and a little more
ABLATED = ("swing_up", "a2c")


class Job(NamedTuple):
    """One run."""

    task: str
    gradient: str
    method: str
    seed: int
    num_iterations: int
    alpha: float
    beta: float

    def name(self, settings: Settings) -> str:
        words = [*self[:3], f"seed{self.seed}"]
        if (self.alpha, self.beta) != (settings.alpha, settings.beta):
            words += [f"alpha{self.alpha:g}", f"beta{self.beta:g}"]
        if self.num_iterations != dict(settings.num_iterations)[self.task]:
            words.append(f"{self.num_iterations}iterations")
        return "-".join(words)


def jobs(settings: Settings, seed: int) -> list[Job]:
    """All runs, in the order in which they are worth having."""
    lengths = dict(settings.num_iterations)
    usual = settings.alpha, settings.beta
    main = [
        Job(task, gradient, method, n, lengths[task], *usual)
        for n in range(seed, seed + settings.seeds)
        for task in settings.tasks
        for gradient in settings.gradients
        for method in settings.methods
    ]
    first = len(main) // settings.seeds
    return main[:first] + ablation(settings, seed) + main[first:]


def ablation(settings: Settings, seed: int) -> list[Job]:
    if not settings.ablation_iterations or ABLATED[0] not in settings.tasks:
        return []
    grid = [("svpg", alpha, settings.beta) for alpha in settings.ablation_alphas]
    grid += [("spos", alpha, settings.beta) for alpha in settings.ablation_alphas]
    grid += [
        ("spos", settings.alpha, beta) for beta in settings.ablation_betas if beta != settings.beta
    ]
    length = settings.ablation_iterations
    return [
        Job(*ABLATED, method, seed, length, alpha, beta)
        for method, alpha, beta in grid
        if method in settings.methods
    ]


class Pace:
    """How far all runs are together."""

    def __init__(self, todo: list[Job], tick: Tick) -> None:
        self.stop = threading.Event()
        self._tick, self._lock = tick, threading.Lock()
        self._at = dict.fromkeys(todo, 0)
        self._total = sum(job.num_iterations for job in todo)

    def done(self, job: Job, iterations: int) -> None:
        with self._lock:
            self._at[job] = iterations
            self._tick(sum(self._at.values()), self._total)


def ended(
    todo: Sequence[Job], settings: Settings, store: Path, pace: Pace
) -> dict[Job, rl.Trained]:
    """The runs that are there already."""
    found = {}
    for job in todo:
        if (place := _place(store, job, settings)).exists():
            found[job] = rl.load(place)
            pace.done(job, job.num_iterations)
    return found


def trained(
    waiting: Sequence[Job], settings: Settings, store: Path, pace: Pace
) -> Iterator[tuple[Job, rl.Trained]]:
    """Jobs and their runs, in the order in which these end."""
    pool = ThreadPoolExecutor(WORKERS)
    try:
        runs = {pool.submit(train, job, settings, store, pace): job for job in waiting}
        for run in as_completed(runs):
            yield runs[run], run.result()
    finally:
        pace.stop.set()  # what runs saves itself and ends
        pool.shutdown(wait=True, cancel_futures=True)


def train(job: Job, settings: Settings, store: Path, pace: Pace) -> rl.Trained:
    """One run, which ends in its file unless it is stopped."""
    place = _place(store, job, settings)
    state = resume.state(place)

    def watch(state: Any, info: Any) -> bool:
        pace.done(job, int(state.step))
        return pace.stop.is_set()

    run = learner(settings, job).train(job.seed, checkpoint=state, callback=watch, progress=False)
    if not run.interrupted:
        run.save(place)
        shutil.rmtree(state)
    return run


def _place(store: Path, job: Job, settings: Settings) -> Path:
    return store / f"{job.name(settings)}.npz"


def learner(settings: Settings, job: Job) -> rl.Learner:
    """Learners that differ in seed, α or β alone share one compiled program."""
    return rl.learner(
        job.task,
        job.method,
        job.gradient,
        num_iterations=job.num_iterations,
        num_particles=settings.num_particles,
        num_episodes=settings.num_episodes,
        step_size=settings.step_size,
        alpha=job.alpha,
        beta=job.beta,
        gamma=settings.gamma,
        hidden=settings.hidden,
    )
