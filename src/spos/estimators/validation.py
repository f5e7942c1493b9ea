"""scikit-learn's checks of X and y, and what they do not say: a mask, which would be forgotten, and
which columns are text."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from spos import checks

LOOKED = 1000  # rows


def validated(estimator: Any, *given: Any, **options: Any) -> Any:
    """X, and y where it is given, as arrays."""
    for name, each in zip(("X", "y"), given, strict=False):
        checks.no_mask(name, each)
    try:
        return validate_data(estimator, *given, dtype=np.float64, **options)
    except ValueError as error:
        if names := _text_columns(given[0]):
            error.add_note(
                f"X has text in {', '.join(names)}: make numbers of it, for example by a "
                "ColumnTransformer with a OneHotEncoder"
            )
        raise


def _text_columns(rows: Any) -> list[str]:
    """The names of columns with text in one of the first rows, or their numbers."""
    try:
        values = np.asarray(rows[:LOOKED], object)
    except (TypeError, ValueError):
        return []
    if values.ndim != 2:
        return []
    found = [n for n, column in enumerate(values.T) if any(isinstance(x, str) for x in column)]
    names = getattr(rows, "columns", None)
    return [f"column {n}" if names is None else repr(names[n]) for n in found]
