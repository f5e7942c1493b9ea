"""The coordinates in which a hierarchy looks straight.

Where the scale of some parameters (the children) depends on others (the parents), as in

    x_i ~ N(μ, τ)        or, with much data and x = μ + τ z,        z_i ≈ (x_i - μ) / τ,

no linear map makes the target round, and no single step fits all of it. A child then is

    θ_i = c_i + a_i·u + w_i exp(b_i·u),        u = θ_parents - c_parents,

and the run moves w in its place, with the density p(θ) exp(Σ_i b_i·u), the sum being the logarithm
of the map's determinant. Whatever a and b are, that is exact; good ones make the step fit at every
place. b = 1 for a log-scale is what is called non-centred, -1 undoes that, and all between is what
the data ask for.

a and b are learnt from the draws of a round. For a nearly normal conditional law of θ_i given all
the rest the score is (mean - θ_i) times the precision, so that the slope of log (∂ log p/∂θ_i)² in
u is that of the log-precision, -2 b_i. What counts is sure (particles are the replicates) and not
small. a_i comes from a regression with the weights exp(-2 b_i·u). Parents are no children.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

PARENTS = 24  # at most
SURE, SMALL = 6.0, 0.2  # standard errors, and log-precision a standard deviation of the parent
STEEPEST = 10.0  # of b·u: beyond, the scale stays as it is
ROWS = 4000  # of a regression
RIDGE = 1e-3


class Bend(NamedTuple):
    """The map from straight coordinates to θ: c, which are the parents, and a and b as columns."""

    centre: Any
    pick: Any
    shift: Any
    scale: Any


def bent(bend: Bend, straight: Any, xp: Any = jnp) -> tuple[Any, Any]:
    """θ, and the logarithm of the determinant."""
    away = straight - bend.centre
    u = away @ bend.pick
    tilt = xp.clip(u @ bend.scale, -STEEPEST, STEEPEST)
    return bend.centre + away * xp.exp(tilt) + u @ bend.shift, tilt.sum(-1)


def straightened(
    bend: Bend, theta: np.ndarray, score: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The straight coordinates of θ, the score there, and the logarithm of the determinant."""
    away = theta - bend.centre
    u = away @ bend.pick
    free = u @ bend.scale
    tilt = np.clip(free, -STEEPEST, STEEPEST)
    w = (away - u @ bend.shift) * np.exp(-tilt)
    own = score * np.exp(tilt)
    return bend.centre + w, own + _of_children(bend, score, own * w, free), tilt.sum(-1)


def bent_score(bend: Bend, straight: np.ndarray, score: np.ndarray) -> np.ndarray:
    """The score at θ, from that at the straight coordinates."""
    away = straight - bend.centre
    free = away @ bend.pick @ bend.scale
    own = score * np.exp(-np.clip(free, -STEEPEST, STEEPEST))  # right for the children
    return own - _of_children(bend, own, score * away, free)


def _of_children(bend: Bend, own: Any, pushed: Any, free: Any) -> np.ndarray:
    """What the parents' scores gain as their children move with them."""
    inside = np.abs(free) < STEEPEST
    return (own @ bend.shift.T + ((pushed + 1.0) * inside) @ bend.scale.T) @ bend.pick.T


def learn(theta: np.ndarray, score: np.ndarray) -> Bend | None:
    """From records, particles and parameters; None where no scale depends on another parameter."""
    count, size = theta.shape[1:]
    mean, sd = theta.mean((0, 1)), theta.std((0, 1))
    u, squares = (theta - mean) / sd, (score * sd) ** 2
    logs = np.log(squares + 1e-4 * np.median(squares, (0, 1)) + 1e-300)
    logs -= logs.mean((0, 1))
    slope, square = np.zeros((size, size)), np.zeros((size, size))
    for each in range(count):
        one = logs[:, each].T @ u[:, each] / len(u)
        slope, square = slope + one / count, square + one * one / count
    error = np.sqrt(np.maximum(square - slope**2, 0.0) / count)
    found = (np.abs(slope) > SURE * error) & (np.abs(slope) > SMALL)
    np.fill_diagonal(found, False)
    drive = (found * slope**2).sum(0)
    most = min(size, PARENTS)
    parents: list[int] = []
    child = np.zeros(size, bool)
    for j in np.argsort(-drive):
        if drive[j] > 0 and not child[j] and len(parents) < most:
            parents.append(int(j))
            child |= found[:, j]
            child[parents] = False
    if not child.any():
        return None
    pull = np.abs(np.corrcoef(u.reshape(-1, size).T))[child].sum(0)
    others = [j for j in np.argsort(-pull) if not child[j] and j not in parents]
    drivers, parents = len(parents), (parents + [int(j) for j in others])[:most]
    return _regressed(u, logs, found, child, parents, drivers, (mean, sd, most))


def _regressed(u, logs, found, child, parents, drivers, units) -> Bend:
    mean, sd, most = units
    size = u.shape[-1]
    rows = u.reshape(-1, size)
    some = np.linspace(0, len(rows) - 1, min(ROWS, len(rows))).astype(int)
    rows, logs = rows[some], logs.reshape(-1, size)[some]
    x = rows[:, parents]
    shift, scale = np.zeros((most, size)), np.zeros((most, size))
    centre = np.zeros(size)
    for i in np.flatnonzero(child):
        mine = [k for k in range(drivers) if found[i, parents[k]]]
        scale[mine, i] = -0.5 * _least_squares(x[:, mine], logs[:, i])
        tilt = np.clip(x @ scale[: len(parents), i], -4.0, 4.0)
        # a child whose w has a mean moves with exp(b·u), which is not the business of a
        features = np.column_stack([x, np.ones(len(x)), np.exp(tilt)])
        weight = np.exp(-tilt)
        line = _least_squares(features * weight[:, None], rows[:, i] * weight)
        shift[: len(parents), i], centre[i] = line[:-2], line[-2]
    pick, per = np.zeros((size, most)), np.ones((most, 1))
    pick[parents, np.arange(len(parents))] = 1.0
    per[: len(parents), 0] = sd[parents]
    return Bend(mean + centre * sd, pick, shift * sd / per, scale / per)


def _least_squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    square = x.T @ x
    ridge = RIDGE * np.trace(square) / max(len(square), 1) * np.eye(len(square))
    return np.linalg.solve(square + ridge, x.T @ y)
