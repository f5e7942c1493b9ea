"""From wherever the particles start to where the density is.

Starts whose density is not finite are drawn again if there is a way to, else put onto finite ones.
Where the typical particle is farther out than a chunk of moves could bring it, all climb first: a
particle tries a range of lengths along C ∇ log p, Newton's step with the curvature that the cloud
sees, and takes the best, until it is near or gains nothing. Then come short chunks of single steps,
each particle with a step of its own, so that one that sits on a cliff does not stop the others.
After each chunk the metric is learnt from the better half of what was seen, and birth-death
(`spos.algorithms.birth_death`) moves particles over distances that
no path would bridge. The density of the particles is here log ν = -d log r up to a constant, r the
distance to the √M-th neighbour: a width of its own for every particle, so that a wide mode is not
taken for a poor one because its density is low. Of the rates only what exceeds the usual counts,
four times the √(d/2) nats of a Gaussian or, if more, of what a particle sees on its own path: the
rest is the business of the moves. All this only prepares: the rounds that are kept have none of it.
"""

from collections.abc import Callable

import numpy as np

from spos.algorithms.birth_death import successors
from spos.auto.metric import FLATTEST
from spos.cloud import squared_distances

TRIES = 20  # to draw a start with a finite density
WIDEST = 100.0  # nats: beyond, one is as lost as the other
FAR, NEAR = 25.0, 2.0  # typical lengths of a whitened score
APPROACHES, LATE = 40, 10  # chunks, and the last of them
GROWTH = np.log(10.0)  # of the particles' widths in the last chunks: without end
STEADY = np.log(2.0)  # in three chunks: no growth
WIDE_CLOUD, WIDEST_CLOUD = 1e5, 1e15  # in units of the starts
ENDLESS = (
    "log_prob must be that of a law that can be normalised: the particles spread without end. Give "
    "every parameter a proper prior, or bounds"
)
SPREAD = 2.56 * 2.0  # between the outer tenths, twice that of a Gaussian
CLIMBS, GAIN = 40, 1.0  # at most so many, and while they gain so many nats
LENGTHS = 4.0 ** np.arange(3, -11, -1)  # of a climb, in Newton's steps


class NowhereFiniteError(ValueError):
    """No start has a finite log-density with a finite gradient."""


class ImproperError(ValueError):
    """The density cannot be normalised: particles go on spreading."""


def widths(y: np.ndarray) -> np.ndarray:
    """How far half of the particles reach in every direction."""
    found: np.ndarray = np.median(np.abs(y - np.median(y, 0)), 0) + 1e-300
    return found


def must_end(seen: list[np.ndarray]) -> None:
    """Particles whose widths still grow as fast as ever, or have left all bounds, will not stop."""
    growth = np.log(seen[-1] / seen[-LATE]).max() if len(seen) >= APPROACHES else 0.0
    if growth > GROWTH or seen[-1].max() > WIDEST_CLOUD:
        raise ImproperError(ENDLESS)


def must_slope(width: np.ndarray, theta: np.ndarray, scores: np.ndarray) -> None:
    """A cloud that came to rest only because numbers have so many digits, in some parameter far
    wider than its starts and without a slope, will not stop either."""
    flat = theta.var(0) * (scores**2).mean(0) < FLATTEST
    if (flat & (width > WIDE_CLOUD)).any():
        raise ImproperError(ENDLESS)


def finite_starts(
    theta: np.ndarray,
    log_prob: Callable[[np.ndarray], np.ndarray],
    redraw: Callable[[int], np.ndarray] | None,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Starts of finite density, and which of them are no copies."""
    theta = theta.copy()
    bad = ~np.isfinite(log_prob(theta))
    tries = 0
    while bad.any() and redraw is not None and tries < TRIES:
        tries += 1
        theta[bad] = redraw(tries)[bad]
        bad = ~np.isfinite(log_prob(theta))
    if bad.all():
        times = f", each drawn {tries + 1} times" if tries else ""
        raise NowhereFiniteError(
            f"the log-density or its gradient is not finite at any of the {len(theta)} starts"
            f"{times}: check the density there, or start where it is finite"
        )
    theta[bad] = theta[rng.choice(np.flatnonzero(~bad), bad.sum())]
    return theta, ~bad


def is_far(whitened_scores: np.ndarray, allowed: float = FAR) -> bool:
    """Is the typical particle too far out for the moves? At home a score has the length √d."""
    lengths = np.linalg.norm(whitened_scores, axis=1)
    return bool(np.median(lengths) > allowed * np.sqrt(whitened_scores.shape[1]))


def climb(
    y: np.ndarray,
    log_prob: np.ndarray,
    newton: np.ndarray,
    evaluate: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Every particle at the best place along its direction; where none is better, it stays."""
    best, value = y, log_prob
    for length in LENGTHS:
        there = y + length * newton
        found = evaluate(there)
        better = found > value
        best = np.where(better[:, None], there, best)
        value = np.where(better, found, value)
    return best


def parted(theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Coordinates in which all starts agree get a spread, as a metric needs one."""
    same = np.ptp(theta, axis=0) == 0
    return np.where(same, theta + rng.standard_normal(theta.shape), theta)


def birth_death(
    z: np.ndarray, path: np.ndarray, rng: np.random.Generator, unsure: float = 1.0
) -> np.ndarray:
    """For each place, the particle that stands there after one unit of time. `path` has the
    log-density of the last records, the present one at its end; it is so many times as `unsure` as
    that of a single draw."""
    count, size = z.shape
    near = np.sort(squared_distances(z, z), 1)[:, round(np.sqrt(count))]
    crowd = -0.5 * size * np.log(np.maximum(near, 1e-6 * np.median(near) + 1e-300))
    excess = crowd - path[-1]
    excess = np.clip(excess - np.median(excess), -WIDEST, WIDEST)
    excess -= excess.mean()
    allowed = 4.0 * max(unsure * np.sqrt(size / 2.0), np.median(path.std(0)))
    rate = np.sign(excess) * np.maximum(np.abs(excess) - allowed, 0.0)
    return successors(rate, rng.random((3, count)), np)


def grows(seen: list[np.ndarray]) -> bool:
    """Do the widths that were `seen` still grow?"""
    return bool(np.log(seen[-1] / seen[-4]).max() > STEADY)


def settled(log_prob: np.ndarray, size: int, seen: list[np.ndarray]) -> bool:
    """Has the median particle stopped climbing, are all at one height, and do they keep the widths
    that were `seen`? `log_prob` has records and particles; at home they differ by √(d/2) nats, and
    by no more than on their own paths."""
    if grows(seen):
        return False
    half = len(log_prob) // 2
    rise = log_prob[half:].mean(0) - log_prob[:half].mean(0)
    middle = np.median(rise)
    error = 1.25 * 1.4826 * np.median(np.abs(rise - middle)) / np.sqrt(len(rise))
    low, high = np.quantile(log_prob.mean(0), (0.1, 0.9))
    usual = max(np.sqrt(size / 2.0), np.median(log_prob.std(0)))
    return bool(abs(middle) < 3.0 * error + 1e-9 and high - low < SPREAD * usual)
