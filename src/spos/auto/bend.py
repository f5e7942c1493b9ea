"""The coordinates in which a hierarchy looks straight.

Where the scale of some parameters (the children) depends on others (the parents), as in

    x_i ~ N(μ, τ)        or, with much data and x = μ + τ z,        z_i ≈ (x_i - μ) / τ,

no linear map makes the target round, and no single step fits all of it. A child then is

    θ_i = c_i + a_i·φ + w_i exp(b_i·φ),        φ = φ(θ_parents - c_parents),

and the run moves w in its place, with the density p(θ) exp(Σ_i b_i·φ), the sum being the logarithm
of the map's determinant. Whatever a and b are, that is exact; good ones make the step fit at every
place. b = 1 for a log-scale is what is called non-centred, -1 undoes that, and all between is what
the data ask for. They ask for more where the parent is large than where it is small: φ has for
every parent u itself and a smooth hinge, -σ log(1 + exp(-u/σ)), which is u below and 0 above. A
child may also lie on a curve, as in a banana: φ has u²/σ too, for a alone.

a and b are learnt from the draws of a round. For a nearly normal conditional law of θ_i given all
the rest the score is (mean - θ_i) times the precision, so that the slope of log (∂ log p/∂θ_i)² in
φ is that of the log-precision, -2 b_i. What counts is sure (particles are the replicates) and not
small. Likewise a child is on a curve if most of it goes with u². a_i comes from a regression with
the weights exp(-2 b_i·φ). Parents are no children; a mean of many children, whose own precision
depends on their scale, is made a parent.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from spos.auto import tails
from spos.auto.tails import Stretched, Tails
from spos.types import Array

MOST_PARENTS = 24
SURE, SMALL = 5.0, 0.2  # standard errors, and log-precision a standard deviation of the parent
CURVED = 0.7  # correlation with the square of the parent; what has it as scale has far less
TAME = 3.0  # standard deviations
STEEPEST = 10.0  # of b·φ: beyond, the scale stays as it is
ROWS = 4000  # of a regression
FEATURES = 3  # of each parent
CENTRAL = 0.3  # the share of a hub's curvature that its children make
RIDGE, STIFF = 1e-3, 0.03  # of the regressions: on u, and on the hinges


class Bend(NamedTuple):
    """The map from straight coordinates to θ.

    Attributes:
        centre: c.
        pick: one column for each parent, with a 1 at its place.
        width: σ of each parent's hinge.
        shift: a, one row for each feature.
        scale: b, likewise.
        tails: from short tails to long ones, before all else.
    """

    centre: Array
    pick: Array
    width: Array
    shift: Array
    scale: Array
    tails: Tails


def unbent(size: int) -> Bend:
    """One that moves nothing, of the shapes that all have."""
    most = min(size, MOST_PARENTS)
    nothing = np.zeros((FEATURES * most, size))
    return Bend(
        np.zeros(size), np.zeros((size, most)), np.ones(most), nothing, nothing, tails.none(size)
    )


class Points(NamedTuple):
    """Points of some coordinates, the log-density there and its gradient."""

    theta: np.ndarray
    log_prob: np.ndarray
    score: np.ndarray


class Bent(NamedTuple):
    """θ, the logarithm of the determinant, and what made them: the parents, b·φ, and long tails."""

    theta: Any
    log_det: Any
    u: Any
    tilt: Any
    long: Stretched


def features(u: Any, width: Any, xp: Any) -> Any:
    """φ of the parents."""
    hinge = xp.minimum(u, 0.0) - width * xp.log1p(xp.exp(-xp.abs(u) / width))
    return xp.concatenate([u, hinge, u * u / width], -1)


def bent(bend: Bend, straight: Any, xp: Any = jnp) -> Bent:
    """Over to θ."""
    long = tails.stretched(bend.tails, straight, xp)
    away = long.s - bend.centre
    u = away @ bend.pick
    tilt, shift = _driven(bend, u, xp)
    theta = bend.centre + away * xp.exp(tilt) + shift
    return Bent(theta, (tilt + long.log_slope).sum(-1), u, tilt, long)


def _driven(bend: Bend, u: Any, xp: Any) -> tuple[Any, Any]:
    """What the parents do to the children: b·φ and a·φ."""
    if xp is np and not bend.pick.any():
        nothing = np.zeros((*u.shape[:-1], len(bend.centre)))
        return nothing, nothing
    phi = features(u, bend.width, xp)
    return xp.clip(phi @ bend.scale, -STEEPEST, STEEPEST), phi @ bend.shift


def bend_places(
    bend: Bend | None, straight: np.ndarray, log_prob: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """From straight coordinates to θ, without the scores, which take most of the time."""
    if bend is None:
        return straight, log_prob
    found = bent(bend, straight, np)
    return found.theta, log_prob - found.log_det


def bend_points(bend: Bend | None, straight: Points) -> Points:
    """From straight coordinates to θ."""
    if bend is None:
        return straight
    theta, log_det, u, tilt, long = bent(bend, straight.theta, np)
    score = (straight.score - long.curve) * np.exp(-long.log_slope)
    own = score * np.exp(-tilt)  # right for the children
    score = own - _of_children(bend, own, score * (long.s - bend.centre), u, tilt)
    return Points(theta, straight.log_prob - log_det, score)


def straighten_points(bend: Bend | None, points: Points) -> Points:
    """From θ to straight coordinates."""
    if bend is None:
        return points
    away = points.theta - bend.centre
    u = away @ bend.pick
    tilt, shift = _driven(bend, u, np)
    straight = tails.shortened(bend.tails, bend.centre + (away - shift) * np.exp(-tilt))
    long = tails.stretched(bend.tails, straight, np)
    score = straight_scores(bend, points.score, u, tilt, long, np)
    return Points(straight, points.log_prob + (tilt + long.log_slope).sum(-1), score)


def straight_scores(
    bend: Bend, score: Any, u: Any, tilt: Any, long: Stretched, xp: Any = jnp
) -> Any:
    """From gradients of log p in θ to those of the density of straight coordinates, with what
    `bent` knows."""
    own = score * xp.exp(tilt)
    own = own + _of_children(bend, score, own * (long.s - bend.centre), u, tilt, xp)
    return own * xp.exp(long.log_slope) + long.curve


def _of_children(bend: Bend, own: Any, pushed: Any, u: Any, tilt: Any, xp: Any = np) -> Any:
    """What the parents' scores gain as their children move with them."""
    if xp is np and not bend.pick.any():
        return 0.0
    inside = xp.abs(tilt) < STEEPEST
    gain = own @ bend.shift.T + ((pushed + 1.0) * inside) @ bend.scale.T
    line, hinge, square = xp.split(gain, FEATURES, axis=-1)
    below = 0.5 - 0.5 * xp.tanh(0.5 * u / bend.width)  # the slope of the hinge
    return (line + hinge * below + square * 2.0 * u / bend.width) @ bend.pick.T


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


def learn(theta: np.ndarray, score: np.ndarray) -> Bend | None:
    """From records, particles and parameters; None where no scale depends on another parameter."""
    size = theta.shape[-1]
    mean, sd = theta.mean((0, 1)), theta.std((0, 1))
    u, squares = (theta - mean) / sd, (score * sd) ** 2
    logs = np.log(squares + 1e-4 * np.median(squares, (0, 1)) + 1e-300)
    logs -= logs.mean((0, 1))
    family = _family(u, logs, score * sd)
    found = unbent(size)
    if family.child.any():
        most, count = min(size, MOST_PARENTS), len(family.parents)
        shift, scale, centre = _regressed(u, logs, family, most)
        found.pick[family.parents, np.arange(count)] = 1.0
        found.width[:count] = sd[family.parents]
        unit = np.tile(found.width, FEATURES)[:, None]
        found = found._replace(
            centre=mean + centre * sd, shift=shift * sd / unit, scale=scale / unit
        )
    straight = straighten_points(found, Points(theta, np.zeros(theta.shape[:2]), score)).theta
    long = tails.learn(straight)
    if long is None:
        return found if family.child.any() else None
    return found._replace(tails=long)


def _family(u: np.ndarray, logs: np.ndarray, score: np.ndarray) -> Family:
    size = u.shape[-1]
    found, slope = _sure(logs, u, SMALL)
    tame = np.clip(u, -TAME, TAME)  # a few draws make no curve
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


def _regressed(
    u: np.ndarray, logs: np.ndarray, family: Family, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a and b, with a row for each feature of at most so many parents, and c, in standard
    deviations."""
    size, count = u.shape[-1], len(family.parents)
    rows = u.reshape(-1, size)
    some = np.linspace(0, len(rows) - 1, min(ROWS, len(rows))).astype(int)
    rows, logs = rows[some], logs.reshape(-1, size)[some]
    phi = features(rows[:, family.parents], 1.0, np)
    shift, scale, centre = *np.zeros((2, FEATURES * most, size)), np.zeros(size)
    into = np.concatenate([n * most + np.arange(count) for n in range(FEATURES)])
    stiff = np.repeat([RIDGE, STIFF], count)
    for i in np.flatnonzero(family.child):
        driven = [k for k in range(family.drivers) if family.slopes[i, family.parents[k]]]
        own = np.array(driven + [count + k for k in driven], int)
        columns = np.column_stack([phi[:, own], np.ones(len(phi))])
        slopes = _least_squares(columns, logs[:, i], stiff[own])
        scale[into[own], i] = -0.5 * slopes[:-1]
        tilt = np.clip(phi[:, own] @ scale[into[own], i], -4.0, 4.0)
        curves = 2 * count + np.flatnonzero(family.curves[i, family.parents])
        own = np.concatenate([np.arange(2 * count), curves])
        # a child whose w has a mean moves with exp(b·φ), which is not the business of a
        columns = np.column_stack([phi[:, own], np.exp(tilt), np.ones(len(phi))])
        weight = np.exp(-tilt)
        ridge = np.concatenate([stiff, np.full(len(curves) + 1, RIDGE)])
        line = _least_squares(columns * weight[:, None], rows[:, i] * weight, ridge)
        shift[into[own], i], centre[i] = line[: len(own)], line[-1]
    return shift, scale, centre


def _least_squares(x: np.ndarray, y: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """With a ridge on all columns but the last."""
    square = x.T @ x
    add = np.append(ridge, 1e-9) * np.trace(square) / len(square)
    return np.linalg.solve(square + np.diag(add), x.T @ y)
