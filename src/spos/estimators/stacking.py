"""A mixture of posteriors of classes, weighed by rows that were not learnt from.

No prior suits all tables: a narrow one is best where classes overlap or a straight line parts them,
a wide one, sampled colder, where they are sharp. So each of a few candidates k is sampled, and has
a share w_k in the prediction. Outputs f_s of its networks are multiplied with a number τ, which
tells how sharp all chances are:

    p(y | x)  =  Σ_k w_k p_k(y | x; τ),    p_k(y | x; τ)  =  mean over s of softmax(τ f_s(x))_y.

The shares are above 0 and have the sum 1. With τ, they maximise

    Σ_n log Σ_k w_k p_k(y_n | x_n; τ)  +  Σ_k log w_k  -  2 (log τ)²,

where p_k comes from a short run that did not see row n: the rows are cut into three parts, and each
part is predicted by a run on the other two. What is not of the rows keeps a few of them from
deciding all; where there are none, shares are equal and τ is 1. EM finds the best shares for a τ,

    w_k  ∝  1 + Σ_n w_k p_k(n) / Σ_j w_j p_j(n).

A pool of S networks then holds about w_k S of candidate k, whose last layer is multiplied with τ:
predicting, saving and all else know nothing of either.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from spos.estimators.choice import after_short_run
from spos.networks.looks import pooled
from spos.networks.rows import FEWEST_TO_SPLIT, Rows, padded
from spos.types import Particles

PARTS = 3
ENOUGH = 1000  # rows that are held out tell the shares; further parts are left out then
SMALLEST = 0.05  # share that is worth a run
ROUNDS = 200  # of EM
SHARPNESS = 2.0 ** (np.arange(-4, 9) / 4)  # what τ may be
FAINTEST = -30.0  # log-probability that still counts
STRICTNESS = 2.0  # log τ is normal a priori, with a standard deviation of a half


class Candidate(NamedTuple):
    """A posterior.

    Attributes:
        width: weights into a unit from which on their prior narrows.
        colder: what β is multiplied with; noise counts for less then.
    """

    width: float
    colder: float = 1.0


CANDIDATES = (Candidate(1.0), Candidate(5.0), Candidate(50.0, colder=10.0))


class Mixture(NamedTuple):
    """Of candidates.

    Attributes:
        shares: of each in the predictions, with the sum 1; 0 for those that are not worth a run.
        sharpness: τ.
    """

    shares: np.ndarray
    sharpness: float


def settled(
    model: Any, candidates: Sequence[Candidate], rows: Rows, num_steps: int, rng: Any
) -> Mixture:
    """The best mixture, by short runs of a classifier.

    Args:
        model: the classifier; what it samples at present is forgotten.
        candidates: what it may sample.
        rows: all of them.
        num_steps: of the runs that will follow.
        rng: cuts the rows into parts.

    Returns:
        The mixture.
    """
    terms = [np.empty((len(candidates), len(SHARPNESS), 0))]
    weights = [np.empty(0)]
    for training, held_out in _parts(rows, rng):
        seed, found = int(rng.randint(2**31 - 1)), []

        def judge(rows: Rows = held_out) -> np.ndarray:
            logs: np.ndarray = model._log_densities(model._prepared(rows.x), rows.y, SHARPNESS)
            return logs

        for model._candidate in candidates:
            found.append(after_short_run(model, training, num_steps, seed, judge))
        terms.append(np.stack(found))
        weights.append(np.ones(len(held_out.y)) if held_out.weights is None else held_out.weights)
    return best_mixture(np.concatenate(terms, axis=2), np.concatenate(weights))


def _parts(rows: Rows, rng: Any) -> Iterator[tuple[Rows, Rows]]:
    """Rows to learn from and rows that are held out, until enough have been.

    The first are filled up as all rows are, so that short runs and long ones share a program.
    """
    count, held_out = len(rows.y), 0
    order, place = rng.permutation(count), np.arange(count) % PARTS
    for part in range(PARTS if count >= FEWEST_TO_SPLIT else 0):
        if held_out < ENOUGH:
            inside, outside = order[place != part], order[place == part]
            yield padded(rows.take(inside), count), rows.take(outside)
            held_out += len(outside)


def best_mixture(log_terms: np.ndarray, weights: np.ndarray) -> Mixture:
    """The mixture under which held-out rows are likeliest.

    Args:
        log_terms: the log-density of each row by each candidate with each sharpness, (K, T, n).
        weights: how often each row counts.

    Returns:
        The mixture.
    """
    likely = np.exp(np.maximum(log_terms, FAINTEST))
    tried = [_shares(likely[:, t], weights) for t in range(len(SHARPNESS))]
    scores = [
        np.log(shares @ likely[:, t]) @ weights
        + np.log(shares).sum()
        - STRICTNESS * np.log(tau) ** 2
        for t, (shares, tau) in enumerate(zip(tried, SHARPNESS, strict=True))
    ]
    best = int(np.argmax(scores))
    shares = np.where(tried[best] < SMALLEST, 0.0, tried[best])
    return Mixture(shares / shares.sum(), float(SHARPNESS[best]))


def _shares(likely: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """By EM, from densities (K, n)."""
    found = np.full(len(likely), 1.0 / len(likely))
    for _ in range(ROUNDS):
        found = 1.0 + found * ((likely / (found @ likely)) @ weights)
        found /= found.sum()
    return found


def must_be_shares(shares: np.ndarray) -> None:
    """Are these what a mixture of `CANDIDATES` may have?"""
    if shares.shape != (len(CANDIDATES),) or not (shares >= 0.0).all() or not shares.any():
        raise ValueError(f"there must be shares of {len(CANDIDATES)} posteriors, got {shares}")


def mixed(clouds: list[Particles], shares: list[float]) -> Particles:
    """One pool, as large as the first cloud.

    Args:
        clouds: the networks of the candidates, newest last; that of the largest share first.
        shares: of the candidates; those of missing clouds are left out.

    Returns:
        As many of the newest networks of each cloud as its share says, the first cloud's last.
    """
    total = len(jax.tree.leaves(clouds[0])[0])
    summed = np.cumsum(shares[: len(clouds)])
    counts = np.diff(np.round(total * summed / summed[-1]).astype(int), prepend=0)
    newest = [
        jax.tree.map(lambda leaf, n=count: leaf[max(0, len(leaf) - n) :], cloud)
        for cloud, count in zip(clouds, counts, strict=True)
    ]
    return pooled(newest[::-1])


def sharpened(particles: Particles, sharpness: float) -> Particles:
    """Networks whose outputs are multiplied with a number."""
    weights = dict(particles["weights"])
    last = len(weights) // 2 - 1
    for name in weights.keys() & {f"w{last}", f"b{last}", "linear"}:
        weights[name] = np.float32(sharpness) * weights[name]
    return {**particles, "weights": weights}
