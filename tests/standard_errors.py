"""Does a mean of independent repeats agree with a known number?"""

import numpy as np
from scipy import stats

FAILURE_RATE = 1e-6  # of a correct program, two-sided, for one number


def disagreement(repeats: np.ndarray, expected: np.ndarray, expected_error: float = 0.0) -> float:
    """The worst distance between the means of `repeats` (axis 0) and `expected`, in units of the
    distance that chance exceeds with probability `FAILURE_RATE`: above 1 they disagree."""
    repeats = np.asarray(repeats, np.float64)
    count = len(repeats)
    error = repeats.std(axis=0, ddof=1) / np.sqrt(count)
    allowed = stats.t.isf(FAILURE_RATE / 2, count - 1) * np.hypot(error, expected_error)
    away = np.abs(repeats.mean(axis=0) - expected)
    return float(np.max(away / np.maximum(allowed, np.finfo(np.float64).tiny)))
