"""One method on one data set, from raw rows to its errors on the test parts of all splits.

The network has one layer of ReLU units, y ~ N(f(x), 1/γ), weights ~ N(0, 1/λ), and Gamma priors on
γ and λ; log γ and log λ are sampled with the weights (`spos.targets.bnn`). Drifts are divided by
their running root mean square, the step falls along half a cosine to a twentieth.

    1  a tenth of the training part, at most 500 rows, is set apart for validation
    2  every setting of the method's list is tried on the rest, for a short run
    3  each split takes the setting that gives its own validation rows the best log-likelihood
    4  with it, a long run on the whole training part is judged on the test rows, once

A setting says how far to step, β, the prior of λ, and whether the networks of five looks in the
last fifth of the run are averaged or only the last M. Every method has as many tries as any other.
Scaling uses the rows that are trained on. No test row takes part in anything before step 4, not
even through another split, of which it may be a training row.

Training is that of the estimators (`spos.networks.trainer`). All splits and trials of a table share
one compiled program and run on as many threads as there are cores. One program over all splits at
once (`vmap`) is no faster, as their networks no longer fit in the cache; and this way a split gives
the same numbers whatever others are run.
"""

import math
from typing import Any, NamedTuple

import jax
import numpy as np

import spos
from spos.networks import predict
from spos.networks.methods import Method
from spos.networks.rows import Rows, scaled, scaling_of
from spos.networks.rows import split as split_rows
from spos.networks.trainer import Setting, first_networks, train
from spos.targets import BayesianNetwork, bnn, likelihoods, priors, relu_network
from spos.types import Particles
from spos_experiments.data import Table

VALIDATION = 0.1  # share of the training part; 500 rows at most
ROUNDS, KEPT = 20, 5  # looks at the networks in a run, and those averaged at its end
FLOOR = 0.05  # of the step size, where the cosine ends
METHODS = {"sgld": "psgld", "svgd": "svgd", "spos": "spos"}  # all with the same preconditioner


class Trial(NamedTuple):
    """A setting of a method; λ has a Gamma(shape, rate) prior."""

    step_size: float
    beta: float = 1.0
    shape: float = 1.0
    rate: float = 0.1


FREE, TIGHT = (1.0, 0.1), (1e4, 1e4)  # λ is learnt, or is 1 for all that matters
# Narrowed from wider lists by the validation rows of the first three splits of yacht, energy,
# boston, concrete, wine_red and kin8nm, some of which are test rows of other splits. Where λ is
# learnt, SVGD and SPOS with β >= 100 often lose all weights to a huge λ: SPOS has no such try.
TRIALS: dict[str, tuple[Trial, ...]] = {
    "sgld": tuple(Trial(h, 1.0, *prior) for prior in (FREE, TIGHT) for h in (1e-2, 3e-2, 1e-1)),
    "svgd": tuple(Trial(h, 1.0, *prior) for prior in (FREE, TIGHT) for h in (3e-3, 1e-2, 3e-2)),
    "spos": tuple(Trial(h, beta, *TIGHT) for beta in (10.0, 30.0, 100.0) for h in (1e-2, 3e-2)),
}


class Shape(NamedTuple):
    """What a program is compiled for, beside the sizes of its data."""

    method: str
    hidden: int
    particles: int
    batch: int
    steps: int
    hasty: bool  # compiled with less care, for short runs


class Part(NamedTuple):
    """The training and the judged rows of a split, scaled; `unit` is what 1 means in y."""

    training: Rows
    judged: Rows
    unit: float


class Errors(NamedTuple):
    """In the original units of y, of a split or of many."""

    rmse: Any
    ll: Any


def rows(table: Table, split: int, validate: bool) -> Part:
    """Scaled rows: to try settings, or (not `validate`) to judge the chosen one."""
    X, y = table.X.astype(np.float64), table.y.astype(np.float64)
    training, judged = (Rows(X[some], y[some]) for some in table.splits[split])
    if validate:
        training, apart = split_rows(training, VALIDATION, np.random.default_rng(split))
        if apart is None:
            raise ValueError(f"{table.name} must have rows enough to validate, got {len(y)}")
        judged = apart
    scaling = scaling_of(training, numbers=True)
    training, judged = (scaled(scaling, some, numbers=True) for some in (training, judged))
    return Part(training, judged, float(scaling.y_unit))


def network(inputs: int, hidden: int, trial: Trial) -> BayesianNetwork:
    return bnn(
        relu_network(inputs, 1, (hidden,)),
        likelihood=likelihoods.gaussian(),
        prior=priors.hierarchical(trial.shape, trial.rate),
    )


def fit(shape: Shape, trial: Trial, part: Part, seed: int, split: int) -> tuple[Errors, Errors]:
    """Train on a split: the errors of the last networks, and of the average."""
    model = network(part.training.x.shape[1], shape.hidden, trial)
    trained = networks(model, METHODS[shape.method], shape, trial, part, seed, split)
    return judge(model, trained, shape.particles, part)


def networks(
    model: BayesianNetwork,
    method: str | Method,
    shape: Shape,
    trial: Trial,
    part: Part,
    seed: int,
    split: int,
) -> Particles:
    """What a run leaves of any networks and any method: those of its last looks, newest last."""
    key = jax.random.fold_in(jax.random.key(seed), split)
    x, y, _ = part.training
    setting = Setting(
        method,
        trial.step_size,
        FLOOR,
        trial.beta,
        preconditioner=spos.rmsprop(0.9),
        batch_size=shape.batch,
    )
    trained = train(
        model,
        part.training,
        setting,
        shape.steps,
        start=first_networks(model, shape.particles, jax.random.fold_in(key, 1), x, y),
        seed=key,
        looks=ROUNDS,
        average=KEPT,
        progress=False,
    )
    return trained.particles


def judge(
    model: BayesianNetwork, particles: Particles, newest: int, part: Part
) -> tuple[Errors, Errors]:
    """The errors of the `newest` networks, and of all of them."""
    x, y, _ = part.judged
    mean, _ = predict.by_blocks(predict.moments, model, particles, x)
    terms = predict.by_blocks(predict.log_terms, model, particles, x, y)
    return (
        errors(mean[-newest:], terms[-newest:], y, part.unit),
        errors(mean, terms, y, part.unit),
    )


def errors(mean: np.ndarray, terms: np.ndarray, y: np.ndarray, unit: float) -> Errors:
    """Of the mean and of the mixture of networks, given means and log-densities (networks, rows)
    in the units of the networks."""
    rmse = math.sqrt(((mean.mean(0) - y) ** 2).mean()) * unit
    return Errors(rmse, predict.mixture(terms).mean() - math.log(unit))
