"""Bayesian networks as scikit-learn estimators.

This package alone needs scikit-learn; `spos.SPOSRegressor` and `spos.SPOSClassifier` open it.
"""

from spos.estimators.classifier import SPOSClassifier
from spos.estimators.regressor import SPOSRegressor

__all__ = ["SPOSClassifier", "SPOSRegressor"]
