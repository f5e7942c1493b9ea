"""Coordinates in which long tails are as short as those of a normal law.

A spread of groups that may well be zero has a logarithm whose lower tail is exponential. Moves
cross a normal law at once, but such a tail in many small steps: draws far out come late and
together, and a run is long only to know how wide they make the law. So a coordinate is moved as v,

    s = m + σ T((v - m)/σ),        T(w) = sinh(k asinh w) / k,

with one k for each side: k = 1 leaves it as it is, a normal v has in s exponential tails for k = 2,
and longer ones beyond. Near m nothing changes. The density of v is that of s times T', which is all
that keeps it exact, whatever m, σ and k are. They are learnt from quantiles.
"""

import functools
import itertools
import statistics
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos.types import Array

FEW, USUAL = 0.001, 0.03  # so many of the draws hold so much of a variance; more is a long tail
LEVELS = (0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.997)
POWERS = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)


class Tails(NamedTuple):
    """The map from short tails to long ones, a number of each for every coordinate.

    Attributes:
        centre: m.
        width: σ.
        below: k of the lower side.
        above: k of the upper side.
    """

    centre: Array
    width: Array
    below: Array
    above: Array


class Stretched(NamedTuple):
    """s, the logarithm of the slope of the map, and that logarithm's own slope."""

    s: Any
    log_slope: Any
    curve: Any


def none(size: int) -> Tails:
    """Those that change nothing."""
    return Tails(np.zeros(size), np.ones(size), np.ones(size), np.ones(size))


def stretched(tails: Tails, v: Any, xp: Any) -> Stretched:
    """Over to long tails."""
    long = (tails.below != 1.0) | (tails.above != 1.0)
    if xp is not np:
        return jax.lax.cond(long.any(), _stretched, unstretched, tails, v)
    found, some = unstretched(tails, v), Tails(*(part[long] for part in tails))
    for whole, part in zip(found, _stretched(some, v[..., long], np), strict=True):
        whole[..., long] = part
    return found


def unstretched(tails: Tails | None, v: Any) -> Stretched:
    """Where no tail is long, which is cheaper to say than to find out."""
    return Stretched(1.0 * v, 0.0 * v, 0.0 * v)


def _stretched(tails: Tails, v: Any, xp: Any = jnp) -> Stretched:
    w = (v - tails.centre) / tails.width
    k = xp.where(w < 0, tails.below, tails.above)
    turn = k * xp.arcsinh(w)
    rest = xp.exp(-2.0 * xp.abs(turn))
    sinh, root = 0.5 * xp.exp(xp.abs(turn)) * (1.0 - rest), xp.sqrt(1.0 + w * w)
    # written as a change, so that k = 1 leaves v as it is to the last digits
    s = v + tails.width * xp.where(k == 1.0, 0.0, xp.sign(w) * sinh / k - w)
    log_slope = xp.abs(turn) + xp.log(0.5 * (1.0 + rest) / root)
    tanh = xp.sign(w) * (1.0 - rest) / (1.0 + rest)
    return Stretched(s, log_slope, (k * tanh / root - w / root**2) / tails.width)


def shortened(tails: Tails, s: np.ndarray) -> np.ndarray:
    """Back to short ones."""
    long, found = (tails.below != 1.0) | (tails.above != 1.0), s.copy()
    centre, width, below, above = (part[long] for part in tails)
    x = (s[..., long] - centre) / width
    k = np.where(x < 0, below, above)
    found[..., long] = centre + width * np.sinh(np.arcsinh(k * x) / k)
    return found


def learn(s: np.ndarray) -> Tails | None:
    """From records, particles and coordinates; None where no tail is long."""
    long = np.flatnonzero(of_few(s) > USUAL)
    if not len(long):
        return None
    found = none(s.shape[-1])
    quantiles = np.quantile(s.reshape(-1, s.shape[-1])[:, long], LEVELS, axis=0)
    for part, values in zip(found, _fitted(quantiles), strict=True):
        part[long] = values
    return found


def of_few(values: np.ndarray) -> np.ndarray:
    """The share of every variance that the few farthest draws hold."""
    flat = (values - values.mean((0, 1))).reshape(-1, values.shape[-1])
    squares = np.ascontiguousarray(flat.T) ** 2
    squares.sort(axis=1)
    few = max(round(FEW * len(flat)), 1)
    found: np.ndarray = squares[:, -few:].sum(1) / np.maximum(squares.sum(1), 1e-300)
    return found


def _fitted(quantiles: np.ndarray) -> Tails:
    """m, σ and both k, such that those of a normal law become these columns of quantiles."""
    powers, designs, weights, inverses = _designs()
    seen = weights[..., None] * quantiles
    centre, width = np.moveaxis(inverses @ seen, 1, 0)
    fit = designs @ np.stack([centre, width], 1)
    turned = width <= 0.0
    width = np.where(turned, 1.0, width)
    badness = np.square((fit - seen) / width[:, None]).sum(1)
    badness += 1e-3 * np.square(np.log(powers)).sum(1)[:, None]
    best = np.where(turned, np.inf, badness).argmin(0)
    column = np.arange(len(best))
    return Tails(centre[best, column], width[best, column], *powers[best].T)


@functools.cache
def _designs() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """All pairs of k, what m and σ are multiplied with, the weights of the quantiles, and the maps
    from these to m and σ."""
    inverse = statistics.NormalDist().inv_cdf
    w = np.array([inverse(level) for level in LEVELS])
    powers = np.array(list(itertools.product(POWERS, POWERS)))
    each = Tails(np.zeros(1), np.ones(1), *powers.T[..., None])
    t = _stretched(each, w, np)
    # in units of w, and of its standard error, which is nearly as wide as the density is high
    weights = np.exp(-t.log_slope - 0.25 * w * w)
    designs = np.stack([weights, weights * t.s], -1)
    return powers, designs, weights, np.linalg.pinv(designs)
