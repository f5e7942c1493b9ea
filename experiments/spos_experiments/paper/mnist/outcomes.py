"""How good trained networks are, and how much they doubt."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from spos.diagnostics import calibration
from spos.types import Particles
from spos_experiments.paper.mnist.protocol import Plan, Sets, chances


class Outcome(NamedTuple):
    """Of the average of all networks of the last epochs, of those of the very last (`last_`), and
    on average of one of them alone (`single_`). Entropies, in nats, are by kind of image."""

    error: float
    nll: float
    ece: float
    last_error: float
    last_nll: float
    single_error: float
    single_nll: float
    single_ece: float
    entropy: dict[str, float]
    single_entropy: dict[str, float]
    seconds: float
    reliability: np.ndarray  # confidence, accuracy and count of the bins
    validation: np.ndarray  # error after each epoch
    wrong: np.ndarray | None = None  # which test images; older runs have not kept them

    @property
    def num_wrong(self) -> int:
        return round(self.error * float(self.reliability[2].sum()))


def judge(plan: Plan, networks: Particles, sets: Sets, seconds: float) -> Outcome:
    """On the test images, once: the networks after each of the last epochs, newest last."""
    kinds = {"test": sets.test.x, **sets.odd}
    said = {kind: chances(plan, networks, x) for kind, x in kinds.items()}
    labels, each = sets.test.y, said["test"]
    whole = calibration.ece(each.mean(axis=0), labels)
    last = each[-plan.particles :].mean(axis=0)
    alone = [calibration.ece(one, labels) for one in each]
    return Outcome(
        error=error(each.mean(axis=0), labels),
        nll=whole.nll,
        ece=whole.ece,
        last_error=error(last, labels),
        last_nll=calibration.ece(last, labels).nll,
        single_error=float(np.mean([error(one, labels) for one in each])),
        single_nll=float(np.mean([one.nll for one in alone])),
        single_ece=float(np.mean([one.ece for one in alone])),
        entropy={kind: entropy(values.mean(axis=0)) for kind, values in said.items()},
        single_entropy={kind: entropy(values) for kind, values in said.items()},
        seconds=seconds,
        reliability=np.stack([whole.confidence, whole.accuracy, whole.counts]),
        validation=np.empty(0),
        wrong=np.flatnonzero(each.mean(axis=0).argmax(axis=-1) != labels),
    )


def error(chances: np.ndarray, labels: np.ndarray) -> float:
    return float((chances.argmax(axis=-1) != labels).mean())


def entropy(chances: np.ndarray) -> float:
    """-Σ p log p, the mean over images (and networks)."""
    return float(entr(chances).sum(axis=-1).mean())


def mean(ones: Sequence[Outcome]) -> Outcome:
    """Of the runs that differ in their seeds alone. Which images were wrong has no mean."""

    def of(*values: Any) -> Any:
        if isinstance(values[0], dict):
            return {kind: of(*(value[kind] for value in values)) for kind in values[0]}
        if values[0] is None:
            return None
        found = np.mean(values, axis=0)
        return found if found.ndim else float(found)

    return Outcome(*map(of, *(one._replace(wrong=None) for one in ones)))
