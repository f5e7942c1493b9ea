"""Regression with intervals.

Each of S networks says y ~ N(μ_s(x), σ_s²(x)), and the prediction is their mixture. Its variance
has two parts, noise that no data would remove and doubt about the network that more data would:

    Var y  =  (1/S) Σ_s σ_s²      +  (1/S) Σ_s (μ_s - μ̄)²
              aleatoric              epistemic
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from spos import checks
from spos.estimators.base import NetworkEstimator
from spos.networks import predict
from spos.targets import likelihoods

HALVINGS = 50  # of the bracket of a quantile
LARGEST = 1e150


class Variance(NamedTuple):
    """Of y, by its origin: noise, and doubt about the network."""

    aleatoric: np.ndarray
    epistemic: np.ndarray


class SPOSRegressor(RegressorMixin, NetworkEstimator):  # type: ignore[misc]
    """A Bayesian neural network for numbers.

    The defaults are made for tables of 100 to 50,000 rows. Features and target are standardised
    inside, by the training set.

    Args:
        hidden: widths of the hidden layers (relu); () is a linear model.
        noise: "constant", one unknown size everywhere, or "heteroscedastic", learnt as a function
            of the features.
        n_particles: networks that are sampled together.
        method: "spos", "svgd", "sgld", "psgld", … (`spos.networks.methods.METHODS`).
        beta: 1/β is the weight of Langevin drift and noise, in "spos" and "pos".
        step_size: of the first steps; it falls to a tenth along half a cosine. By default it is the
            method's own, less for wide networks.
        num_steps: at most. By default 40 epochs, but between 2,000 and 20,000 steps.
        batch_size: rows in a step.
        average: predict with the particles of so many evaluations of the validation set (there are
            50 in a whole run), not only with the last.
        validation_fraction: share of the rows in the validation set, by which training stops early;
            500 rows at most, and none below 50 rows. 0 trains on all rows and takes all steps.
        patience: evaluations without a better prediction of the validation set before training
            stops.
        warm_start: `fit` goes on from the particles and the scaling it has.
        random_state: as in scikit-learn; the same number gives the same bits.
        progress: show a progress line; by default only on a terminal.

    Example:
        >>> X = np.linspace(-1.0, 1.0, 100)[:, None]
        >>> model = spos.SPOSRegressor((20,), n_particles=5, num_steps=300, random_state=0)
        >>> mean, std = model.fit(X, 2.0 * X[:, 0]).predict(X, return_std=True)
        >>> mean.shape, bool(model.score(X, 2.0 * X[:, 0]) > 0.9)
        ((100,), True)
    """

    _numbers = True

    def __init__(
        self,
        hidden: Iterable[int] = (50,),
        *,
        noise: str = "constant",
        n_particles: int = 20,
        method: str = "spos",
        beta: float = 10.0,
        step_size: float | None = None,
        num_steps: int | None = None,
        batch_size: int = 100,
        average: int = 5,
        validation_fraction: float = 0.1,
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
        self.noise = noise

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """One epoch on new rows, at a constant step.

        They count as new each time they come, and stand for all rows seen so far. The first call
        sets the scaling.

        Args:
            X: features, (n, n_features).
            y: n numbers.
            sample_weight: how often each row counts.

        Returns:
            The estimator itself.
        """
        return self._more(X, y, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of y.

        Args:
            X: features, (n, n_features).
            return_std: give the standard deviation of y too, noise included.

        Returns:
            The mean, (n,), or a tuple of it and the standard deviation.
        """
        if not return_std:
            return self._moments(X, lambda mean, variance: mean.mean(0)) * self._unit + self._centre
        mean, aleatoric, epistemic = self._moments(X, _mean_and_variances)
        return (
            mean * self._unit + self._centre,
            np.sqrt(aleatoric + epistemic) * self._unit,
        )

    def predict_variance(self, X: Any) -> Variance:
        """The variance of y in two parts.

        Args:
            X: features, (n, n_features).

        Returns:
            `aleatoric`, noise that no data would remove, and `epistemic`, doubt about the network
            that more data would; each (n,).
        """
        _, aleatoric, epistemic = self._moments(X, _mean_and_variances)
        return Variance(aleatoric * self._unit**2, epistemic * self._unit**2)

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Between which ends a new y lies, with equal chances below and above.

        Args:
            X: features, (n, n_features).
            level: the probability that it does, in (0, 1).

        Returns:
            The lower and the upper ends, each (n,).

        Raises:
            ValueError: `level` is out of range.
        """
        if not checks.fraction("level", level) > 0:
            raise ValueError(f"level must be a number in (0, 1), got {level!r}")
        tail = (1.0 - level) / 2.0
        low, high = self._moments(
            X, lambda *parts: (_quantile(tail, *parts), _quantile(1.0 - tail, *parts))
        )
        return low * self._unit + self._centre, high * self._unit + self._centre

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draws of y. One draw is one network, with noise of its own at each row.

        Args:
            X: features, (n, n_features).
            n_samples: how many draws.
            random_state: as in scikit-learn.

        Returns:
            The draws, one column each: (n, n_samples).
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        networks = len(self.particles_["weights"]["b0"])
        chosen = rng.randint(networks, size=checks.whole("n_samples", n_samples))
        mean, deviation = self._moments(
            X, lambda mean, variance: (mean[chosen].T, np.sqrt(variance[chosen]).T)
        )
        drawn: np.ndarray = mean + deviation * rng.normal(size=mean.shape)
        return drawn * self._unit + self._centre

    def log_predictive(self, X: Any, y: Any) -> np.ndarray:
        """The log-density of y under the mixture of all networks.

        Args:
            X: features, (n, n_features).
            y: n numbers.

        Returns:
            One value for each row.
        """
        check_is_fitted(self)
        X, y = validate_data(self, X, y, dtype=np.float64, reset=False, y_numeric=True)
        return self._log_predictive(self.scaling_.inputs(X), self.scaling_.targets(y))

    def _moments(self, X: Any, summary: Callable[..., Any]) -> Any:
        return self._said(predict.moments, summary, self._inputs(X))

    @property
    def _centre(self) -> float:
        return self.scaling_.y_centre

    @property
    def _unit(self) -> float:
        return self.scaling_.y_unit

    def _encode(self, y: np.ndarray, known: bool) -> np.ndarray:
        y = np.asarray(y, np.float64)
        largest = np.abs(y).max()
        if largest > LARGEST:
            raise ValueError(
                f"y must be numbers up to {LARGEST:.0e}, whose variance float64 can hold, got "
                f"{largest:.3g}: use other units"
            )
        return y

    def _outputs(self) -> tuple[int, likelihoods.Likelihood]:
        checks.one_of("noise", self.noise, ("constant", "heteroscedastic"))
        if self.noise == "constant":
            return 1, likelihoods.gaussian()
        return 2, likelihoods.heteroscedastic()


def _mean_and_variances(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, ...]:
    return mean.mean(0), variance.mean(0), mean.var(0)


def _quantile(level: float, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Of the mixture, by halving: it lies between those of its parts."""
    deviation = np.sqrt(variance)
    own = mean + ndtri(level) * deviation
    low, high = own.min(0), own.max(0)
    for _ in range(HALVINGS):
        centre = 0.5 * (low + high)
        below = ndtr((centre - mean) / deviation).mean(0) < level
        low, high = np.where(below, centre, low), np.where(below, high, centre)
    middle: np.ndarray = 0.5 * (low + high)
    return middle
