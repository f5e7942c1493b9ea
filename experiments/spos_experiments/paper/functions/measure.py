"""A kind of interaction on a table: tries on validation rows, a choice, the errors on test rows."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import softmax

import spos
from spos.networks import predict
from spos.networks.methods import Method, Options
from spos.networks.rows import Rows
from spos.targets import BayesianNetwork, bnn, likelihoods, priors, relu_network
from spos.types import PyTree
from spos_experiments.data import Table, load
from spos_experiments.frame.experiment import in_parallel
from spos_experiments.paper.functions.sampler import ByOutputs
from spos_experiments.paper.functions.settings import DIGITS, Settings
from spos_experiments.paper.mnist import protocol as images
from spos_experiments.paper.regression import protocol

RESTING = 1e-6  # a bandwidth, η², at which no network feels another
CLASSES = 10


class Outcome(NamedTuple):
    """Of every split. Errors are RMSE, or a share of wrong classes."""

    validation: np.ndarray  # (tries, splits): log-likelihoods
    chosen: np.ndarray
    error: np.ndarray
    ll: np.ndarray
    doubt: np.ndarray  # (splits, 3): entropies on test images, turned, inverted; 0 for numbers


class Judged(NamedTuple):
    error: float
    ll: float
    doubt: tuple[float, ...]


def measure(settings: Settings, name: str, kind: str, seed: int) -> Outcome:
    table = load(name, settings.data)
    splits = range(min(settings.splits, len(table.splits)))

    def one(trial: protocol.Trial, split: int, validate: bool) -> Judged:
        shape = settings.shape(name, settings.trial_share if validate else 1.0)
        digits = name == DIGITS
        part, odd = (
            image_part(table, split, validate)
            if digits
            else (protocol.rows(table, split, validate), [])
        )
        model = network(settings, part, digits, trial)
        method = Method(functools.partial(build, settings, kind, model, digits), 1e-2)
        particles = protocol.networks(model, method, shape, trial, part, seed, split)
        if digits:
            return judge_images(model, particles, part, odd)
        errors = protocol.judge(model, particles, settings.particles, part)[1]
        return Judged(errors.rmse, errors.ll, (0.0, 0.0, 0.0))

    def run(tries: list[tuple[protocol.Trial, int, bool]]) -> list[Judged]:
        jobs = [functools.partial(one, *each) for each in tries]
        return [jobs[0](), *in_parallel(jobs[1:], lambda n, total: None)]

    tried = run([(trial, k, True) for trial in settings.trials for k in splits])
    validation = np.array([judged.ll for judged in tried]).reshape(-1, len(splits))
    chosen = validation.argmax(axis=0)
    final = run([(settings.trials[n], k, False) for k, n in zip(splits, chosen, strict=True)])
    return Outcome(validation, chosen, *(np.array(column) for column in zip(*final, strict=True)))


def build(
    settings: Settings,
    kind: str,
    model: BayesianNetwork,
    digits: bool,
    target: Any,
    options: Options,
) -> spos.Sampler:
    """The sampler of a kind."""
    if kind in ("alone", "weights"):
        kernel = spos.rbf(RESTING) if kind == "alone" else spos.rbf()
        return spos.spos(
            target,
            options.step_size,
            options.beta,
            kernel=kernel,
            preconditioner=options.preconditioner,
        )
    say = classes_said if digits else numbers_said
    return ByOutputs.of(
        target,
        options.step_size,
        beta=options.beta,
        say=jax.tree_util.Partial(say, model),
        inputs=jnp.asarray(target.data["x"]),
        preconditioner=options.preconditioner,
        rows=dict(settings.rows)[kind],
        stein=kind == "Stein",
    )


def numbers_said(model: BayesianNetwork, theta: PyTree, x: jax.Array) -> jax.Array:
    return model.network.apply(theta["weights"], x)


def classes_said(model: BayesianNetwork, theta: PyTree, x: jax.Array) -> jax.Array:
    """The chances: logits may shift without a change of them."""
    return jax.nn.softmax(model.network.apply(theta["weights"], x))


def network(
    settings: Settings, part: protocol.Part, digits: bool, trial: protocol.Trial
) -> BayesianNetwork:
    inputs = part.training.x.shape[1]
    if not digits:
        return protocol.network(inputs, settings.hidden, trial)
    layers = relu_network(inputs, CLASSES, (settings.hidden,))
    return bnn(layers, likelihood=likelihoods.categorical(), prior=priors.normal())


def image_part(table: Table, split: int, validate: bool) -> tuple[protocol.Part, list[Any]]:
    """Rows to learn from and to judge, and the odd images of the test."""
    one = table._replace(splits=(table.splits[split],))
    sets = images.sets(one, protocol.VALIDATION)
    if validate:
        return protocol.Part(sets.train, sets.validation, 1.0), []
    whole = Rows(*map(np.concatenate, zip(sets.train[:2], sets.validation[:2], strict=True)))
    odd = [sets.odd[kind] for kind in ("turned", "inverted")]
    return protocol.Part(whole, sets.test, 1.0), [sets.test.x, *odd]


def judge_images(
    model: BayesianNetwork, particles: Any, part: protocol.Part, odd: list[Any]
) -> Judged:
    def chances(x: np.ndarray) -> np.ndarray:
        said = predict.by_blocks(predict.outputs, model, particles, x, at_once=20)
        return np.asarray(softmax(said, axis=-1).mean(axis=0))

    mean = chances(part.judged.x)
    right = mean[np.arange(len(mean)), part.judged.y]
    doubt = [-(p * np.log(p + images.LEAST)).sum(-1).mean() for p in map(chances, odd)]
    wrong = float((mean.argmax(axis=1) != part.judged.y).mean())
    return Judged(wrong, float(np.log(right + images.LEAST).mean()), tuple(doubt or (0.0,) * 3))
