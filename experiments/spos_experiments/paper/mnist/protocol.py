"""Networks that tell digits apart: their data, their methods, and how one is trained.

Two layers of ReLU units, or a convolutional network (`networks.py`), y ~ softmax(f(x)), weights
~ N(0, σ²). Pixels have the mean 0 and the standard deviation 1 of all training pixels together, and
in training noise of a standard deviation ν, made anew in every step. Minibatches are pieces of one
pass after another over the shuffled images. Some training images are set
apart to watch the error with; no setting is chosen by a test image.

    spos, svgd, sgld    M networks, drifts divided by their running root mean square
    ensemble            M networks that climb the posterior the same way, each on its own
    rmsprop             one of them
    sgd                 one network, gradient steps with momentum
    dropout             the same, with half of the units left out at random in every step

The answer of many networks is the average over all of them as they were after each of the last few
epochs. A step size falls along half a cosine to a hundredth. The gradient steps of the last two
methods are those of the mean log-density of an image, as is usual, whatever the number of images.
Training is that of the estimators (`spos.networks.trainer`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.ndimage import maximum_filter
from scipy.special import softmax

import spos
from spos.dynamics.moves import Langevin, Move
from spos.dynamics.noise import normal_matrix
from spos.dynamics.preconditioners import Preconditioner
from spos.networks import predict
from spos.networks.methods import Method, Options, method_called
from spos.networks.rows import Rows, Scaling, scaled
from spos.networks.trainer import Setting, Trained, first_networks, train
from spos.targets import (
    BayesianNetwork,
    Posterior,
    bnn,
    likelihoods,
    priors,
    relu_network,
    score_particles,
)
from spos.targets.layers import AnyNetwork
from spos.targets.shuffle import permuted
from spos.types import Batch, Particles, PyTree, State
from spos.values import described
from spos_experiments.data import Table
from spos_experiments.paper.mnist.networks import lenet

CLASSES, FLOOR, MOMENTUM, DROPPED = 10, 0.01, 0.9, 0.5
LEAST = 1e-30  # chance

METHODS = ("spos", "svgd", "sgld", "ensemble", "rmsprop", "sgd", "dropout")
ALONE = ("rmsprop", "sgd", "dropout")  # one network
ALLOWED = {"dense": METHODS, "lenet": tuple(name for name in METHODS if name not in ALONE)}
LIBRARY = {"spos": "spos", "svgd": "svgd", "sgld": "psgld"}  # and their names


class Sets(NamedTuple):
    train: Rows
    validation: Rows
    test: Rows
    odd: dict[str, np.ndarray]  # images unlike those of the training, by name


class Plan(NamedTuple):
    """All that shapes one run but its images and its seed."""

    method: str
    network: str  # "dense" or "lenet"
    hidden: tuple[int, ...]  # units of dense layers; of LeNet two numbers of channels, and units
    particles: int
    epochs: int
    batch: int
    step_size: float
    prior_scale: float
    beta: float
    bandwidth: float  # of the kernel of spos and svgd
    averaged: int  # epochs at the end whose networks all take part
    input_noise: float  # ν
    passes: bool  # over shuffled images, instead of minibatches that are drawn anew
    cycles: int  # of the step size; if several, the networks at their ends are averaged


def sets(table: Table, share: float) -> Sets:
    """The images as the networks see them; the last share of the training is for validation."""
    train, test = table.splits[0]
    apart = round(share * len(train))
    pixels = table.X.reshape(len(table.y), -1).astype(np.float32)
    shown = pixels[train[:-apart]]
    scaling, brightest = Scaling(shown.mean(), shown.std()), shown.max()

    def some(rows: np.ndarray) -> Rows:
        return scaled(scaling, Rows(pixels[rows], table.y[rows]), numbers=False)

    side = round(pixels.shape[1] ** 0.5)
    square = pixels[test].reshape(-1, side, side)
    turned = np.rot90(square, axes=(1, 2)).reshape(len(test), -1)
    filled = maximum_filter(square, (1, side // 3, side // 3))  # large shapes, as clothes are
    odd = {
        "turned": scaling.inputs(turned),
        "inverted": scaling.inputs(brightest - pixels[test]),
        "filled": scaling.inputs(filled.reshape(len(test), -1)),
    }
    return Sets(some(train[:-apart]), some(train[-apart:]), some(test), odd)


@spos.value
class Shown(spos.Target):
    """A posterior whose minibatches are pieces of one pass after another over shuffled images, with
    noise on their pixels."""

    exact: Posterior
    noise: float
    seed: jax.Array  # of the order; without passes every minibatch is drawn from all images
    passes: bool = spos.static()

    @property
    def settings(self) -> dict[str, Any]:
        return {**self.exact.settings, "noise": described(self.noise), "passes": self.passes}

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        return self.exact.log_prob(theta, batch)

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        return self.exact.score(particles, batch)

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> Batch:
        examples, weights = self._piece(step) if self.passes else self.exact.draw(key, step)
        x = examples["x"]
        noise = normal_matrix(jax.random.fold_in(key, 2), x.shape, x.dtype)
        return Batch({**examples, "x": x + self.noise * noise}, weights)

    def _piece(self, step: jax.Array | int) -> Batch:
        total, size = self.exact.num_examples, self.exact.batch.initial
        epoch, piece = jnp.divmod(jnp.asarray(step), total // size)
        places = (piece * size + jnp.arange(size)).astype(jnp.uint32)
        rows = permuted(jax.random.fold_in(jax.random.key(self.seed), epoch), places, total)
        examples = jax.tree.map(lambda leaf: leaf[rows], self.exact.data)
        return Batch(examples, jnp.full(size, total / size))


@spos.value
class Climb(spos.Sampler):
    """Networks that climb the log-density, each on its own."""

    preconditioner: Preconditioner

    @property
    def move(self) -> Move:
        return Langevin(None, self.preconditioner)

    def drift(self, key: jax.Array, state: State, scores: Particles) -> spos.Drift:
        return spos.Drift(scores)


class Thinned(NamedTuple):
    """A batch, and which hidden units it sees: one mask for each layer."""

    batch: Batch
    masks: list[jax.Array]


@spos.value
class Dropout(spos.Target):
    """A posterior whose gradients leave out hidden units at random; what is left is scaled up."""

    network: BayesianNetwork
    exact: Posterior | Shown

    @property
    def settings(self) -> dict[str, Any]:
        return {**self.exact.settings, "dropout": DROPPED}

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        if not isinstance(batch, Thinned):
            return self.exact.log_prob(theta, batch)
        (examples, weights), masks = batch
        outputs = self.network.network.apply(theta["weights"], examples["x"], masks)
        terms = self.network.likelihood.log_prob((), outputs, examples["y"])
        return jnp.sum(weights * terms) + self.network.log_prior(theta)

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        if not isinstance(batch, Thinned):
            return self.exact.score(particles, batch)
        return score_particles(self.log_prob, particles, batch)

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> Thinned:
        batch = self.exact.draw(key, step)
        widths = self.network.network.sizes[1:-1]  # type: ignore[union-attr]
        keys = jax.random.split(jax.random.fold_in(key, 1), len(widths))
        keep = 1.0 - DROPPED
        rows = len(batch.weights)
        masks = [
            jax.random.bernoulli(k, keep, (rows, width)) / keep
            for k, width in zip(keys, widths, strict=True)
        ]
        return Thinned(batch, masks)


def network(plan: Plan, pixels: int) -> BayesianNetwork:
    plain: AnyNetwork
    if plan.network == "lenet":
        *channels, units = plan.hidden
        plain = lenet(pixels, tuple(channels), units, CLASSES)
    else:
        plain = relu_network(pixels, CLASSES, plan.hidden)
    prior = priors.normal(plan.prior_scale)
    return bnn(plain, likelihood=likelihoods.categorical(), prior=prior)


def method(plan: Plan, model: BayesianNetwork, seed: int) -> Method:
    """One of the library's, a climb, or plain gradient steps of the mean log-density of an image;
    on images as they are shown."""

    def shown(target: Any) -> Shown:
        return Shown(target, plan.input_noise, jnp.asarray(seed), passes=plan.passes)

    def climb(target: Any, options: Options) -> spos.Sampler:
        return Climb.of(shown(target), options.step_size, preconditioner=options.preconditioner)

    def descend(target: Any, options: Options) -> spos.Sampler:
        optimizer = optax.sgd(options.step_size, momentum=MOMENTUM)
        target = shown(target)
        if plan.method == "dropout":
            target = Dropout(model, target)
        return spos.svgd(target, optimizer=optimizer)

    if plan.method in LIBRARY:
        given = method_called(LIBRARY[plan.method])
        return given._replace(build=lambda target, o: given.build(shown(target), o))
    if plan.method in ("ensemble", "rmsprop"):
        return Method(climb, step_size=1e-2)
    return Method(descend, step_size=0.1, per_row=True)


def setting(plan: Plan, model: BayesianNetwork, seed: int) -> Setting:
    return Setting(
        method(plan, model, seed),
        plan.step_size,
        FLOOR,
        plan.beta,
        plan.bandwidth,
        preconditioner=spos.rmsprop(0.99),
        batch_size=plan.batch,
        cycles=plan.cycles,
    )


def run(
    plan: Plan,
    images: Rows,
    seed: int,
    folder: Path,
    watch: Callable[[int, Particles], object],
) -> Trained:
    """Train; `watch(epoch, particles)` sees the networks after every epoch, or cycle if there are
    several. All is in `folder`, from where a second call goes on."""
    model = network(plan, images.x.shape[1])
    each = len(images.y) // plan.batch  # steps of an epoch
    looks = plan.epochs if plan.cycles == 1 else plan.cycles
    return train(
        model,
        images,
        setting(plan, model, seed),
        each * plan.epochs,
        start=first_networks(model, plan.particles, jax.random.key(seed), images.x, images.y),
        seed=seed,
        looks=looks,
        average=plan.averaged,
        on_look=lambda look, particles: watch(look * plan.epochs // looks, particles),
        checkpoint=folder,
        progress=False,
    )


def chances(plan: Plan, particles: Particles, x: np.ndarray) -> np.ndarray:
    """What every network thinks of every image: (networks, images, classes). Nothing is impossible,
    as one that is certain and wrong would make a log-likelihood infinite."""
    model = network(plan, x.shape[1])
    outputs = predict.by_blocks(predict.outputs, model, particles, x)
    return np.maximum(softmax(outputs, axis=2), LEAST)
