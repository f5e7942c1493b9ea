"""Networks that tell digits apart: their data, their methods, and how one is trained.

Two layers of ReLU units, y ~ softmax(f(x)), weights ~ N(0, σ²). Pixels have the mean 0 and the
standard deviation 1 of all training pixels together. Some training images are set apart to watch
the error with; no setting is chosen by a test image.

    spos, svgd, sgld    M networks, drifts divided by their running root mean square
    rmsprop             one network, which climbs the posterior the same way
    sgd                 one network, gradient steps with momentum
    dropout             the same, with half of the units left out at random in every step

The answer of many networks is the average over all of them as they were after each of the last few
epochs. A step size falls along half a cosine to a hundredth. The gradient steps of the last two
methods are those of the mean log-density of an image, as is usual, whatever the number of images.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import spos
from spos.io import archive
from spos.targets import bnn, likelihoods, priors
from spos.targets.layers import relu_network
from spos.targets.network import BayesianNetwork
from spos.targets.posterior import Posterior
from spos.targets.target import score_particles
from spos.types import Batch, Particles, PyTree
from spos_experiments.data import Table

CLASSES, FLOOR, MOMENTUM, DROPPED = 10, 0.01, 0.9, 0.5
ROWS = 1000  # images at a time when networks are asked
LEAST = 1e-30  # chance


class Images(NamedTuple):
    x: np.ndarray  # (n, pixels), scaled
    y: np.ndarray


class Sets(NamedTuple):
    train: Images
    validation: Images
    test: Images
    odd: dict[str, np.ndarray]  # images unlike those of the training, by name


class Plan(NamedTuple):
    """All that shapes one run but its images and its seed."""

    method: str
    hidden: tuple[int, ...]
    particles: int
    epochs: int
    batch: int
    step_size: float
    prior_scale: float
    beta: float
    bandwidth: float  # of the kernel of spos and svgd
    averaged: int  # epochs at the end whose networks all take part


def sets(table: Table, share: float) -> Sets:
    """The images as the networks see them; the last share of the training is for validation."""
    train, test = table.splits[0]
    held = round(share * len(train))
    pixels = table.X.reshape(len(table.y), -1).astype(np.float32)
    shown = pixels[train[:-held]]
    centre, scale, brightest = shown.mean(), shown.std(), shown.max()
    labels = table.y.astype(np.int32)

    def scaled(values: np.ndarray) -> np.ndarray:
        return ((values - centre) / scale).astype(np.float32)

    def some(rows: np.ndarray) -> Images:
        return Images(scaled(pixels[rows]), labels[rows])

    side = round(pixels.shape[1] ** 0.5)
    square = pixels[test].reshape(-1, side, side)
    turned = np.rot90(square, axes=(1, 2)).reshape(len(test), -1)
    odd = {"turned": scaled(turned), "inverted": scaled(brightest - pixels[test])}
    return Sets(some(train[:-held]), some(train[-held:]), some(test), odd)


class Dropout:
    """A posterior whose gradients leave out hidden units at random; what is left is scaled up."""

    def __init__(self, model: BayesianNetwork, exact: Posterior, widths: tuple[int, ...]) -> None:
        self.model, self.exact, self.data, self.widths = model, exact, exact.data, widths
        self.settings = {**exact.settings, "dropout": DROPPED}

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        return self.exact.log_prob(theta, batch)

    def draw(self, key: jax.Array, step: Any = 0, data: PyTree = None) -> tuple[Batch, list]:
        batch = self.exact.draw(key, step, data)
        keys = jax.random.split(jax.random.fold_in(key, 1), len(self.widths))
        keep = 1.0 - DROPPED
        rows = len(batch.weights)
        return batch, [
            jax.random.bernoulli(k, keep, (rows, width)) / keep
            for k, width in zip(keys, self.widths, strict=True)
        ]

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        if not isinstance(batch, tuple) or isinstance(batch, Batch):
            return self.exact.score(particles, batch)
        return score_particles(self._thinned, particles, batch)

    def _thinned(self, theta: PyTree, batch: Any) -> jax.Array:
        (examples, weights), masks = batch
        outputs = self.model.apply(theta["weights"], examples["x"], masks)
        terms = self.model.likelihood.log_prob((), outputs, examples["y"])
        return jnp.sum(weights * terms) + self.model.log_prior(theta)


class Classifier:
    """A plan and its images, ready to run."""

    def __init__(self, plan: Plan, train: Images) -> None:
        self.plan, self.train = plan, train
        network = relu_network(train.x.shape[1], CLASSES, plan.hidden)
        prior = priors.normal(plan.prior_scale)
        self.model = bnn(network.apply, network.init, likelihoods.categorical(), prior)
        self.each = len(train.y) // plan.batch  # steps of an epoch
        target: Any = self.model.posterior(train.x, train.y, plan.batch)
        if plan.method == "dropout":
            target = Dropout(self.model, target, plan.hidden)
        self.sampler = METHODS[plan.method](target, self._step_size, plan, len(train.y))

    def _step_size(self, step: Any) -> Any:
        down = 0.5 * (1.0 + jnp.cos(jnp.pi * step / (self.each * self.plan.epochs)))
        return self.plan.step_size * (FLOOR + (1.0 - FLOOR) * down)

    def run(
        self, seed: int, folder: Path, watch: Callable[[int, Particles], Any]
    ) -> tuple[list[Particles], float]:
        """Train: the networks after each of the last epochs, and the seconds it took.
        `watch(epoch, particles)` sees them after every epoch. All is in `folder`, from where a
        second call goes on."""
        plan = self.plan
        start = self.model.start(jax.random.key(seed), plan.particles, self.train.x, self.train.y)
        leaves, form = jax.tree.flatten(start)
        ends = range(plan.epochs - plan.averaged + 1, plan.epochs + 1)
        places = [folder / f"epoch-{epoch}.npz" for epoch in ends]
        for epoch, place in zip(ends, places, strict=True):
            if place.exists():
                continue
            trained = spos.sample(
                self.sampler,
                start,
                self.each * epoch,
                seed=seed,
                progress=False,
                checkpoint=folder,
                checkpoint_every=120.0,
                callback=lambda state, _: watch(int(state.step) // self.each, state.particles),
                callback_every=self.each,
            )
            if trained.interrupted:
                raise KeyboardInterrupt
            now = {f"leaf{n}": leaf for n, leaf in enumerate(jax.tree.leaves(trained.particles))}
            archive.write(place, now, {"seconds": trained.seconds})
        kept = [archive.read(place) for place in places]
        networks = [
            jax.tree.unflatten(form, [arrays[f"leaf{n}"] for n in range(len(leaves))])
            for arrays, _ in kept
        ]
        return networks, kept[-1][1]["seconds"]

    def chances(self, particles: Particles, x: np.ndarray) -> np.ndarray:
        """What every network thinks of every image: (M, n, classes). Nothing is impossible, as
        chances that float32 rounds to zero would make a log-likelihood infinite."""
        parts = [x[n : n + ROWS] for n in range(0, len(x), ROWS)]
        found = [np.asarray(self._ask(particles, part)) for part in parts]
        return np.maximum(np.concatenate(found, axis=1), LEAST)

    @functools.cached_property
    def _ask(self) -> Callable[[Particles, Any], jax.Array]:
        return jax.jit(lambda particles, x: jax.nn.softmax(self.model.outputs(particles, x)))


def _climb(target: Any, step_size: Any, plan: Plan, images: int) -> spos.Sampler:
    optimizer = optax.sgd(lambda step: step_size(step) / images, momentum=MOMENTUM)
    return spos.svgd(target, optimizer=optimizer)


def _scaled(method: Any) -> Callable[..., spos.Sampler]:
    def build(target: Any, step_size: Any, plan: Plan, images: int) -> spos.Sampler:
        kernel = spos.rbf(plan.bandwidth)
        options: dict[Any, dict[str, Any]] = {
            spos.spos: {"beta": plan.beta, "kernel": kernel},
            spos.svgd: {"kernel": kernel},
            spos.sgld: {},
        }
        return method(target, step_size, preconditioner=spos.rmsprop(0.99), **options[method])

    return build


METHODS: dict[str, Callable[..., spos.Sampler]] = {
    "spos": _scaled(spos.spos),
    "rmsprop": _scaled(spos.svgd),
    "sgd": _climb,
    "dropout": _climb,
    "svgd": _scaled(spos.svgd),
    "sgld": _scaled(spos.sgld),
}
ALONE = ("rmsprop", "sgd", "dropout")  # one network
