"""scikit-learn's checks of X and y, and what they let pass: a mask, which would be forgotten."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from spos import checks


def validated(estimator: Any, *given: Any, **options: Any) -> Any:
    """X, and y where it is given, as arrays."""
    for name, each in zip(("X", "y"), given, strict=False):
        checks.no_mask(name, each)
    return validate_data(estimator, *given, dtype=np.float64, **options)
