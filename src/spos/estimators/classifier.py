"""Classes with chances.

Each of S networks gives chances p_s(c | x), and the prediction is their mean p̄. Its entropy has two
parts, overlap of the classes that no data would remove and doubt about the network:

    H(p̄)  =  (1/S) Σ_s H(p_s)   +   (1/S) Σ_s KL(p_s ‖ p̄)
             aleatoric              epistemic
"""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import softmax, xlogy
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from spos.estimators import programs
from spos.estimators.base import NetworkEstimator


class Entropy(NamedTuple):
    aleatoric: np.ndarray
    epistemic: np.ndarray


class SPOSClassifier(ClassifierMixin, NetworkEstimator):
    """A Bayesian neural network for classes, two or more, of any label.

    Arguments are those of `spos.SPOSRegressor`, without `noise`.
    """

    _numbers = False

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One pass over new rows, as in `SPOSRegressor`; the first call names all `classes`."""
        if not hasattr(self, "particles_"):
            if classes is None:
                raise ValueError("classes must be given in the first call of partial_fit")
            self.classes_ = np.unique(np.asarray(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes must be {self.classes_} as in the first call, got {classes}")
        return self._more(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        chances = self.predict_proba(X)
        return self.classes_[chances.argmax(1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The chance of each class, in the order of `classes_`: (n, k)."""
        return self._by_blocks(programs.outputs, _chances, self._inputs(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        return np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))

    def predict_entropy(self, X: Any) -> Entropy:
        """The entropy of the prediction in two parts, in nats: overlap of the classes, and doubt
        about the network."""
        return Entropy(*self._by_blocks(programs.outputs, _entropies, self._inputs(X)))

    def log_predictive(self, X: Any, y: Any) -> np.ndarray:
        """The log-probability of y given X under the mixture, for each row."""
        check_is_fitted(self)
        X, y = validate_data(self, X, y, dtype=np.float64, reset=False)
        return self._log_predictive(self.scaling_.inputs(X), self._places(y).astype(np.int32))

    def _encode(self, y: np.ndarray, known: bool) -> np.ndarray:
        check_classification_targets(y)
        if not known:
            self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                "y must have at least two classes among rows that count, got one class: "
                f"{self.classes_}"
            )
        return self._places(y).astype(np.float64)

    def _places(self, y: np.ndarray) -> np.ndarray:
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y must be of the classes {self.classes_}, got also {unknown}")
        return np.searchsorted(self.classes_, y)

    def _outputs(self) -> tuple[int, str]:
        return len(self.classes_), "classes"


def _chances(outputs: np.ndarray) -> np.ndarray:
    return softmax(outputs, axis=2).mean(0)


def _entropies(outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    chances = softmax(outputs, axis=2)
    aleatoric = -xlogy(chances, chances).sum(2).mean(0)
    mean = chances.mean(0)
    return aleatoric, np.maximum(-xlogy(mean, mean).sum(1) - aleatoric, 0.0)
