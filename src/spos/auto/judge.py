"""May these draws be trusted? A frozen round, n records of M particles, is seen from all sides.

The particles are nearly independent copies of the chain. So whatever is averaged over a particle's
path has M replicates, and its error follows from their spread, with no model of autocorrelation.

    mixing      particles agree: the share of the variance that lies between their means, of ranks.
                Twice as well where moves are rejected at an end of some parameter: what lies beyond
                is narrow, and found late
    precision   the error of every mean, in standard deviations, and of every log standard deviation
    trend       the second half of the round agrees with the first
    Stein       E[(z - mean) ∂ log p/∂z] = -1 in every whitened direction; a region that is not
                entered, or left too rarely, breaks it
    stuck       no particle rejects nearly everything
    tails       no standard deviation is that of a few draws
    spikes      no few particles have met densities far above those of all the others
    places      no draw is anywhere near where some particles stood in an earlier round, though the
                density there is as high: another mode, to which no way leads back
    R-hat, ESS  ArviZ's, with the particles dealt to four chains, where errors are largest
    own         precision once more, of a model's own parameters, with twice the error

`roughness` compares how much |∇ log p|² varies with what a Gaussian shows. It is large where the
scale of the density changes from place to place, as in a funnel, and tells which advice to give.
"""

import functools
import math
import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from spos.auto.budget import ERROR
from spos.auto.metric import FLATTEST
from spos.auto.result import by_groups
from spos.auto.tails import FEW, USUAL, of_few
from spos.auto.verdict import Check

MIXING, TREND, STEIN, STUCK, RHAT, ESS = 0.05, 4.5, 0.05, 0.1, 1.01, 400.0
RANKED = 400  # records, which are enough where only their order counts
ENOUGH, LOOKED = 10_000, 20  # draws and parameters, to see the last two of these limits
OWN = 2.0  # times the error that is allowed in whitened coordinates
END = 0.02  # of the draws are at the lower end of a parameter, and as many at the upper
WALL = 2 / 3  # of the usual acceptance, which falls only where a region is narrow
UNEVEN = 1.3  # roughness, from which on the step has to fit the place
ABOVE, FEW_PARTICLES = 3.0, 0.05  # times the usual height of log p over its median, and of whom
HEAVY = 0.2  # of a variance, held by few draws
ROUGH = 2.5
BEYOND, SOME = 2.0, 0.1  # times the reach of the draws; so many particles are not lost by chance
LOW = 0.01  # quantile of a density that draws see
TAILS, PLACES = "tails", "places"

FUNNEL = (
    "The scale of the density changes from place to place, as in a funnel: no single step size "
    "fits. Reparameterise, for example with a non-centred hierarchy, or give the scale a prior "
    "that keeps it away from zero."
)
MODES = (
    "Particles stay apart: the density has separate modes or very long ridges, and how much each "
    "weighs is not known. Break symmetries (for example by ordering), or make the prior tighter."
)
LONGER = "The run ended too early for this target: go on with spos.fit(…, warm_start=fit)."
REGION = "Part of the target is entered too rarely. " + FUNNEL


class Round(NamedTuple):
    """The records of a frozen round: (n, M, d) or (n, M). The z are whitened, and g is the gradient
    in z; y is what is judged, in the units of the starts or in the parameters' own."""

    y: np.ndarray
    log_prob: np.ndarray
    z: np.ndarray
    g: np.ndarray
    acceptance: np.ndarray

    def at_most(self, most: int) -> "Round":
        """At most so many of the records, evenly, and the last one among them."""
        every = -(-len(self.log_prob) // most)
        return Round(*(part[::-1][::every][::-1] for part in self))


def measure(
    seen: Round, names: list[str], allowed: float = ERROR, late: np.ndarray | None = None
) -> tuple[list[Check], float]:
    """The cheap checks, and how many independent points the round is worth.

    `late` is how much of every variance few draws hold in the coordinates in which the particles
    move, if those are not their own.
    """
    some = seen.at_most(RANKED)
    n, count = some.log_prob.shape
    both = np.concatenate([some.y, some.log_prob[..., None]], -1)
    folded = np.abs(both - medians(both))
    ranks = np.concatenate([normal_scores(both), normal_scores(folded)], -1)
    share = between(ranks.mean(0), _normal_quantiles(n * count).var())
    wall = walled(ranks[..., : both.shape[-1]], some.acceptance)
    alike = MIXING / 2.0 if wall else MIXING
    change = ranks[n // 2 :].mean(0) - ranks[: n // 2].mean(0)
    trend = float(np.max(_t(change)))

    mean_error, sd_error = errors(seen.y)
    few = of_few(seen.y)
    heavy = few > HEAVY
    # draws far out may come late and together: without them sd and error are both too small
    slow = few if late is None else late
    sd_light = sd_error * np.sqrt(np.maximum(few / USUAL, 1.0) * np.maximum(slow / USUAL, 1.0))
    sd_light = np.where(heavy, 0.0, sd_light)  # no length of a run brings the others down
    error = float(max(mean_error.max(), sd_light.max()))
    tail = np.where(heavy, sd_error, 0.0)
    worst = int(tail.argmax())

    stein = ((seen.z - seen.z.mean((0, 1))) * seen.g).mean(0) + 1.0
    # behind walls a flat density has no slope, and the identity is another one
    off = np.where(is_flat(seen.z, seen.g), 0.0, np.abs(stein.mean(0)))
    surely = (off > STEIN) & (_t(stein) > 5.0)
    stuck = float((seen.acceptance.mean(0) < STUCK).mean())

    peak, met = spike(seen.log_prob)
    rough = roughness(seen.g)
    names = [*names, "the log-density"] * 2
    at = int(share.argmax())
    funnel = rough > ROUGH
    advice = f"{FUNNEL} Or else: {MODES}" if funnel else MODES
    found = [
        Check(
            *("mixing", float(share.max()), alike, bool(share.max() <= alike)),
            f"{share.max():.1%} of the variance of {names[at]} lies between particles "
            f"(at most {alike:.1%})",
            advice if share.max() > 2 * MIXING else LONGER,
        ),
        Check(
            *("precision", error, allowed, error <= allowed),
            f"Monte-Carlo error {mean_error.max():.3f} standard deviations of a mean, "
            f"{sd_light.max():.3f} of a log standard deviation (at most {allowed:g})",
            FUNNEL if funnel else LONGER,
        ),
        Check(
            *("trend", trend, TREND, trend <= TREND),
            f"the halves of the run differ by {trend:.1f} standard errors (at most {TREND})",
            LONGER,
        ),
        Check(
            *("Stein identity", float(off.max()), STEIN, not surely.any()),
            f"off by {off.max():.3f} (at most {STEIN}, or within 5 standard errors)",
            REGION,
        ),
        Check(
            *("stuck particles", stuck, 0.0, stuck == 0.0),
            f"{stuck:.0%} of the particles reject more than {1 - STUCK:.0%} of their moves",
            FUNNEL,
        ),
        Check(
            *(TAILS, float(tail[worst]), OWN * allowed, bool(tail[worst] <= OWN * allowed)),
            f"{heavy.sum()} standard deviations are those of a few draws, error "
            f"{tail[worst]:.3f} for {names[worst]} (at most {OWN * allowed:g})",
            f"The tails of {names[worst]} are heavy: {FEW:.1%} of the draws hold more than "
            f"{HEAVY:.0%} of its variance, which more draws do not mend. Use its quantiles or its "
            "logarithm, or give it a tighter prior.",
        ),
        Check(
            *("spikes", peak, ABOVE, not 0 < met <= FEW_PARTICLES),
            f"the highest log-density is {peak:.1f} times as far above the median as its 99 % "
            f"quantile (beyond {ABOVE:g} for {met:.0%} of the particles)",
            "A few particles have met a narrow place whose density is far higher than all else. "
            "It may hold much of the mass: start some particles there, or rule it out by a prior.",
        ),
    ]
    return found, count / max(float(share.max()), 1e-9)


def between(means: np.ndarray, variance: Any) -> np.ndarray:
    """The share of a variance that lies between particles, whose means are given."""
    found: np.ndarray = means.var(0, ddof=1) / np.maximum(variance, 1e-30)
    return found


def walled(scores: np.ndarray, acceptance: np.ndarray) -> bool:
    """Are moves rejected at an end of some parameter, by its normal scores?"""
    edge = statistics.NormalDist().inv_cdf(END)
    there = np.concatenate([scores < edge, scores > -edge], -1).reshape(acceptance.size, -1)
    accepted = acceptance.ravel() @ there.astype(acceptance.dtype)
    return bool((accepted < WALL * acceptance.mean() * there.sum(0)).any())


def medians(x: np.ndarray) -> np.ndarray:
    """Over all records and particles."""
    columns = x.reshape(-1, x.shape[-1]).T.copy()
    columns.sort(axis=1)  # which is faster than to part them
    middle = columns.shape[1] // 2
    found: np.ndarray = 0.5 * (columns[:, middle] + columns[:, -1 - middle])
    return found


def errors(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The Monte-Carlo errors of means, in standard deviations, and of log standard deviations, of
    records, particles and numbers."""
    away = values - values.mean((0, 1))
    squares = np.square(away).mean(0)
    variance, root = np.maximum(squares.mean(0), 1e-300), math.sqrt(values.shape[1])
    mean_error = away.mean(0).std(0, ddof=1) / (root * np.sqrt(variance))
    return mean_error, squares.std(0, ddof=1) / (2.0 * root * variance)


def spike(log_prob: np.ndarray) -> tuple[float, float]:
    """How high the highest log-density is, and the share of particles that have been so high."""
    middle, high = np.quantile(log_prob, (0.5, 0.99))
    heights = (log_prob.max(0) - middle) / max(high - middle, 1e-6 * abs(middle) + 1e-9)
    return float(heights.max()), float((heights > ABOVE).mean())


def is_flat(points: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Which directions have no slope, of records, particles and directions?"""
    found: np.ndarray = points.var((0, 1)) * (scores**2).mean((0, 1)) < FLATTEST
    return found


def passed(found: list[Check]) -> bool:
    """All checks, but for those that a longer run would not mend."""
    return all(check.passed or check.name in (TAILS, PLACES) for check in found)


def places(seen: Round, left: list[np.ndarray]) -> Check:
    """Do the draws know the places where particles were at home at the ends of earlier rounds, rows
    of a point and its log-density?"""
    middle = medians(seen.y)
    reach = np.maximum(np.abs(seen.y - middle).max((0, 1)), 1e-300)
    least = np.quantile(seen.log_prob, LOW)
    lost = [
        (np.abs(rows[:, :-1] - middle) > BEYOND * reach).any(1) & (rows[:, -1] > least)
        for rows in left
    ]
    share = float(max((each.mean() for each in lost), default=0.0))
    return Check(
        *(PLACES, share, SOME, share < SOME),
        f"{share:.0%} of the particles stood, in an earlier round, where no draw is any more and "
        f"the density is as high (less than {SOME:.0%})",
        "There is another mode, whose weight is not known. " + MODES,
    )


def rough(g: np.ndarray) -> bool:
    """Does the scale of the density change from place to place, by its whitened scores?"""
    return roughness(g) > UNEVEN


def slowed(acceptance: np.ndarray) -> bool:
    """Does it stop some particle, by the acceptance of moves?"""
    usual = acceptance.mean(0)
    return bool(usual.min() < 0.5 * usual.mean())


def own_check(values: Mapping[str, np.ndarray], allowed: float = ERROR) -> Check:
    """Are means and standard deviations known in the model's own words too? A log-scale with light
    tails is a scale with heavy ones, which may have no mean at all."""
    worst = {name: _worst(np.asarray(each)) for name, each in values.items()}
    name = max(worst, key=lambda name: worst[name])
    limit = OWN * allowed
    return Check(
        *("own precision", worst[name], limit, worst[name] <= limit),
        f"Monte-Carlo error {worst[name]:.3f} for {name} as the model has it (at most {limit:g})",
        f"The tails of {name} are heavy: its mean or standard deviation is dominated by a few "
        "draws, or does not exist. Use its quantiles or its logarithm, or give it a tighter prior.",
    )


def _worst(values: np.ndarray) -> float:
    """The largest error of an array of any size, some numbers at a time."""
    flat = values.reshape(*values.shape[:2], -1)
    parts = np.array_split(flat, -(-flat.shape[-1] // 100) or 1, axis=-1)
    with np.errstate(invalid="ignore", over="ignore"):
        found = [np.max(errors(part.astype(float)), initial=0.0) for part in parts]
    return float(np.nan_to_num(max(found), nan=np.inf))


def arviz_checks(seen: Round, names: list[str]) -> list[Check]:
    """R-hat and the effective sample sizes of ranks and tails, by ArviZ. It takes one parameter at
    a time, and longer than all of this: of many it sees those with the largest errors."""
    stats, every = arviz_stats(), -(-seen.log_prob.size // ENOUGH)
    y = seen.y[::every]
    worst_known = np.max(errors(y), axis=0).argsort()[-LOOKED:]
    y, names = y[..., worst_known], [names[i] for i in worst_known]
    folded = np.abs(y - medians(y))
    chains, ranks, folds = (
        np.moveaxis(by_groups(x), -1, 0) for x in (y, normal_scores(y), normal_scores(folded))
    )
    rhat = np.max([stats.rhat(x, method="split") for x in (ranks, folds)], axis=0)
    tails = stats.ess(chains, method="tail", prob=(0.05, 0.95))
    ess = np.stack([stats.ess(ranks, method="mean"), tails])
    worst, low = int(np.argmax(rhat)), np.unravel_index(np.argmin(ess), ess.shape)
    kind = ("bulk", "tail")[low[0]]
    return [
        Check(
            *("R-hat", float(rhat.max()), RHAT, bool(rhat.max() <= RHAT)),
            f"{rhat.max():.4f} for {names[worst]} (at most {RHAT})",
            LONGER,
        ),
        Check(
            *("effective sample size", float(ess.min()), ESS, bool(ess.min() >= ESS)),
            f"{ess.min():.0f} ({kind}) for {names[int(low[1])]} (at least {ESS:.0f})",
            LONGER,
        ),
    ]


def arviz_stats() -> Any:
    try:
        from arviz_stats.base import array_stats  # type: ignore[attr-defined]
    except ImportError as error:
        raise ImportError(
            "spos.fit judges its draws by arviz-stats: pip install 'spos[arviz]'"
        ) from error
    return array_stats


def normal_scores(x: np.ndarray) -> np.ndarray:
    """Ranks over all records and particles, mapped to a standard normal; equals come by chance,
    since their order in time would look like a trend. Column by column, each of which a cache
    holds."""
    flat = x.reshape(-1, x.shape[-1])
    mixed = np.random.default_rng(0).permutation(len(flat))
    columns, quantiles = np.ascontiguousarray(flat[mixed].T), _normal_quantiles(len(flat))
    scores = np.empty_like(columns)
    for own, column in zip(scores, columns, strict=True):
        own[mixed[column.argsort()]] = quantiles
    return np.ascontiguousarray(scores.T).reshape(x.shape)


@functools.cache
def _normal_quantiles(count: int) -> np.ndarray:
    inverse = statistics.NormalDist().inv_cdf
    return np.array([inverse((n + 0.5) / count) for n in range(count)])


def roughness(g: np.ndarray) -> float:
    """The standard deviation of log |g|² over that of a log χ² with as many degrees of freedom."""
    size = g.shape[-1]
    squares = np.log(np.maximum((g * g).sum(-1), 1e-30))
    # the variance of log χ²_d is ψ'(d/2), and ψ'(x + 1) = ψ'(x) - 1/x²
    odd = size % 2
    variance = math.pi**2 / (2.0 if odd else 6.0)
    variance -= sum(1.0 / (n / 2.0) ** 2 for n in range(1 if odd else 2, size, 2))
    return float(squares.std() / math.sqrt(variance))


def _t(replicates: np.ndarray) -> np.ndarray:
    """|mean| in standard errors, over the leading axis."""
    error = replicates.std(0, ddof=1) / math.sqrt(len(replicates))
    return np.abs(replicates.mean(0)) / (error + 1e-12)
