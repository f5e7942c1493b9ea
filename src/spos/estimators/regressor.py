"""Regression with intervals.

Each of S networks says that y has mean μ_s(x) and variance σ_s²(x), as a Gaussian or a Student t,
and the prediction is their mixture (`mixture.py`). Its variance has two parts, noise that no data
would remove and doubt about the network that more data would:

    Var y  =  (1/S) Σ_s σ_s²      +  (1/S) Σ_s (μ_s - μ̄)²
              aleatoric              epistemic
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from spos import checks
from spos.estimators import choice, mixture, plot
from spos.estimators.base import NetworkEstimator
from spos.estimators.choice import AUTO, NOISES, TRANSFORMS
from spos.estimators.validation import validated
from spos.networks import predict
from spos.networks.rows import Rows, Scaling, scaling_of
from spos.targets import likelihoods

VARYING_STEP = 2 / 3  # of the method's own: a log-variance that depends on x is steep
LARGEST = 1e150


class Variance(NamedTuple):
    """Of y, by its origin: noise, and doubt about the network."""

    aleatoric: np.ndarray
    epistemic: np.ndarray


class SPOSRegressor(RegressorMixin, NetworkEstimator):  # type: ignore[misc]
    """A Bayesian neural network for numbers.

    The defaults are made for tables of 100 to 50,000 rows. Features and target are standardised
    inside, by the training set, and outliers among features drawn near. y may have several columns.

    Args:
        hidden: widths of the hidden layers (relu); () is a linear model.
        noise: "constant", one unknown size everywhere; "heteroscedastic", learnt as a function of
            the features; or "student_t", which has heavy tails as well. "auto" takes the one under
            which rows that short runs did not see are likeliest; `noise_` tells which.
        target_transform: "none" or "yeo_johnson", for skewed outcomes; "auto" chooses likewise.
        n_particles: networks that are sampled together.
        method: "spos", "svgd", "sgld", "psgld", … (`spos.networks.methods.METHODS`).
        beta: 1/β is the weight of Langevin drift and noise, in "spos" and "pos".
        step_size: of the first steps; it falls to a tenth along half a cosine. By default it is the
            method's own, less for wide networks.
        num_steps: at most. By default 40 epochs, but 2,000 to 20,000 steps, or 1,200 for few rows;
            they are doubled, up to 20,000, as long as short runs with more are clearly better.
        batch_size: rows in a step.
        average: predict with the particles of so many evaluations of the validation set (there are
            50 in a whole run), not only with the last.
        validation_fraction: share of the rows in the validation set, by which training stops early;
            500 rows at most, and none below 50 rows. 0 trains on all rows and takes all steps.
        patience: evaluations without a better prediction of the validation set before training
            stops, in the second half of the steps.
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
    n_outputs_: int
    noise_: str
    target_transform_: str

    def __init__(
        self,
        hidden: Iterable[int] = (20, 20),
        *,
        noise: str = AUTO,
        target_transform: str = AUTO,
        n_particles: int = 15,
        method: str = "spos",
        beta: float = 7.5,
        step_size: float | None = None,
        num_steps: int | None = None,
        batch_size: int = 100,
        average: int = 7,
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
        self.target_transform = target_transform

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Whole epochs on new rows, 500 steps at least, at a constant step.

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
            The mean, (n,) or (n, n_outputs), or a tuple of it and the standard deviation.
        """
        mean, aleatoric, epistemic = self._said_of(X, self._moments)
        return (mean, np.sqrt(aleatoric + epistemic)) if return_std else mean

    def predict_variance(self, X: Any) -> Variance:
        """The variance of y in two parts.

        Args:
            X: features, (n, n_features).

        Returns:
            `aleatoric`, noise that no data would remove, and `epistemic`, doubt about the network
            that more data would; each like a prediction.
        """
        _, aleatoric, epistemic = self._said_of(X, self._moments)
        return Variance(aleatoric, epistemic)

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> np.ndarray:
        """What y is below with these probabilities.

        Args:
            X: features, (n, n_features).
            quantiles: the probabilities, each in (0, 1).

        Returns:
            A column for each quantile: (n, len(quantiles)), or (n, n_outputs, len(quantiles)).
        """
        levels = np.atleast_1d(np.asarray(quantiles, np.float64))
        if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"quantiles must be numbers in (0, 1), got {quantiles!r}")
        found = self._said_of(
            X, lambda *law: tuple(self._back(mixture.quantile(p, *law)) for p in levels)
        )
        return np.stack(found, axis=-1)

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Between which ends a new y lies, with equal chances below and above.

        Args:
            X: features, (n, n_features).
            level: the probability that it does, in (0, 1).

        Returns:
            The lower and the upper ends, each like a prediction.
        """
        if not checks.fraction("level", level) > 0:
            raise ValueError(f"level must be a number in (0, 1), got {level!r}")
        tail = (1.0 - level) / 2.0
        ends = self.predict_quantiles(X, (tail, 1.0 - tail))
        return ends[..., 0], ends[..., 1]

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draws of y. One draw is one network, with noise of its own at each row.

        Args:
            X: features, (n, n_features).
            n_samples: how many draws.
            random_state: as in scikit-learn.

        Returns:
            The draws, one column each: (n, n_samples), or (n, n_outputs, n_samples).
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        networks = len(self.particles_["weights"]["b0"])
        chosen = rng.randint(networks, size=checks.whole("n_samples", n_samples))

        def drawn(*law: np.ndarray) -> np.ndarray:
            return np.moveaxis(self._back(mixture.draw(rng, *(one[chosen] for one in law))), 0, -1)

        return self._said_of(X, drawn)

    def plot(
        self, X: Any, y: Any = None, feature: int = 0, level: float = 0.9, axes: Any = None
    ) -> Any:
        """The prediction along one feature, with bands of outcomes and of doubt about the mean.

        Args:
            X: features, (n, n_features). All but one are held at their medians.
            y: outcomes, which are shown as points.
            feature: the column that varies.
            level: the probability that an outcome lies in the wide band.
            axes: of matplotlib, to draw on; by default new ones.

        Returns:
            The axes.
        """
        return plot.bands(self, X, y, feature, level, axes)

    def log_predictive(self, X: Any, y: Any) -> np.ndarray:
        """The log-density of y under the mixture of all networks.

        Args:
            X: features, (n, n_features).
            y: n numbers, or n rows of them.

        Returns:
            One value for each row.
        """
        check_is_fitted(self)
        X, y = validated(self, X, y, reset=False, y_numeric=True, multi_output=True)
        return self._log_density(X, self._encode(y, known=True))

    def _log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        terms = self._log_predictive(self._prepared(X), self.scaling_.targets(y))
        return terms + self.scaling_.log_slope(y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _said_of(self, X: Any, summary: Callable[..., Any]) -> Any:
        """`summary` of the law of each outcome by each network; see `mixture`."""
        return self._said(predict.laws, summary, self._inputs(X))

    def _moments(
        self, place: np.ndarray, scale: np.ndarray, heaviness: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        variance = scale**2 / (1.0 - 2.0 * heaviness)
        mean, variance = self.scaling_.moments(self._flat(place), self._flat(variance))
        return mean.mean(0), variance.mean(0), mean.var(0)

    def _back(self, scaled: np.ndarray) -> np.ndarray:
        return self.scaling_.outcomes(self._flat(scaled))  # in the units of y

    def _flat(self, parts: np.ndarray) -> np.ndarray:
        """Without the axis of outcomes, if y has none."""
        return parts if self.n_outputs_ > 1 else parts[..., 0]

    def _encode(self, y: np.ndarray, known: bool) -> np.ndarray:
        y = np.asarray(y, np.float64)
        count = 1 if y.ndim == 1 else y.shape[1]
        y = y[:, 0] if y.ndim == 2 and count == 1 else y
        if not known:
            self.n_outputs_ = count
        elif count != self.n_outputs_:
            raise ValueError(f"y must have {self.n_outputs_} outcomes a row, got {count}")
        if (largest := np.abs(y).max()) > LARGEST:
            limit = f"up to {LARGEST:.0e}, whose variance float64 can hold"
            raise ValueError(f"y must be numbers {limit}, got {largest:.3g}: use other units")
        return y

    def _outputs(self) -> tuple[int, likelihoods.Likelihood]:
        return 2 * self.n_outputs_, likelihoods.location_scale(*NOISES[self.noise_])

    def _scaling(self, rows: Rows) -> Scaling:
        bent = self.target_transform_ == "yeo_johnson"
        return scaling_of(rows, True, robust=True, transform=bent)

    @property
    def _step_share(self) -> float:  # type: ignore[override]
        return VARYING_STEP if NOISES[self.noise_][0] else 1.0

    def _settle(self, rows: Rows, num_steps: int, most_steps: int, rng: Any) -> int:
        bends = choice.asked("target_transform", self.target_transform, TRANSFORMS)
        choices = {"target_transform_": bends, "noise_": choice.asked("noise", self.noise, NOISES)}
        return choice.settle(self, choices, rows, num_steps, most_steps, rng)
