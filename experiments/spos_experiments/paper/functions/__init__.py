"""`spos paper functions`: should networks keep apart by what they say instead of by their weights?

Units of a layer can change places without a change of the function, so that a distance of weights
says little about two networks. Let f_i be the outputs of network i at some rows, drawn anew in each
step, and k_ij = κ(‖f_i - f_j‖²) with the median rule: a positive-definite function of the weights,
since κ is one of the outputs. Two directions follow from it, J_j being ∂f_j/∂θ_j:

    Stein      (1/M) Σ_j [k_ij s_j + J_jᵀ ∂k_ij/∂f_j]
    density    (1/M) [s_i - ∇ log Σ_j k(θ_i, θ_j)] = (1/M) [s_i - J_iᵀ Σ_j ∂k_ij/∂f_i / Σ_j k_ij]

The first leaves the target in balance as M → ∞, as every kernel does. But it moves network i along
the scores and Jacobians of others, whose units stand in another order, and takes M pullbacks a
network. The second takes one, along the network's own Jacobian; that is how repulsive ensembles go
(D'Angelo and Fortuin, 2021). It does not balance the target: nothing spreads networks that say the
same. Both stand beside Langevin drift and noise of weight 1/β here, as in SPOS, and so do

    weights    the kernel of `spos.spos`, between weights, with the median rule
    alone      no network feels another: (1/M) s_i, a posterior cooled to M/(M + β)

Every kind has the same tries, with the step that validation rows of shorter runs liked best and
several β. Validation rows choose among them for each split, by the log-likelihood; then the chosen
one is trained on all rows but those of the test. The tables are those of `spos paper regression`;
the digits those of scikit-learn, whose doubt is also asked about test images that were turned by a
right angle, or have black and white exchanged. The Stein direction is too dear for the digits.

    spos paper functions --data DIR
    spos paper functions --datasets yacht digits --splits 3
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.paper.functions.findings import draw, findings
from spos_experiments.paper.functions.measure import Outcome, measure
from spos_experiments.paper.functions.settings import DIGITS, Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Interaction by outputs"
ABOUT = (
    "Networks that keep apart by their outputs, beside networks that do so by their weights, and "
    "networks that do not feel each other."
)


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """All findings at once; what has been run of them is in the folder."""
    store = resume.store(folder)
    cases = [
        (name, kind)
        for name in settings.datasets
        for kind in settings.kinds
        if (name, kind) != (DIGITS, "Stein")  # a pullback for each pair of networks: too dear
    ]
    found: dict[tuple[str, str], Outcome] = {}
    for done, (name, kind) in enumerate(cases):
        tick(done, len(cases))
        mark = resume.mark(settings.shape(name), settings.trials, settings.rows, settings.splits)
        place = store / f"{name}-{kind}-{mark}-seed{seed}.npz"
        found[name, kind] = resume.outcome(
            place, Outcome, partial(measure, settings, name, kind, seed)
        )
    tick(len(cases), len(cases))
    yield findings(found)
