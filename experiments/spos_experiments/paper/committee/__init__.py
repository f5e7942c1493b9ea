"""`spos paper committee`: what is a posterior of policies good for, once it is trained?

The policies of `spos paper learning` on the swing-up are put to work, without noise of their own,
in worlds that differ from the one they learned in: the pole is lighter or heavier, the cart has
friction, and actions come a step (50 ms) late. Nothing is learned anew. Four ways to act:

    best       the particle with the largest return at the end of its training
    particle   one at random: the mean over all of them
    mean       all propose an action, and the mean of them is taken
    vote       all propose, and the median is taken

**Robustness.** The mean return in every world, over episodes with the same starts for all; the
worst world is the one with the least of these.

**Doubt.** d = the standard deviation over particles of what they propose, clipped to what the cart
can do, averaged over the episodes that the committee of means plays in a world. It can be measured
at work, where the return is not known. Is it larger where the return is less? Kendall's rank
correlation τ over worlds says so, for each seed.

Everything is done for SPOS-PG, for SVPG and for policies that learned alone, which are an ordinary
ensemble: what SPOS-PG gains over those is what the posterior is good for.

    spos paper learning && spos paper committee
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from spos import rl
from spos.cli import UsageError
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.paper.committee.figures import draw
from spos_experiments.paper.committee.findings import findings
from spos_experiments.paper.committee.measure import Outcome, film, measure
from spos_experiments.paper.committee.settings import Settings
from spos_experiments.paper.learning import protocol
from spos_experiments.paper.learning.settings import Settings as Learning

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "What a posterior of policies is good for"
ABOUT = (
    "Policies trained together act together, in worlds that differ from the one they learned in: a "
    "committee beside its best member, and its doubt beside what it loses."
)
TASK = "swing_up_sines"


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    trained = list(_trained(settings, seed, folder.parent / "learning"))
    if not trained:
        raise UsageError(
            f"there are no policies in {folder.parent / 'learning'}: make them with "
            "`spos paper learning`"
        )
    store, mark = resume.store(folder), resume.mark(settings)
    places = {
        (method, run.settings["seed"]): (store / f"{method}-{run.settings['seed']}-{mark}.npz", run)
        for method, run in trained
    }
    outcomes: dict[tuple[str, int], Outcome] = {}
    for done, (case, (place, run)) in enumerate(places.items()):
        tick(done, len(places))
        outcomes[case] = resume.outcome(place, Outcome, partial(measure, settings, run))
    tick(len(places), len(places))
    shown = next((run for method, run in trained if method == "spos"), trained[0][1])
    yield findings(settings, outcomes, film(settings, shown))


def _trained(settings: Settings, seed: int, folder: Path) -> Iterator[tuple[str, rl.Trained]]:
    """Methods and their runs, those that `spos paper learning` has left."""
    made = Learning().quick() if settings.quick_runs else Learning()
    for part in protocol.parts(made):
        place = protocol.place(made, seed, part, folder / "runs")
        if (part.task, part.kind) != (TASK, protocol.JUDGED) or not place.exists():
            continue
        runs = resume.read(place, protocol.Runs, ["particles"])
        for number, method in enumerate(runs.methods):
            for n in range(len(runs.seeds)):
                yield method, protocol.policies(runs, number, n)
