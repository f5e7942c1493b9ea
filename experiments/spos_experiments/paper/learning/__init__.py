"""`spos paper learning`: do the policies of SPOS-PG, SVPG and no method at all solve their tasks?

q(θ) ∝ exp(J(θ)/α), as in `spos paper control`, with PPO's gradient or, with `--gradient`, those of
the paper (`spos.rl.gradients`). Here it is the *mean* policy that counts, and a comparison that can
tell:

**Pilot.** Each method gets the same number of tries on each task. A try is a step size, a
temperature α, a bandwidth of the kernel and a β, spread evenly over their ranges on a logarithmic
scale (a Latin hypercube: of n tries, each n-th of every range has one). The first try is the
library's own setting, but for the bandwidth, which is a number here. What a method does not know it
ignores: for SVPG β is infinite, and policies that learn alone have a step size only. The try with
the largest mean return over particles in the last tenth of its iterations is chosen.

**Judgement.** The chosen settings are run from other seeds. A seed gives all methods the same first
policies. Of each run: the mean return over particles, their standard deviation and the best, over
the last tenth of the iterations, and the mean over all iterations. Over seeds: mean, median and
interquartile mean (the mean of the middle half), each with a 95 % interval by bootstrap. Methods
are compared by the differences of runs with the same seed.

All tries of a method, and several seeds of a case, are one compiled program (`rl.train_stack`).
What has ended is a file in `runs/`; the same command goes on where it stopped.

    spos paper learning
    spos paper learning --tasks swing_up_sines --methods spos svpg --seeds 5
    spos paper learning --gradient a2c --out experiments/results/gradients/a2c
    spos paper learning --quick
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.paper.learning import protocol
from spos_experiments.paper.learning.figures import draw
from spos_experiments.paper.learning.findings import findings
from spos_experiments.paper.learning.settings import Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "make", "parts", "results"]

TITLE = "Policies that solve their tasks"
ABOUT = (
    "Policies that interact with noise (SPOS-PG), without (SVPG), and not at all. Settings come "
    "from as many tries for each, and other seeds judge the mean policy."
)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings each time a part has ended."""
    todo, store = protocol.parts(settings), resume.store(folder)
    cases: protocol.Cases = {}
    for done, part in enumerate(todo):
        tick(done, len(todo))
        protocol.make(settings, seed, part, store)
        protocol.gather(settings, seed, part, store, cases)
        yield findings(settings, todo[done + 1 :], cases)
    tick(len(todo), len(todo))


def parts(settings: Settings, seed: int) -> list[tuple[Any, ...]]:
    """A file is a job."""
    return [tuple(part) for part in protocol.parts(settings)]


def make(settings: Settings, seed: int, part: tuple[Any, ...], folder: Path) -> None:
    protocol.make(settings, seed, protocol.Part(*part), resume.store(folder))
