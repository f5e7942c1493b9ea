"""What both kinds of calibration take, and how they draw."""

from typing import Any

import numpy as np

from spos import checks

BY_CHANCE = 0.95  # of bars and of points are inside the bands


def finite(name: str, values: Any, axes: int) -> np.ndarray:
    """An array of real numbers with so many axes, none of them empty."""
    array = checks.numbers(name, values)
    if array.ndim != axes or array.size == 0:
        raise ValueError(
            f"{name} must be an array with {axes} axes, none empty, got shape {array.shape}"
        )
    array = np.asarray(array, np.float64)
    if not np.isfinite(array).all():
        place = tuple(int(n) for n in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, got {array[place]} at {place}")
    return array


def explain_grey(axes: Any) -> None:
    axes.text(0.98, 0.03, f"grey: {BY_CHANCE:.0%} by chance", ha="right", fontsize=9)


def scipy_for(who: str) -> Any:
    try:
        import scipy.special
        import scipy.stats
    except ImportError as error:
        raise ImportError(f"{who} needs scipy: pip install 'spos[diagnostics]'") from error
    return scipy
