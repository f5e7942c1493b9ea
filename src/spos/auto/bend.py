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

Parents are no children. Who is what, and a and b, is learnt by `spos.auto.hierarchy`.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from spos.auto import tails
from spos.auto.tails import Stretched, Tails
from spos.types import Array

MOST_PARENTS = 24
FEATURES = 3  # of each parent
STEEPEST = 10.0  # of b·φ: beyond, the scale stays as it is


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


def _in_use(bend: Bend) -> Bend:
    """Without the parents that do nothing, which cost the host as much as the others."""
    used = (bend.shift.any(1) | bend.scale.any(1)).reshape(FEATURES, -1).any(0)
    rows = np.tile(used, FEATURES)
    return bend._replace(
        pick=bend.pick[:, used],
        width=bend.width[used],
        shift=bend.shift[rows],
        scale=bend.scale[rows],
    )


def bend_places(
    bend: Bend | None, straight: np.ndarray, log_prob: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """From straight coordinates to θ, without the scores, which take most of the time."""
    if bend is None:
        return straight, log_prob
    found = bent(_in_use(bend), straight, np)
    return found.theta, log_prob - found.log_det


def bend_points(bend: Bend | None, straight: Points) -> Points:
    """From straight coordinates to θ."""
    if bend is None:
        return straight
    bend = _in_use(bend)
    theta, log_det, u, tilt, long = bent(bend, straight.theta, np)
    score = (straight.score - long.curve) * np.exp(-long.log_slope)
    own = score * np.exp(-tilt)  # right for the children
    score = own - _of_children(bend, own, score * (long.s - bend.centre), u, tilt)
    return Points(theta, straight.log_prob - log_det, score)


def straighten_points(bend: Bend | None, points: Points) -> Points:
    """From θ to straight coordinates."""
    if bend is None:
        return points
    bend = _in_use(bend)
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
