"""Which runs there are, how they are done, and where they are kept.

A part of the experiment is a file: some tries of all methods on a task, or some judged seeds of
all. The tries have to be there before seeds are judged, and are made if they are not.

**One program a task.** The three methods are one sampler with different numbers. With β = ∞ SPOS-PG
is SVPG. If the bandwidth is small against the squared distance of two policies, about 50 from the
start on, no particle feels another either, and Adam forgets the factor 1/M that is left. So all
parts of a task, with all methods side by side, are one compiled program.
"""

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import spos
from spos import rl
from spos.targets import tanh_network
from spos_experiments.frame import resume
from spos_experiments.paper.learning.settings import FadingLesson, Settings

PILOT, JUDGED = "pilot", "judged"
LOST = -1e6  # the return of a try that left the finite numbers
# the library's own settings
USUAL = {
    "ppo": {"step_size": 3e-3, "alpha": 10.0, "bandwidth": 20.0, "beta": 1e8},
    "a2c": {"step_size": 5e-3, "alpha": 10.0, "bandwidth": 20.0, "beta": 1e5},
    "reinforce": {"step_size": 5e-3, "alpha": 10.0, "bandwidth": 20.0, "beta": 1e5},
}
INFINITE, ALONE = 1e30, 0.5
# what a method does not choose
FIXED: dict[str, dict[str, float]] = {
    "spos": {},
    "svpg": {"beta": INFINITE},
    "independent": {"alpha": 10.0, "bandwidth": ALONE, "beta": INFINITE},
}

Row = dict[str, float]


class Part(NamedTuple):
    """A file of the experiment."""

    task: str
    kind: str  # PILOT or JUDGED
    number: int


class Tries(NamedTuple):
    """What tries of each method earned: the mean over particles, in the end."""

    methods: list[str]
    rows: list[list[Row]]  # of each method
    returns: np.ndarray  # (methods, tries)
    seconds: float


class Runs(NamedTuple):
    """Judged seeds of all methods: what all iterations earned, and the policies."""

    methods: list[str]
    seeds: list[int]
    chosen: list[Row]  # of each method
    returns: np.ndarray  # (methods, seeds, iterations, particles)
    particles: Any  # a pytree whose leaves have axes of methods, seeds and particles in front
    settings: list[list[dict[str, Any]]]  # of each method's runs
    seconds: float


class Case(NamedTuple):
    """What is known of a method on a task."""

    rows: list[Row]  # the tries
    earned: list[float]
    seeds: list[int]
    returns: list[np.ndarray]  # (iterations, particles) of each seed

    @property
    def chosen(self) -> Row:
        """The settings of the best try."""
        return self.rows[int(np.argmax(self.earned))]


Cases = dict[tuple[str, str], Case]


def parts(settings: Settings) -> list[Part]:
    """Each task's tries and first seeds, then all further seeds: what there is of a record always
    compares like with like."""
    pilots = math.ceil(settings.tries / settings.block)
    blocks = math.ceil(settings.seeds / settings.block)
    first = [
        Part(task, kind, number)
        for task in settings.tasks
        for kind, count in ((PILOT, pilots), (JUDGED, 1))
        for number in range(count)
    ]
    return first + [Part(task, JUDGED, n) for n in range(1, blocks) for task in settings.tasks]


def tries(settings: Settings, method: str) -> list[Row]:
    """The first is the usual one; the others are a Latin hypercube, the same for all methods."""
    ranges = {
        "step_size": settings.step_sizes,
        "alpha": settings.alphas,
        "bandwidth": settings.bandwidths,
        "beta": settings.betas,
    }
    count, random = settings.tries - 1, np.random.default_rng(0)
    columns = {}
    for name, (low, high) in ranges.items():
        shares = (random.permutation(count) + random.uniform(size=count)) / max(count, 1)
        columns[name] = low * (high / low) ** shares
    rows = [USUAL[settings.gradient]]
    for n in range(count):
        rows.append({name: float(f"{column[n]:.3g}") for name, column in columns.items()})
    return [{**row, **FIXED[method]} for row in rows]


def make(settings: Settings, seed: int, part: Part, store: Path) -> None:
    """Leave the part in its file."""
    where = place(settings, seed, part, store)
    if part.kind == PILOT:
        resume.outcome(where, Tries, lambda: pilot(settings, part))
    elif not where.exists():
        cases: Cases = {}
        for earlier in parts(settings):
            if earlier[:2] == (part.task, PILOT):
                make(settings, seed, earlier, store)
                gather(settings, seed, earlier, store, cases)
        chosen = {method: cases[part.task, method].chosen for method in settings.methods}
        seeds = block(settings.seeds, settings.block, part.number)
        found = judge(settings, part, chosen, [seed + n for n in seeds])
        resume.write(where, found, ["particles"])


def gather(settings: Settings, seed: int, part: Part, store: Path, cases: Cases) -> None:
    """Read a part, and add it to what is known."""
    where = place(settings, seed, part, store)
    found: Any
    if part.kind == PILOT:
        found = resume.read(where, Tries)
    else:
        found = resume.read(where, Runs, ["particles"])
    for n, method in enumerate(found.methods):
        case = cases.setdefault((part.task, method), Case([], [], [], []))
        if part.kind == PILOT:
            case.rows.extend(found.rows[n])
            case.earned.extend(found.returns[n].tolist())
        else:
            case.seeds.extend(found.seeds)
            case.returns.extend(found.returns[n])


def place(settings: Settings, seed: int, part: Part, store: Path) -> Path:
    """The file of a part: its name tells all that it depends on."""
    of: list[Any] = [settings.gradient, settings.methods, settings.tries]
    of += [settings.lesson(part.task), settings.num_particles, settings.block]
    of += [settings.step_sizes, settings.alphas, settings.bandwidths, settings.betas]
    if part.kind == JUDGED:
        of += [seed, settings.seeds if part.number + 1 == _last(settings) else 0]
    return store / f"{part.task}-{part.kind}-{part.number}-{resume.mark(*of)}.npz"


def _last(settings: Settings) -> int:
    return math.ceil(settings.seeds / settings.block)


def block(total: int, size: int, number: int) -> range:
    """Those of `total` things that belong to a block."""
    return range(number * size, min((number + 1) * size, total))


def pilot(settings: Settings, part: Part) -> Tries:
    here = block(settings.tries, settings.block, part.number)
    rows = [[tries(settings, method)[n] for n in here] for method in settings.methods]
    learners = [learner(settings, part, row) for some in rows for row in some]
    found = rl.train_stack(learners, [settings.pilot_seed] * len(learners))
    earned = np.asarray([ended(run.returns).mean() for run in found])
    kept = np.where(np.isfinite(earned), earned, LOST).reshape(len(rows), -1)
    return Tries(list(settings.methods), rows, kept, found[0].seconds)


def judge(settings: Settings, part: Part, chosen: Mapping[str, Row], seeds: list[int]) -> Runs:
    pairs = [(row, seed) for row in chosen.values() for seed in seeds]
    learners = [learner(settings, part, row) for row, _ in pairs]
    found = rl.train_stack(learners, [seed for _, seed in pairs])
    for (row, seed), run in zip(pairs, found, strict=True):
        if not np.isfinite(run.returns).all():
            raise FloatingPointError(f"{part.task} with {row} went astray from seed {seed}")
    shape = len(chosen), len(seeds)

    def joined(arrays: list[Any]) -> np.ndarray:
        whole = np.stack([np.asarray(one, np.float32) for one in arrays])
        return whole.reshape(*shape, *whole.shape[1:])

    told = [dict(run.settings) for run in found]
    return Runs(
        list(chosen),
        seeds,
        list(chosen.values()),
        joined([run.returns for run in found]),
        {name: joined([_flat(run)[name] for run in found]) for name in _flat(found[0])},
        [told[n * len(seeds) : (n + 1) * len(seeds)] for n in range(len(chosen))],
        found[0].seconds,
    )


def _flat(run: rl.Trained) -> dict[str, Any]:
    """The arrays of a Gaussian policy by name."""
    return {**run.particles["network"], "log_std": run.particles["log_std"]}


def policies(runs: Runs, method: int, n: int) -> rl.Trained:
    """The policies of one method and seed, by their places."""
    arrays = {name: leaf[method, n] for name, leaf in runs.particles.items()}
    log_std = arrays.pop("log_std")
    cloud = {"network": arrays, "log_std": log_std}
    told = {**runs.settings[method][n], "method": runs.methods[method]}
    returns = runs.returns[method, n]
    return rl.Trained(cloud, returns, np.empty(0), told, {}, runs.seconds, False)


def learner(settings: Settings, part: Part, row: Row) -> rl.Learner:
    lesson = settings.lesson(part.task)
    usual = lesson.first == 1.0
    given: dict[str, Any] = dict(row)
    if isinstance(lesson, FadingLesson):
        about = rl.gradients.GRADIENTS[settings.gradient]
        steps = lesson.num_iterations * about.num_epochs * about.num_minibatches
        given["step_size"] = spos.schedules.cosine(row["step_size"], steps, lesson.last)
    return rl.learner(
        part.task,
        "spos",
        settings.gradient,
        num_iterations=lesson.num_iterations,
        num_particles=settings.num_particles,
        num_episodes=lesson.num_episodes,
        lam=lesson.lam,
        hidden=lesson.hidden,
        network=None if usual else calm_network(part.task, lesson.hidden, lesson.first),
        **given,
    )


@functools.cache  # learners of one structure share one program
def calm_network(task: str, hidden: tuple[int, ...], factor: float) -> rl.Network:
    """A policy's network whose last layer starts `factor` times as large as usual."""
    environment = rl.envs.ENVIRONMENTS[task]
    assert isinstance(environment.actions, rl.envs.Continuous)
    plain = tanh_network(environment.observation_size, environment.actions.size, hidden)
    last = f"w{len(hidden)}"

    def init(key: Any) -> dict[str, Any]:
        theta = plain.init(key)
        return {**theta, last: factor * theta[last]}

    return rl.Network(init, plain.apply)


def ended(returns: np.ndarray) -> np.ndarray:
    """What each particle earned in the last tenth of the iterations, the last axis but one."""
    last: np.ndarray = returns[..., -max(1, returns.shape[-2] // 10) :, :].mean(axis=-2)
    return last
