"""Who depends on whom, and how: a bend (`spos.auto.bend`) learnt from the draws of a round.

For a nearly normal conditional law of θ_i given all the rest the score is (m_i - θ_i) times the
precision. So the slope of log (∂ log p/∂θ_i)² in φ is that of the log-precision, -2 b_i, and
θ_i + (∂ log p/∂θ_i) / precision is m_i, without the noise of θ_i itself. A hinge stands where it
explains most of the children's precisions. What counts as a parent is sure (particles are the
replicates) and not small. Likewise a child is on a curve if most of it goes with u².

a_i comes from a regression of m_i with the weights exp(-2 b_i·φ). Where normal data add d to a
precision 1/τ² around μ,

    m_i = (μ/τ² + d y_i) / (1/τ² + d) = μ + (y_i - μ) d exp(2 b_i·φ)        up to a constant in b·φ:

what moves with exp(2 b_i·φ) fades where the scale is small, and is left to the metric. Only the
rest may be in a, and only what is sure: where the scale is small, a little of it is a lot.

Parents are no children; a mean of many children, whose own precision depends on their scale, is
made a parent.
"""

import itertools
from typing import NamedTuple

import numpy as np

from spos.auto import tails
from spos.auto.bend import FEATURES, MOST_PARENTS, Bend, Points, features, straighten_points, unbent

SURE, SMALL = 5.0, 0.2  # standard errors, and log-precision a standard deviation of the parent
CURVED = 0.7  # correlation with the square of the parent; what has it as scale has far less
TAME, CURVES_TAME = 2.5, 3.0  # standard deviations: few draws hide no slope, and make no curve
ROWS = 4000  # of a regression
# places and widths that a hinge may have, in standard deviations of the parent
HINGES = tuple(itertools.product((0.0, -0.6, 0.6), (1.0, 0.6)))
CENTRAL = 0.3  # the share of a hub's curvature that its children make
LOG_CHI = -1.27  # the mean of log χ² with one degree of freedom
RIDGE, STIFF = 1e-3, 0.03  # of the regressions: on u, and on hinges
LIGHT = 0.1  # times as stiff are those of scales, which have all rows


class Family(NamedTuple):
    """Who depends on whom.

    Attributes:
        slopes: whether the log-precision of a row's parameter surely depends on a column's.
        curves: whether a row's parameter lies on a curve over a column's.
        child: which parameters are children.
        parents: those on which scales depend first, then hubs and others that pull children along.
        drivers: how many of the parents are of the first kind.
    """

    slopes: np.ndarray
    curves: np.ndarray
    child: np.ndarray
    parents: list[int]
    drivers: int


class Draws(NamedTuple):
    """In standard deviations, records and particles in one axis, particles going round.

    Attributes:
        u: the parameters.
        logs: of their squared scores.
        score: these scores.
        particles: how many.
    """

    u: np.ndarray
    logs: np.ndarray
    score: np.ndarray
    particles: int


class Slopes(NamedTuple):
    """What a parent does, in standard deviations.

    Attributes:
        place: where each parent's hinge stands.
        width: of these.
        shift: a, with a row for each feature of at most so many parents.
        scale: b, likewise.
        centre: c.
    """

    place: np.ndarray
    width: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    centre: np.ndarray


def learn(theta: np.ndarray, score: np.ndarray) -> Bend | None:
    """From records, particles and parameters; None where no scale depends on another parameter."""
    size = theta.shape[-1]
    mean, sd = theta.mean((0, 1)), theta.std((0, 1))
    u, score_u = (theta - mean) / sd, score * sd
    squares = score_u**2
    logs = np.log(squares + 1e-4 * np.median(squares, (0, 1)) + 1e-300)
    family = _family(u, logs - logs.mean((0, 1)), score_u)
    found = unbent(size)
    if family.child.any():
        count = len(family.parents)
        rows, of_rows, scores = (x.reshape(-1, size) for x in (u, logs, score_u))
        flat = Draws(rows, of_rows, scores, u.shape[1])
        seen = _slopes(flat, family, min(size, MOST_PARENTS))
        found.pick[family.parents, np.arange(count)] = 1.0
        found.width[:count] = sd[family.parents] * seen.width
        unit = np.tile(found.width, FEATURES)[:, None]
        found = found._replace(
            centre=mean + seen.centre * sd, shift=seen.shift * sd / unit, scale=seen.scale / unit
        )
    straight = straighten_points(found, Points(theta, np.zeros(theta.shape[:2]), score)).theta
    long = tails.learn(straight)
    if long is None:
        return found if family.child.any() else None
    return found._replace(tails=long)


def _family(u: np.ndarray, logs: np.ndarray, score: np.ndarray) -> Family:
    size = u.shape[-1]
    found, slope = _sure(logs, np.clip(u, -TAME, TAME), SMALL)
    tame = np.clip(u, -CURVES_TAME, CURVES_TAME)
    curved, curve = _sure(tame, (tame**2 - 1.0) / np.sqrt(2.0), CURVED)
    most = min(size, MOST_PARENTS)
    parents: list[int] = []
    child = np.zeros(size, bool)
    # curves first: on one, the precision of the parent looks as if it depended on the child
    for linked, slopes in ((curved, curve), (found, slope)):
        drive = (linked * slopes**2).sum(0)
        for j in np.argsort(-drive):
            if drive[j] > 0 and not child[j] and (j in parents or len(parents) < most):
                parents = list(dict.fromkeys([*parents, int(j)]))
                child |= linked[:, j]
                child[parents] = False
    drivers = len(parents)
    hubs = _hubs(child, score)[: most - drivers]
    child[hubs] = False
    parents += hubs
    if child.any():
        pull = np.abs(np.corrcoef(u.reshape(-1, size).T))[child].sum(0)
        others = [int(j) for j in np.argsort(-pull) if not child[j] and j not in parents]
        parents = (parents + others)[:most]
    return Family(found, curved, child, parents, drivers)


def _sure(y: np.ndarray, x: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """The slopes of every y in every x of variance one, and which of them are sure and not small;
    particles are the replicates."""
    count, size = x.shape[1:]
    slope, square = np.zeros((size, size)), np.zeros((size, size))
    for each in range(count):
        one = y[:, each].T @ x[:, each] / len(x)
        slope, square = slope + one / count, square + one * one / count
    error = np.sqrt(np.maximum(square - slope**2, 0.0) / count)
    found = (np.abs(slope) > SURE * error) & (np.abs(slope) > least)
    np.fill_diagonal(found, False)
    return found, slope


def _hubs(child: np.ndarray, score: np.ndarray) -> list[int]:
    """The children that many others hang on, such as the mean of a hierarchy: its precision depends
    on the scale too, but only by way of the others, which move with it once it is their parent.

    The covariance of the scores is the mean of -∂²log p, in which the other children do not meet.
    """
    if child.sum() < 3:
        return []
    rows = score.reshape(-1, score.shape[-1])[:, child]
    rows = rows / (np.sqrt((rows**2).mean(1, keepdims=True)) + 1e-300)  # no few rows may dominate
    square = rows.T @ rows
    sizes = np.sqrt(np.diag(square)) + 1e-300
    linked = (square / sizes[:, None] / sizes) ** 2
    central = linked.sum(0) - 1.0
    chosen = (central > CENTRAL) & (central > 3.0 * np.median(central))
    return [int(j) for j in np.flatnonzero(child)[chosen]]


def _slopes(draws: Draws, family: Family, most: int) -> Slopes:
    size, count = draws.u.shape[-1], len(family.parents)
    place, width = _hinges(draws, family)
    phi = features((draws.u[:, family.parents] - place) / width, 1.0, np)
    shift, scale, centre = *np.zeros((2, FEATURES * most, size)), np.zeros(size)
    centre[family.parents] = place
    into = np.concatenate([n * most + np.arange(count) for n in range(FEATURES)])
    records = np.arange(len(phi)).reshape(-1, draws.particles)
    some = records[:: -(-len(phi) // ROWS)].ravel()
    for i in np.flatnonzero(family.child):
        driven = np.flatnonzero(family.slopes[i, family.parents[: family.drivers]])
        own = np.concatenate([driven, count + driven])
        columns = np.column_stack([phi[:, own], np.ones(len(phi))])
        ridge = LIGHT * np.repeat([RIDGE, STIFF], len(driven))
        line = _least_squares(columns, draws.logs[:, i], ridge)
        scale[into[own], i] = -0.5 * line[:-1]
        tilt = np.clip(columns[some, :-1] @ scale[into[own], i], -4.0, 4.0)
        noise = np.exp(LOG_CHI - columns[some] @ line)
        child = np.column_stack([draws.u[some, i], draws.u[some, i] + draws.score[some, i] * noise])
        curved = np.flatnonzero(family.curves[i, family.parents])
        free = np.setdiff1d(np.arange(count), np.setdiff1d(driven, curved))
        pulling = phi[some][:, free if len(driven) else free[:0]]
        own = np.concatenate([free, count + free, 2 * count + curved])
        kept, hinged = np.isin(own % count, curved), own // count == 1
        line = _shift(child, tilt, phi[some][:, own], pulling, kept, hinged, draws.particles)
        shift[into[own], i], centre[i] = line[:-1], line[-1]
    return Slopes(place, width, shift, scale, centre)


def _hinges(draws: Draws, family: Family) -> tuple[np.ndarray, np.ndarray]:
    """The places and widths that explain most of the children's log-precisions, beside straight
    lines."""
    count, drivers = len(family.parents), family.parents[: family.drivers]
    place, width = np.zeros(count), np.ones(count)
    lines, _ = np.linalg.qr(np.column_stack([np.ones(len(draws.u)), draws.u[:, drivers]]))
    for k, parent in enumerate(drivers):
        children = draws.logs[:, family.slopes[:, parent] & family.child]
        if not children.size:
            continue
        tried = [features((draws.u[:, [parent]] - p) / w, 1.0, np)[:, 1] for p, w in HINGES]
        hinges = np.column_stack(tried)
        hinges -= lines @ (lines.T @ hinges)
        gain = np.square(hinges.T @ children).sum(1) / (np.square(hinges).sum(0) + 1e-9)
        place[k], width[k] = HINGES[int(gain.argmax())]
    return place, width


def _shift(
    child: np.ndarray,
    tilt: np.ndarray,
    phi: np.ndarray,
    pulling: np.ndarray,
    kept: np.ndarray,
    hinged: np.ndarray,
    particles: int,
) -> np.ndarray:
    """a of these features and c, for a child and its m. Features are `kept` in any case, are
    `hinged`, or pull only where the scale is large."""
    one, count = np.ones((len(phi), 1)), phi.shape[1]
    pulls = np.exp(2.0 * tilt)[:, None] * np.column_stack([pulling, one])
    weight = np.exp(-tilt)[:, None]
    columns, (noisy, middle) = weight * np.column_stack([phi, pulls, one]), (weight * child).T
    ridge = np.append(np.where(hinged, STIFF, RIDGE), np.full(pulls.shape[1], RIDGE))
    line = _least_squares(columns, noisy, ridge)
    sure = _surely(columns, noisy, line, particles)
    sure[count:] = True
    sure[:count] |= kept
    found = np.zeros(columns.shape[1])
    found[sure] = _least_squares(columns[:, sure], middle, ridge[sure[:-1]])
    return np.append(found[:count], found[-1])


def _surely(x: np.ndarray, y: np.ndarray, line: np.ndarray, particles: int) -> np.ndarray:
    """Which numbers of a regression are sure; particles are the replicates."""
    pushes = (x * (y - x @ line)[:, None]).reshape(-1, particles, x.shape[1]).sum(0)
    error = np.sqrt(np.square(pushes @ np.linalg.pinv(x.T @ x)).sum(0))
    found: np.ndarray = np.abs(line) > SURE * error
    return found


def _least_squares(x: np.ndarray, y: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """With a ridge on all columns but the last."""
    square = x.T @ x
    add = np.append(ridge, 1e-9) * np.trace(square) / len(square)
    return np.linalg.solve(square + np.diag(add), x.T @ y)
