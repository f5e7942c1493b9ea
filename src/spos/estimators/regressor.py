"""Regression with intervals.

Each of S networks says y ~ N(μ_s(x), σ_s²(x)), and the prediction is their mixture. Its variance
has two parts, noise that no data would remove and doubt about the network that more data would:

    Var y  =  (1/S) Σ_s σ_s²      +  (1/S) Σ_s (μ_s - μ̄)²
              aleatoric              epistemic
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from spos import checks
from spos.estimators import programs
from spos.estimators.base import NetworkEstimator

HALVINGS = 50  # of the bracket of a quantile


class Variance(NamedTuple):
    aleatoric: np.ndarray
    epistemic: np.ndarray


class SPOSRegressor(RegressorMixin, NetworkEstimator):
    """A Bayesian neural network for numbers.

    The defaults are made for tables of 100 to 50,000 rows. Features and target are standardised
    inside, by the rows that are learnt from.

    Args:
        hidden: widths of the hidden layers (relu); () is a linear model.
        noise: "constant", one unknown size everywhere, or "heteroscedastic", learnt as a function
            of the features.
        n_particles: networks that are sampled together.
        method: "spos", "svgd", "sgld", "psgld", … (`spos.estimators.methods.METHODS`).
        beta: 1/β is the weight of Langevin drift and noise, in "spos" and "pos".
        step_size: of the first steps; it falls to a tenth along half a cosine. By default it is the
            method's own, less for wide networks.
        num_steps: at most. By default 40 passes over the rows, but between 2,000 and 20,000 steps.
        batch_size: rows in a step.
        average: predict with the particles of so many looks at the held-out rows (there are 50 in a
            whole run), not only with the last.
        validation_fraction: share of the rows that are held out to choose when to stop, 500 rows at
            most; none below 50 rows. 0 learns from all rows and takes all steps.
        patience: looks without a better prediction of the held-out rows before a run ends.
        warm_start: `fit` goes on from the particles and the scaling it has.
        random_state: as in scikit-learn; the same number gives the same bits.
        progress: show a progress line; by default only on a terminal.
    """

    _numbers = True

    def __init__(
        self,
        hidden=(50,),
        *,
        noise="constant",
        n_particles=20,
        method="spos",
        beta=10.0,
        step_size=None,
        num_steps=None,
        batch_size=100,
        average=5,
        validation_fraction=0.1,
        patience=10,
        warm_start=False,
        random_state=None,
        progress=None,
    ):
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
        """One pass over new rows, at a constant step. They count as new each time they come, and
        stand for all rows seen so far; the first call sets the scaling."""
        return self._more(X, y, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of y, and on request its standard deviation, noise included."""
        if not return_std:
            return self._moments(X, lambda mean, variance: mean.mean(0)) * self._unit + self._centre
        mean, aleatoric, epistemic = self._moments(X, _mean_and_variances)
        return (
            mean * self._unit + self._centre,
            np.sqrt(aleatoric + epistemic) * self._unit,
        )

    def predict_variance(self, X: Any) -> Variance:
        """The variance of y in two parts: noise, and doubt about the network."""
        _, aleatoric, epistemic = self._moments(X, _mean_and_variances)
        return Variance(aleatoric * self._unit**2, epistemic * self._unit**2)

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends between which a new y lies with probability `level`, with equal
        chances below and above."""
        if not checks.fraction("level", level) > 0:
            raise ValueError(f"level must be a number in (0, 1), got {level!r}")
        tail = (1.0 - level) / 2.0
        low, high = self._moments(
            X, lambda *parts: (_quantile(tail, *parts), _quantile(1.0 - tail, *parts))
        )
        return low * self._unit + self._centre, high * self._unit + self._centre

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draws of y, one column each, (n, n_samples); a column is one network with its noise."""
        check_is_fitted(self)
        rng = check_random_state(random_state)
        networks = len(self.particles_["weights"]["b0"])
        chosen = rng.randint(networks, size=checks.whole("n_samples", n_samples))
        mean, deviation = self._moments(
            X, lambda mean, variance: (mean[chosen].T, np.sqrt(variance[chosen]).T)
        )
        return (mean + deviation * rng.normal(size=mean.shape)) * self._unit + self._centre

    def log_predictive(self, X: Any, y: Any) -> np.ndarray:
        """The log-density of y given X under the mixture, for each row."""
        check_is_fitted(self)
        X, y = validate_data(self, X, y, dtype=np.float64, reset=False, y_numeric=True)
        return self._log_predictive(self.scaling_.inputs(X), self.scaling_.targets(y))

    def _moments(self, X: Any, summary: Callable[..., Any]) -> Any:
        return self._by_blocks(programs.moments, summary, self._inputs(X))

    @property
    def _centre(self) -> float:
        return self.scaling_.y_centre

    @property
    def _unit(self) -> float:
        return self.scaling_.y_unit

    def _encode(self, y: np.ndarray, known: bool) -> np.ndarray:
        return np.asarray(y, np.float64)

    def _outputs(self) -> tuple[int, str]:
        checks.one_of("noise", self.noise, ("constant", "heteroscedastic"))
        return 1 if self.noise == "constant" else 2, self.noise


def _mean_and_variances(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, ...]:
    return mean.mean(0), variance.mean(0), mean.var(0)


def _quantile(level: float, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Of the mixture, by halving: it lies between those of its parts."""
    deviation = np.sqrt(variance)
    own = mean + ndtri(level) * deviation
    low, high = own.min(0), own.max(0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = ndtr((middle - mean) / deviation).mean(0) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)
