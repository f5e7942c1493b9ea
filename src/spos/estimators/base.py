"""What both estimators share: rows in, particles out.

A fit standardises, holds a part of the rows out, samples the posterior of a network with
`spos.sample` and keeps the particles that predict the held-out rows best (`watch.py`).
"""

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Self

import jax
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from spos import checks
from spos.estimators import programs, saved
from spos.estimators.methods import method_called
from spos.estimators.rows import Rows, merged, scaling_of, split, with_room
from spos.estimators.watch import Watch, mixture, pooled
from spos.loop.sample import sample
from spos.targets.network import BayesianNetwork
from spos.types import Particles

EPOCHS, FEWEST_STEPS, MOST_STEPS = 40, 2000, 20_000  # where num_steps is left open
FEW = 64  # rows that tell how large the first errors are
LOOKS = 50  # at the held-out rows, in a whole run


class NetworkEstimator(BaseEstimator):
    """A sampled Bayesian network with scikit-learn's manners."""

    def __init__(
        self,
        hidden=(50,),
        *,
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

    _numbers: bool  # are targets numbers, or classes?
    particles_: Particles

    def _encode(self, y: np.ndarray, known: bool) -> np.ndarray:
        """Targets as numbers: themselves, or the place of a class, if classes are `known`."""
        raise NotImplementedError

    def _outputs(self) -> tuple[int, str]:
        """How many outputs the network has, and of which likelihood."""
        raise NotImplementedError

    def _form(self) -> programs.Form:
        return programs.Form(self.n_features_in_, self._layers(), *self._outputs())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the posterior. A row of weight 2 counts like two equal rows."""
        fresh = not (self.warm_start and hasattr(self, "particles_"))
        if fresh and hasattr(self, "particles_"):
            del self.particles_  # should this fit fail, none is left
        rows = self._rows(X, y, sample_weight, fresh, known=not fresh)
        rng = check_random_state(self.random_state)
        share = checks.fraction("validation_fraction", self.validation_fraction)
        learnt, held_out = split(rows, share, rng)
        if fresh:
            self.scaling_ = scaling_of(learnt, self._numbers)
            self.n_iter_ = 0
        self.n_rows_seen_ = float(learnt.weights.sum())
        num_steps = self.num_steps
        if num_steps is None:
            epochs = math.ceil(EPOCHS * len(learnt.y) / checks.whole("batch_size", self.batch_size))
            num_steps = min(max(epochs, FEWEST_STEPS), MOST_STEPS)
        checks.whole("num_steps", num_steps)
        watch = Watch(
            self._network(),
            checks.whole("average", self.average),
            None if held_out is None else self._scaled(held_out),
            checks.whole("patience", self.patience),
        )
        seed = int(rng.randint(2**31 - 1))
        particles = self._sample(learnt, num_steps, True, fresh, seed, watch)
        self.particles_ = watch.pool(particles)
        self.validation_scores_ = np.asarray(watch.scores) - math.log(self.scaling_.y_unit)
        return self

    def _more(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """One pass over rows that join those seen before, which they stand for."""
        fresh = not hasattr(self, "particles_")
        rows = self._rows(X, y, sample_weight, fresh, known=True)
        if fresh:
            self.scaling_ = scaling_of(rows, self._numbers)
            self.n_iter_, self.n_rows_seen_ = 0, 0.0
        new = float(rows.weights.sum())
        rows = rows._replace(weights=rows.weights * ((self.n_rows_seen_ + new) / new))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        watch = Watch(self._network(), 1, None, 1)
        num_steps = math.ceil(len(rows.y) / checks.whole("batch_size", self.batch_size))
        last = self._sample(rows, num_steps, False, fresh, seed, watch)
        earlier = [] if fresh else [self.particles_]
        most = checks.whole("average", self.average) * self.n_particles
        pool = pooled([*earlier, watch.pool(last)])
        self.particles_ = jax.tree.map(lambda leaf: leaf[-most:], pool)
        self.n_rows_seen_ += new
        return self

    def _rows(self, X: Any, y: Any, sample_weight: Any, fresh: bool, known: bool) -> Rows:
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            reset=fresh,
            ensure_min_samples=2 if fresh else 1,
            y_numeric=self._numbers,
        )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        counts = weights > 0
        if not counts.any():
            raise ValueError("sample_weight must be above 0 for at least one row, got zeros alone")
        return merged(Rows(X[counts], self._encode(y[counts], known), weights[counts]))

    def _scaled(self, rows: Rows) -> Rows:
        y = self.scaling_.targets(rows.y) if self._numbers else rows.y.astype(np.int32)
        return Rows(self.scaling_.inputs(rows.x), y, rows.weights.astype(np.float32))

    def _sample(
        self,
        rows: Rows,
        num_steps: int,
        decay: bool,
        fresh: bool,
        seed: int,
        watch: Watch,
    ) -> Particles:
        count = checks.whole("n_particles", self.n_particles)
        method = method_called(self.method)
        step_size = self.step_size
        if step_size is None:
            step_size = method.default_step(max((self.n_features_in_, *self._layers())))
        step_size = checks.positive("step_size", step_size)
        if method.per_row:
            step_size /= float(rows.weights.sum())
        rows = self._scaled(rows)
        data = {name: with_room(array) for name, array in rows._asdict().items()}
        batch_size = min(checks.whole("batch_size", self.batch_size), len(data["y"]))
        course = programs.Course(
            self.method,
            step_size,
            num_steps if decay else None,
            checks.positive("beta", self.beta),
            batch_size,
            count,
        )
        if fresh:
            start = programs.start(
                self._network(), count, jax.random.key(seed), data["x"][:FEW], data["y"][:FEW]
            )
        else:
            start = self._last_particles(count)
        result = sample(
            programs.sampler_of(self._form(), course),
            start,
            num_steps,
            seed=(seed + self.n_iter_) % 2**32,  # a run that goes on has noise of its own
            data=data,
            callback=watch,
            callback_every=max(1, num_steps // LOOKS),
            progress=self.progress,
        )
        self.n_iter_ += result.num_steps
        if result.interrupted:
            warnings.warn(
                f"interrupted after {result.num_steps} of {num_steps} steps; what was found so far "
                "is kept",
                stacklevel=3,
            )
        return result.particles

    def _last_particles(self, count: int) -> Particles:
        try:
            saved.must_fit(self.particles_, self._form(), at_least=count)
        except ValueError as error:
            raise ValueError(f"cannot go on from the last fit: {error}") from None
        return jax.tree.map(lambda leaf: leaf[-count:], self.particles_)

    def _network(self) -> BayesianNetwork:
        return programs.network_of(self._form())

    def _layers(self) -> tuple[int, ...]:
        if isinstance(self.hidden, str) or not isinstance(self.hidden, Iterable):
            raise TypeError(
                f"hidden must be the widths of the hidden layers, for example (50,), "
                f"got {self.hidden!r}"
            )
        return tuple(checks.whole("hidden", width) for width in self.hidden)

    def _inputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.scaling_.inputs(X)

    def _by_blocks(self, program: Callable[..., Any], summary: Callable[..., Any], *rows: Any):
        """`summary` of what `program` says of each block of rows, put together again."""
        found = []
        for count, block in programs.blocks(*rows):
            said = jax.device_get(program(self._network(), self.particles_, *block))
            arrays = said if isinstance(said, tuple) else (said,)
            found.append(summary(*(np.asarray(a, np.float64)[:, :count] for a in arrays)))
        return jax.tree.map(lambda *parts: np.concatenate(parts), *found)

    def _log_predictive(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        log_density = self._by_blocks(programs.log_terms, mixture, x, y)
        return log_density - math.log(self.scaling_.y_unit)

    def save(self, path: Any) -> Any:
        """Write the fitted estimator to one file, atomically and without pickle."""
        check_is_fitted(self)
        return saved.save(self, path)

    @classmethod
    def load(cls, path: Any) -> Self:
        """The estimator that `save` wrote."""
        return saved.load(cls, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "particles_")
