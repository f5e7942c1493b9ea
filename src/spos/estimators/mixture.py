"""The law of y by many networks: a mixture of Student t, each Gaussian where its 1/ν is 0.

    F(y) = (1/S) Σ_s T_ν((y - m_s) / σ_s)

in the networks' units. Arrays have an axis of networks, one of rows and one of outcomes.
"""

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

HALVINGS = 30  # of the bracket of a quantile
GAUSSIAN = 1e-6  # 1/ν up to which a t is one


def cdf(y: np.ndarray, place: np.ndarray, scale: np.ndarray, heaviness: np.ndarray) -> np.ndarray:
    """The mean of the parts' distribution functions."""
    z = (y - place) / scale
    below: np.ndarray = _apart(z, heaviness, ndtr, stdtr).mean(0)
    return below


def quantile(
    level: float, place: np.ndarray, scale: np.ndarray, heaviness: np.ndarray
) -> np.ndarray:
    """Of the mixture, by halving: it lies between those of its parts."""
    own = place + _apart(np.full_like(heaviness, level), heaviness, ndtri, stdtrit) * scale
    low, high = own.min(0), own.max(0)
    for _ in range(HALVINGS):
        centre = 0.5 * (low + high)
        below = cdf(centre, place, scale, heaviness) < level
        low, high = np.where(below, centre, low), np.where(below, high, centre)
    middle: np.ndarray = 0.5 * (low + high)
    return middle


def draw(rng: Any, place: np.ndarray, scale: np.ndarray, heaviness: np.ndarray) -> np.ndarray:
    """One draw of every part."""
    normal = rng.normal(size=place.shape)
    heavy = heaviness > GAUSSIAN
    freedom = 1.0 / np.where(heavy, heaviness, 1.0)
    mixed = np.where(heavy, rng.chisquare(freedom) / freedom, 1.0)
    drawn: np.ndarray = place + scale * normal / np.sqrt(mixed)
    return drawn


def _apart(values: np.ndarray, heaviness: np.ndarray, gaussian: Any, student_t: Any) -> np.ndarray:
    if (heaviness <= GAUSSIAN).all():
        result: np.ndarray = gaussian(values)
        return result
    freedom = 1.0 / np.maximum(heaviness, GAUSSIAN)
    heavy: np.ndarray = student_t(freedom, values)
    return heavy
