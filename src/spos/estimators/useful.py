"""A fit that knows nothing says so.

Rows of the validation set, or all rows where that is too small to tell, are predicted by the fit
and without a look at X: by the mean of y, in squared errors, or by how often each class comes, in
log-probabilities. If that is no worse, the fit warns.
"""

import warnings
from typing import Any

import numpy as np

from spos.networks import predict
from spos.networks.rows import Rows

ENOUGH, MOST = 30, 2000  # rows that tell


def warn_if_not(model: Any, training: Rows, validation: Rows | None) -> None:
    """Compare a fitted estimator with what predicts without X.

    Args:
        model: the estimator.
        training: rows in the units of the table.
        validation: rows that were not learnt from, if there are any.
    """
    judged = training
    if validation is not None and len(validation.y) >= ENOUGH:
        judged = validation
    judged = judged.take(np.arange(min(len(judged.y), MOST)))
    better = _beats_the_mean if model._numbers else _beats_the_shares
    if not better(model, training, judged):
        simplest = "the mean of y" if model._numbers else "how often each class comes"
        warnings.warn(
            f"this fit predicts no better than {simplest}: y may not depend on X, or num_steps or "
            "step_size may be too small or too large",
            stacklevel=3,
        )


def _beats_the_mean(model: Any, training: Rows, judged: Rows) -> bool:
    mean, _, _ = model._said(predict.laws, model._moments, model._prepared(judged.x))
    simplest = np.average(training.y, axis=0, weights=training.weights)
    scale = np.abs(judged.y - simplest).max()  # squares of large numbers are not finite
    if scale == 0.0:  # a constant y is known without X
        return True
    ours, theirs = (
        np.average(((judged.y - said) / scale) ** 2, axis=0, weights=judged.weights)
        for said in (mean, simplest)
    )
    return bool(np.any(ours < theirs))


def _beats_the_shares(model: Any, training: Rows, judged: Rows) -> bool:
    counts = np.bincount(training.y.astype(int), training.weights, len(model.classes_)) + 0.5
    shares = np.log(counts / counts.sum())
    places = judged.y.astype(np.int32)
    ours = model._log_predictive(model._prepared(judged.x), places)
    return bool(np.average(ours - shares[places], weights=judged.weights) > 0.0)
