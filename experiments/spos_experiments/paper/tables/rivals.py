"""What people use instead, at their defaults, and how each is asked for a distribution.

A regressor gives a mean for each test row and, where it has one, the standard deviation of a
Gaussian around it; a classifier gives probabilities. Every method gets the same numbers, words as
columns of zeros and ones. Those that need it have their inputs standardised.

The Gaussian process is that of the textbooks: one length scale, noise, up to `GP_ROWS` rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

GP_ROWS = 1500
OURS = "SPOS"


class Gaussians(NamedTuple):
    """Means, and standard deviations or None."""

    mean: np.ndarray
    sd: np.ndarray | None = None


Regression = Callable[[np.ndarray, np.ndarray, np.ndarray, int], Gaussians]
Classification = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]


def _standardised(model: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def ridge(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> Gaussians:
    """Its penalty by leaving one out; the errors of five folds are its standard deviation."""
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import cross_val_predict

    model = _standardised(RidgeCV(np.logspace(-3, 4, 15)))
    errors = y - cross_val_predict(model, X, y, cv=5)
    sd = float(np.sqrt((errors**2).mean()))
    return Gaussians(model.fit(X, y).predict(test), np.full(len(test), sd))


def forest(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> Gaussians:
    from sklearn.ensemble import RandomForestRegressor

    return Gaussians(RandomForestRegressor(random_state=seed).fit(X, y).predict(test))


def boosting(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> Gaussians:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return Gaussians(HistGradientBoostingRegressor(random_state=seed).fit(X, y).predict(test))


def _catboost(kind: str, seed: int, **given: Any) -> Any:
    import catboost

    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return getattr(catboost, kind)(random_seed=seed, **quiet, **given)


def catboost(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> Gaussians:
    return Gaussians(_catboost("CatBoostRegressor", seed).fit(X, y).predict(test))


def catboost_uncertain(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> Gaussians:
    model = _catboost("CatBoostRegressor", seed, loss_function="RMSEWithUncertainty")
    mean, variance = model.fit(X, y).predict(test).T
    return Gaussians(mean, np.sqrt(variance))


def ngboost(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> Gaussians:
    from ngboost import NGBRegressor

    law = NGBRegressor(random_state=seed, verbose=False).fit(X, y).pred_dist(test)
    return Gaussians(law.loc, law.scale)


def gaussian_process(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> Gaussians:
    from sklearn.gaussian_process import GaussianProcessRegressor, kernels

    kernel = kernels.ConstantKernel() * kernels.RBF(3.0) + kernels.WhiteKernel(0.1)
    model = _standardised(GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed))
    mean, sd = model.fit(X, y).predict(test, return_std=True)
    return Gaussians(mean, sd)


def logistic(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    return _standardised(LogisticRegression(max_iter=2000)).fit(X, y).predict_proba(test)


def forest_classes(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=seed).fit(X, y).predict_proba(test)


def boosting_classes(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed).fit(X, y).predict_proba(test)


def catboost_classes(X: np.ndarray, y: np.ndarray, test: np.ndarray, seed: int) -> np.ndarray:
    return _catboost("CatBoostClassifier", seed).fit(X, y).predict_proba(test)


REGRESSIONS: dict[str, Regression] = {
    "ridge": ridge,
    "random forest": forest,
    "hist. boosting": boosting,
    "CatBoost": catboost,
    "CatBoost, uncertain": catboost_uncertain,
    "NGBoost": ngboost,
    "Gaussian process": gaussian_process,
}
CLASSIFICATIONS: dict[str, Classification] = {
    "logistic": logistic,
    "random forest": forest_classes,
    "hist. boosting": boosting_classes,
    "CatBoost": catboost_classes,
}
LINEAR = {False: "ridge", True: "logistic"}
