"""`spos paper control`: policies as particles on three control tasks, with two policy gradients.

q(θ) ∝ exp(J(θ)/α), J the expected return. SVPG moves M policies along the Stein direction of q, and
SPOS-PG adds each one's own score and noise (`spos.rl.methods` has the formulas). Six panels: three
tasks, each with REINFORCE and with an advantage actor-critic (`spos.rl.advantages`).

What is measured, for each run: the mean return over particles, its standard deviation over them
and the return of the best particle, all over the last tenth of the iterations; the mean over all
iterations (area under the curve); the highest return of any particle in any iteration; and early
coverage, the share of a grid of positions that the particles have visited so far
(`spos.rl.coverage`), averaged over the first twenty iterations. ± is the standard error over seeds.

A run that has ended is a file in `runs/` and one that has not is a checkpoint there: the same
command goes on where it stopped. Seeds are the outer loop, so that the record, which is written
anew whenever a run ends, always compares like with like; it says what is missing.

    spos paper control
    spos paper control --tasks cartpole --gradients a2c --seeds 2
    spos paper control --quick
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick, quiet
from spos_experiments.paper.control import protocol
from spos_experiments.paper.control.figures import draw
from spos_experiments.paper.control.findings import findings
from spos_experiments.paper.control.settings import Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "make", "parts", "results"]

TITLE = "Policies as particles: three control tasks"
ABOUT = (
    "Sixteen policies learn a task together, by SVPG and by SPOS-PG, which adds noise and each "
    "policy's own gradient. The paper reports larger and steadier returns for SPOS-PG."
)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings each time a run has ended."""
    todo, store = protocol.jobs(settings, seed), resume.store(folder)
    pace = protocol.Pace(todo, tick)
    found = protocol.ended(todo, settings, store, pace)
    waiting = [job for job in todo if job not in found]
    for job, run in protocol.trained(waiting, settings, store, pace):
        found[job] = run
        yield findings(settings, seed, todo, found)
    if not waiting:
        yield findings(settings, seed, todo, found)


def parts(settings: Settings, seed: int) -> list[tuple[Any, ...]]:
    """A run is a job."""
    return [tuple(job) for job in protocol.jobs(settings, seed)]


def make(settings: Settings, seed: int, part: tuple[Any, ...], folder: Path) -> None:
    job, store = protocol.Job(*part), resume.store(folder)
    pace = protocol.Pace([job], quiet)
    if not protocol.ended([job], settings, store, pace):
        protocol.train(job, settings, store, pace)
