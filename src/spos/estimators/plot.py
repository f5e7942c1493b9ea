"""A prediction along one feature."""

from typing import Any

import numpy as np

from spos import checks
from spos.io.figures import COLOURS

POINTS = 200


def bands(model: Any, X: Any, y: Any, feature: int, level: float, axes: Any) -> Any:
    """See `SPOSRegressor.plot`."""
    import matplotlib.pyplot as plt

    table = np.asarray(X, np.float64)
    columns = table.shape[1]
    checks.whole("feature", feature, at_least=0, below=columns)
    if model.n_outputs_ > 1:
        raise ValueError(f"plot needs one outcome a row, got a fit with {model.n_outputs_}")
    axes = plt.subplots(figsize=(6.0, 3.6))[1] if axes is None else axes
    along = np.linspace(table[:, feature].min(), table[:, feature].max(), POINTS)
    rows = np.tile(np.median(table, axis=0), (POINTS, 1))
    rows[:, feature] = along
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        rows = type(X)(rows, columns=list(names))
    low, high = model.predict_interval(rows, level)
    mean = model.predict(rows)
    doubt = np.sqrt(model.predict_variance(rows).epistemic)
    colour = COLOURS["spos"]
    if y is not None:
        axes.plot(table[:, feature], np.ravel(y), ".", color="#8a8a8a", ms=3, label="data")
    axes.fill_between(along, low, high, color=colour, alpha=0.15, lw=0, label=f"{level:.0%} of y")
    axes.fill_between(
        along, mean - 2 * doubt, mean + 2 * doubt, color=colour, alpha=0.35, lw=0, label="its mean"
    )
    axes.plot(along, mean, color=colour, lw=1.5)
    axes.set_xlabel(str(names[feature]) if names is not None else f"column {feature} of X")
    axes.set_ylabel("y")
    axes.legend(frameon=False, fontsize=8)
    return axes
