"""What both estimators share: rows in, networks out.

A fit standardises, sets a validation set apart, trains Bayesian networks (`spos.networks.trainer`)
and keeps those that predict the validation set best.
"""

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import jax
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from spos import checks
from spos.estimators import saved, stacking, streamed, useful
from spos.estimators.stacking import Candidate
from spos.estimators.validation import validated
from spos.networks import predict
from spos.networks.looks import pooled
from spos.networks.rows import (
    Rows,
    Scaling,
    merged,
    pad_columns,
    padded,
    round_columns,
    scaled,
    scaling_of,
)
from spos.networks.trainer import Setting, Trained, first_networks, train
from spos.targets import bnn, priors
from spos.targets.layers import relu_network
from spos.targets.likelihoods import Likelihood
from spos.targets.network import BayesianNetwork
from spos.types import Particles

EPOCHS, FEWEST_STEPS, MOST_STEPS = 40, 2000, 20_000  # where num_steps is left open
SMALL_EPOCHS, SMALL_STEPS = 250, 1200  # of tables for which the fewest steps are still too many
STEPS_IN_PART = 500  # at least, of `partial_fit`
FIRST_ROWS = 64  # tell how large the first errors are


class NetworkEstimator(saved.Storable, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A sampled Bayesian network with scikit-learn's manners."""

    def __init__(
        self,
        hidden: Iterable[int],
        *,
        n_particles: int,
        method: str = "spos",
        beta: float,
        step_size: float | None = None,
        num_steps: int | None = None,
        batch_size: int = 100,
        average: int,
        validation_fraction: float,
        patience: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.hidden = hidden
        self.n_particles = n_particles
        self.method = method
        self.beta = beta
        self.step_size = step_size
        self.num_steps = num_steps
        self.batch_size = batch_size
        self.average = average
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state
        self.progress = progress

    _numbers: ClassVar[bool]  # are targets numbers, or classes?
    _linear: ClassVar[bool] = False  # is there a linear connection beside the hidden layers?
    _step_share: float = 1.0  # of the method's own step
    _candidate = Candidate(5.0)  # what is sampled at present
    sharpness_: float = 1.0  # outputs of networks are multiplied with it
    n_features_in_: int
    n_iter_: int
    n_rows_seen_: float
    scaling_: Scaling
    particles_: Particles
    validation_scores_: np.ndarray

    def _encode(self, y: np.ndarray, known: bool) -> np.ndarray:
        """Targets as numbers: themselves, or the place of a class, if classes are `known`."""
        raise NotImplementedError

    def _outputs(self) -> tuple[int, Likelihood]:
        """How many outputs the network has, and what they mean."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the posterior.

        Args:
            X: features, (n, n_features); larger than memory too (`spos.estimators.streamed`).
            y: targets, n of them.
            sample_weight: how often each row counts; a row of weight 2 counts like two equal rows.

        Returns:
            The estimator itself.

        Raises:
            spos.NonFiniteError: the step was too large; the estimator is then not fitted.
        """
        fresh = not (self.warm_start and hasattr(self, "particles_"))
        if fresh and hasattr(self, "particles_"):
            del self.particles_  # should this fit fail, none is left
        rows = self._rows(X, y, sample_weight, fresh, known=not fresh)
        rng = check_random_state(self.random_state)
        fraction = checks.fraction("validation_fraction", self.validation_fraction)
        training, validation = streamed.split(rows, fraction, rng)
        seen = streamed.some(training, rng)
        num_steps = self._num_steps(len(training.y))
        if fresh:
            most = MOST_STEPS if self.num_steps is None else num_steps
            num_steps = self._settle(streamed.some(rows, rng), num_steps, most, rng)
            self.scaling_ = self._scaling(seen)
            self.n_iter_ = 0
        self.n_rows_seen_ = training.total
        before, runs = self.n_iter_, []
        shares = self._shares(fresh)
        for self._candidate in shares:
            self.n_iter_ = before
            trained = self._train(
                training,
                num_steps,
                fresh,
                int(rng.randint(2**31 - 1)),
                last_step=0.1,
                validation=validation,
                patience=self.patience,
                average=self.average,
            )
            runs.append(trained)
            if trained.interrupted:
                break
        self.n_iter_ = before + runs[0].num_steps
        pool = stacking.mixed([run.particles for run in runs], [*shares.values()])
        self.particles_ = stacking.sharpened(pool, self.sharpness_)
        self.validation_scores_ = np.asarray(runs[0].scores)
        useful.warn_if_not(self, seen, validation)
        return self

    def _shares(self, fresh: bool) -> dict[Candidate, float]:
        """What is sampled, and its share in the predictions, the largest first."""
        return {self._candidate: 1.0}

    def _settle(self, rows: Rows, num_steps: int, most_steps: int, rng: Any) -> int:
        """Decide what was left open, and give the number of steps."""
        raise NotImplementedError

    def _num_steps(self, rows: int) -> int:
        if self.num_steps is not None:
            return checks.whole("num_steps", self.num_steps)
        batches = rows / checks.whole("batch_size", self.batch_size)
        fewest = min(max(math.ceil(SMALL_EPOCHS * batches), SMALL_STEPS), FEWEST_STEPS)
        return min(max(math.ceil(EPOCHS * batches), fewest), MOST_STEPS)

    def _more(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Steps on rows that join those seen before, which they stand for."""
        fresh = not hasattr(self, "particles_")
        rows = self._rows(X, y, sample_weight, fresh, known=not fresh or not self._numbers)
        rng = check_random_state(self.random_state)
        if fresh:
            self.n_iter_, self.n_rows_seen_ = 0, 0.0
            seen = streamed.some(rows, rng)
            num_steps = self._num_steps(len(rows.y))
            self._settle(seen, num_steps, num_steps, rng)
            first = self._scaling(seen)
            # what does not vary in the first rows may do so in later ones
            unit = np.where(np.isinf(first.x_unit), 1.0, first.x_unit)
            self.scaling_ = first._replace(x_unit=unit)
            self.n_iter_ = 0
        self._candidate = next(iter(self._shares(fresh=False)))
        new = rows.total
        rows = rows.counted((self.n_rows_seen_ + new) / new)
        epoch = math.ceil(len(rows.y) / checks.whole("batch_size", self.batch_size))
        num_steps, seed = epoch * math.ceil(STEPS_IN_PART / epoch), int(rng.randint(2**31 - 1))
        trained = self._train(rows, num_steps, fresh, seed, last_step=None, average=1)
        earlier = [] if fresh else [self.particles_]
        most = checks.whole("average", self.average) * self.n_particles
        pool = pooled([*earlier, trained.particles])
        self.particles_ = jax.tree.map(lambda leaf: leaf[-most:], pool)
        self.n_rows_seen_ += new
        return self

    def _rows(self, X: Any, y: Any, sample_weight: Any, fresh: bool, known: bool) -> Rows:
        checks.no_mask("sample_weight", sample_weight)
        if streamed.is_source(X):
            return streamed.rows_of(self, X, y, sample_weight, fresh, known)
        X, y = validated(
            self,
            X,
            y,
            reset=fresh,
            ensure_min_samples=2 if fresh else 1,
            y_numeric=self._numbers,
            multi_output=self._numbers,
        )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weights = self._class_weights(y, weights)
        counts = weights > 0
        if not counts.any():
            raise ValueError("sample_weight must be above 0 for at least one row, got zeros alone")
        return merged(Rows(X[counts], self._encode(y[counts], known), weights[counts]))

    def _class_weights(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """How often a row counts, its class considered."""
        return weights

    def _scaling(self, rows: Rows) -> Scaling:
        """The networks' units, by the training set."""
        return scaling_of(rows, self._numbers, robust=True)

    def _scaled(self, rows: Rows) -> Rows:
        rows = scaled(self.scaling_, rows, self._numbers)
        return rows._replace(x=pad_columns(rows.x))

    def _train(
        self,
        rows: Rows,
        num_steps: int,
        fresh: bool,
        seed: int,
        *,
        last_step: float | None,
        average: int,
        validation: Rows | None = None,
        patience: int | None = None,
        looks: int = 50,
    ) -> Trained:
        network, count = self._network(), checks.whole("n_particles", self.n_particles)
        read = isinstance(rows.x, streamed.Inputs)
        rows = streamed.scaled_rows(self, rows) if read else padded(self._scaled(rows))
        validation = None if validation is None else self._scaled(validation)
        if fresh:
            few = np.arange(min(FIRST_ROWS, len(rows.y)))
            first = rows.x[few], rows.y[few]
            start = first_networks(network, count, jax.random.key(seed), *first)
        else:
            start = saved.last(self.particles_, network, count)
        trained = train(
            network,
            rows,
            Setting(
                self.method,
                self.step_size,
                last_step,
                self._candidate.colder * checks.positive("beta", self.beta),
                batch_size=self.batch_size,
                step_share=self._step_share,
            ),
            num_steps,
            start=start,
            seed=(seed + self.n_iter_) % 2**32,  # a run that goes on has noise of its own
            validation=validation,
            patience=patience,
            looks=looks,
            average=average,
            quick=True,
            progress=self.progress,
        )
        self.n_iter_ += trained.num_steps
        if trained.interrupted:
            warnings.warn(
                f"interrupted after {trained.num_steps} of {num_steps} steps; what was found so "
                "far is kept",
                stacklevel=3,
            )
        return trained

    def _network(self) -> BayesianNetwork:
        if isinstance(self.hidden, str) or not isinstance(self.hidden, Iterable):
            raise TypeError(
                f"hidden must be the widths of the hidden layers, for example (50,), "
                f"got {self.hidden!r}"
            )
        outputs, likelihood = self._outputs()
        inputs = round_columns(self.n_features_in_)
        hidden = tuple(self.hidden)
        plain = relu_network(inputs, outputs, hidden, self._linear and hidden != ())
        prior = priors.normal(full_width=self._candidate.width)
        return bnn(plain, likelihood=likelihood, prior=prior)

    def _inputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._prepared(validated(self, X, reset=False))

    def _prepared(self, X: np.ndarray) -> np.ndarray:
        """X as the networks see it."""
        return pad_columns(self.scaling_.inputs(X))

    def _said(
        self, program: predict.Program, summary: Callable[..., Any], *rows: np.ndarray
    ) -> Any:
        """`summary` of what the networks say of rows in their units."""
        return predict.by_blocks(
            program,
            self._network(),
            self.particles_,
            *rows,
            summary=summary,
            at_once=checks.whole("n_particles", self.n_particles),
        )

    def _log_predictive(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        log_density: np.ndarray = self._said(predict.log_terms, predict.mixture, x, y)
        return log_density

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "particles_")
