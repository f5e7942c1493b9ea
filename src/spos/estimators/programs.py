"""Compiled programs that fits share.

A network or a sampler is built once for a description of it and kept. Equal shapes then mean an
equal program: the folds of a cross-validation compile once. No data are kept with them.
"""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from spos.dynamics.sampler import Sampler
from spos.estimators.methods import Setting, method_called
from spos.estimators.rows import with_room
from spos.targets import bnn, likelihoods, priors
from spos.targets.layers import relu_network
from spos.targets.network import BayesianNetwork
from spos.types import Particles

BLOCK_ROWS = 4096  # predicted at once, at most
LAST_STEP = 0.1  # as a share of the first

LIKELIHOODS: dict[str, Callable[[], likelihoods.Likelihood]] = {
    "constant": likelihoods.gaussian,
    "heteroscedastic": likelihoods.heteroscedastic,
    "classes": likelihoods.categorical,
}


class Form(NamedTuple):
    """Which network."""

    inputs: int
    hidden: tuple[int, ...]
    outputs: int
    likelihood: str


class Course(NamedTuple):
    """How it is sampled. The step decays along half a cosine over `decay_steps`, or not at all."""

    method: str
    step_size: float
    decay_steps: int | None
    beta: float
    batch_size: int
    n_particles: int


@functools.lru_cache(maxsize=64)
def network_of(form: Form) -> BayesianNetwork:
    plain = relu_network(form.inputs, form.outputs, form.hidden)
    return bnn(plain.apply, plain.init, LIKELIHOODS[form.likelihood](), priors.normal())


@functools.lru_cache(maxsize=64)
def sampler_of(form: Form, course: Course) -> Sampler:
    """It samples whatever data `spos.sample` is given."""
    x = np.zeros((course.batch_size, form.inputs), np.float32)
    y: Any = np.zeros(course.batch_size, target_dtype(form))
    weights = np.ones(course.batch_size, np.float32)
    target = network_of(form).posterior(x, y, course.batch_size, weights)
    step_size: Any = course.step_size
    if course.decay_steps is not None:
        step_size = optax.cosine_decay_schedule(step_size, course.decay_steps, LAST_STEP)
    # as far as the first weights of two networks are from each other, by the median rule
    bandwidth = 2.0 * (sum(form.hidden) + form.outputs) / math.log(course.n_particles + 1)
    return method_called(course.method).build(target, Setting(step_size, course.beta, bandwidth))


@functools.lru_cache(maxsize=64)
def particle_form(form: Form) -> Particles:
    """Shapes and types of one particle."""
    x = jax.ShapeDtypeStruct((1, form.inputs), np.float32)
    y = jax.ShapeDtypeStruct((1,), target_dtype(form))
    start = functools.partial(network_of(form).start, jax.random.key(0), 1)
    cloud = jax.eval_shape(start, x, y)
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), cloud)


def target_dtype(form: Form) -> type:
    return np.int32 if form.likelihood == "classes" else np.float32


@functools.partial(jax.jit, static_argnames=("network", "count"))
def start(network: BayesianNetwork, count: int, key: jax.Array, x: Any, y: Any) -> Particles:
    return network.start(key, count, x, y)


@functools.partial(jax.jit, static_argnames=("network",))
def outputs(network: BayesianNetwork, particles: Particles, x: Any) -> jax.Array:
    return network.outputs(particles, x)


@functools.partial(jax.jit, static_argnames=("network",))
def moments(network: BayesianNetwork, particles: Particles, x: Any) -> tuple[jax.Array, jax.Array]:
    """Mean and variance of y by every network, each (M, n)."""
    assert network.likelihood.moments is not None
    return jax.vmap(network.likelihood.moments)(
        particles["likelihood"], network.outputs(particles, x)
    )


@functools.partial(jax.jit, static_argnames=("network",))
def log_terms(network: BayesianNetwork, particles: Particles, x: Any, y: Any) -> jax.Array:
    """log p(y | x) by every network: (M, n)."""
    log_prob = jax.vmap(network.likelihood.log_prob, (0, 0, None))
    return log_prob(particles["likelihood"], network.outputs(particles, x), jnp.asarray(y))


def blocks(*arrays: np.ndarray) -> Iterator[tuple[int, tuple[np.ndarray, ...]]]:
    """Rows in blocks with room; before each, how many rows are real."""
    for first in range(0, len(arrays[0]), BLOCK_ROWS):
        parts = [array[first : first + BLOCK_ROWS] for array in arrays]
        yield len(parts[0]), tuple(with_room(part) for part in parts)
