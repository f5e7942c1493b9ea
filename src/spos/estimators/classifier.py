"""Classes with chances.

Each of S networks gives chances p_s(c | x), and the prediction is their mean p̄. Its entropy has two
parts, overlap of the classes that no data would remove and doubt about the network:

    H(p̄)  =  (1/S) Σ_s H(p_s)   +   (1/S) Σ_s KL(p_s ‖ p̄)
             aleatoric              epistemic
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import softmax, xlogy
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from spos.estimators import stacking
from spos.estimators.base import NetworkEstimator
from spos.estimators.stacking import CANDIDATES, Candidate
from spos.estimators.validation import validated
from spos.networks import predict
from spos.networks.rows import Rows
from spos.targets import likelihoods

FEW_CLASSES = 7  # NumPy adds up to so many numbers in their order


class Entropy(NamedTuple):
    """Of a prediction, by its origin: overlap of the classes, and doubt about the network."""

    aleatoric: np.ndarray
    epistemic: np.ndarray


class SPOSClassifier(ClassifierMixin, NetworkEstimator):  # type: ignore[misc]
    """A Bayesian neural network for classes, two or more, of any label.

    Predictions are those of a mixture of three posteriors, from a narrow prior to a wide one that
    is sampled colder: `prior_shares_` are their shares, and `sharpness_` is what outputs were
    multiplied with, both chosen by rows that short runs did not see (`stacking.py`).

    Args:
        hidden: widths of the hidden layers (relu), beside which a linear connection stands; () is a
            linear model.
        class_weight: how often a row of each class counts: a dict, "balanced", or None, once.
        n_particles: networks that are sampled together.
        method: "spos", "svgd", "sgld", "psgld", … (`spos.networks.methods.METHODS`).
        beta: 1/β is the weight of Langevin drift and noise, in "spos" and "pos".
        step_size: of the first steps; it falls to a tenth along half a cosine. By default it is the
            method's own, less for wide networks.
        num_steps: of each posterior, at most. By default 40 epochs, but 2,000 to 20,000 steps, or
            1,200 for few rows.
        batch_size: rows in a step.
        average: predict with the particles of so many evaluations of the validation set (there are
            50 in a whole run), not only with the last.
        validation_fraction: share of the rows in a validation set, by which training stops early;
            500 rows at most, and none below 50 rows. 0 trains on all rows and takes all steps.
        patience: evaluations without a better prediction of the validation set before training
            stops, in the second half of the steps.
        warm_start: `fit` goes on from the particles and the scaling it has, with the posterior that
            has the largest share.
        random_state: as in scikit-learn; the same number gives the same bits.
        progress: show a progress line; by default only on a terminal.

    Example:
        >>> X = np.linspace(-1.0, 1.0, 100)[:, None]
        >>> y = np.where(X[:, 0] > 0, "right", "left")
        >>> model = spos.SPOSClassifier((20,), n_particles=5, num_steps=300, random_state=0)
        >>> model.fit(X, y).predict([[-0.8], [0.8]]).tolist()
        ['left', 'right']
    """

    _numbers = False
    _linear = True
    classes_: np.ndarray
    prior_shares_: np.ndarray  # of the candidates in the predictions

    def __init__(
        self,
        hidden: Iterable[int] = (20, 20),
        *,
        class_weight: Mapping[Any, float] | str | None = None,
        n_particles: int = 10,
        method: str = "spos",
        beta: float = 5.0,
        step_size: float | None = None,
        num_steps: int | None = None,
        batch_size: int = 100,
        average: int = 20,
        validation_fraction: float = 0.0,
        patience: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(
            hidden,
            n_particles=n_particles,
            method=method,
            beta=beta,
            step_size=step_size,
            num_steps=num_steps,
            batch_size=batch_size,
            average=average,
            validation_fraction=validation_fraction,
            patience=patience,
            warm_start=warm_start,
            random_state=random_state,
            progress=progress,
        )
        self.class_weight = class_weight

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Whole epochs on new rows, 500 steps at least, at a constant step.

        They count as new each time they come, and stand for all rows seen so far. The first call
        sets the scaling.

        Args:
            X: features, (n, n_features).
            y: n labels.
            classes: all labels there are; needed in the first call.
            sample_weight: how often each row counts.

        Returns:
            The estimator itself.

        Raises:
            ValueError: `classes` are missing in the first call, or are others later.
        """
        if not hasattr(self, "particles_"):
            if classes is None:
                raise ValueError("classes must be given in the first call of partial_fit")
            self.classes_ = np.unique(np.asarray(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes must be {self.classes_} as in the first call, got {classes}")
        return self._more(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class.

        Args:
            X: features, (n, n_features).

        Returns:
            n labels.
        """
        chances = self.predict_proba(X)
        labels: np.ndarray = self.classes_[chances.argmax(1)]
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class.

        Args:
            X: features, (n, n_features).

        Returns:
            Probabilities (n, k), in the order of `classes_`.
        """
        chances: np.ndarray = self._said(predict.outputs, _chances, self._inputs(X))
        return chances

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba`, which stays finite.

        Args:
            X: features, (n, n_features).

        Returns:
            Log-probabilities (n, k).
        """
        logs: np.ndarray = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return logs

    def predict_entropy(self, X: Any) -> Entropy:
        """The entropy of the prediction in two parts, in nats.

        Args:
            X: features, (n, n_features).

        Returns:
            `aleatoric`, overlap of the classes that no data would remove, and `epistemic`, doubt
            about the network that more data would; each (n,).
        """
        return Entropy(*self._said(predict.outputs, _entropies, self._inputs(X)))

    def log_predictive(self, X: Any, y: Any) -> np.ndarray:
        """The log-probability of y under the mixture of all networks.

        Args:
            X: features, (n, n_features).
            y: n labels.

        Returns:
            One value for each row.
        """
        check_is_fitted(self)
        X, y = validated(self, X, y, reset=False)
        return self._log_density(X, self._places(y))

    def _log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self._log_predictive(self._prepared(X), y)

    def _log_predictive(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self._log_densities(x, y, np.ones(1))[0]  # by the program of `predict_proba`

    def _log_densities(self, x: np.ndarray, y: np.ndarray, sharpness: np.ndarray) -> np.ndarray:
        """If outputs were multiplied with each of these numbers: (T, n)."""

        def each(outputs: np.ndarray) -> np.ndarray:
            return np.stack([_chances(number * outputs) for number in sharpness], axis=1)

        chances = self._said(predict.outputs, each, x)[np.arange(len(y)), :, y.astype(int)]
        logs: np.ndarray = np.log(np.maximum(chances.T, np.finfo(np.float64).tiny))
        return logs

    def _settle(self, rows: Rows, num_steps: int, most_steps: int, rng: Any) -> int:
        found = stacking.settled(self, CANDIDATES, rows, num_steps, rng)
        self.prior_shares_, self.sharpness_ = found
        self._candidate = CANDIDATES[self.prior_shares_.argmax()]
        return num_steps  # more hardly pay

    def _shares(self, fresh: bool) -> dict[Candidate, float]:
        order = np.argsort(-self.prior_shares_, kind="stable")[: None if fresh else 1]
        return {CANDIDATES[k]: float(s) for k in order if (s := self.prior_shares_[k]) > 0.0}

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

    def _class_weights(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if self.class_weight is None:
            return weights
        by_class: np.ndarray = compute_sample_weight(self.class_weight, y)
        return weights * by_class

    def _outputs(self) -> tuple[int, likelihoods.Likelihood]:
        return len(self.classes_), likelihoods.categorical()


def _chances(outputs: np.ndarray) -> np.ndarray:
    mean: np.ndarray = _softmax(outputs).mean(0)
    return mean


def _softmax(outputs: np.ndarray) -> np.ndarray:
    """Over the last axis. Where classes are few, column by column: NumPy's sums over so short an
    axis take several times as long."""
    if outputs.shape[-1] > FEW_CLASSES:
        found: np.ndarray = softmax(outputs, axis=-1)
        return found
    columns = np.moveaxis(outputs, -1, 0)
    raised = np.exp(columns - functools.reduce(np.maximum, columns))
    return np.moveaxis(raised / functools.reduce(np.add, raised), 0, -1)


def _entropies(outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    chances = _softmax(outputs)
    aleatoric = -xlogy(chances, chances).sum(2).mean(0)
    mean = chances.mean(0)
    return aleatoric, np.maximum(-xlogy(mean, mean).sum(1) - aleatoric, 0.0)
