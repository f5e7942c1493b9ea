"""The same SVGD step in other libraries: a standard normal target, the median bandwidth recomputed
in every step, float32, plain gradient steps, the whole loop compiled where the library can.

Each peer is a function `(particles) -> Work`, or raises `Skip` with the reason.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from spos_experiments.bench.measure import Work, repeated

STEP_SIZE = 0.01


class Skip(Exception):
    """This peer cannot take part; the text says why."""


def standard_normal(theta: jax.Array) -> jax.Array:
    return -0.5 * jnp.sum(theta**2)


def start(count: int, dim: int) -> jax.Array:
    return jax.random.normal(jax.random.key(0), (count, dim))


def blackjax(particles: jax.Array) -> Work:
    try:
        import blackjax as library
        import optax
    except ImportError as error:
        raise Skip("blackjax is not installed") from error
    algorithm = library.svgd(jax.grad(standard_normal), optax.sgd(STEP_SIZE))
    state = algorithm.init(particles, {"length_scale": jnp.float32(1.0)})
    return repeated(algorithm.step, state)


def numpyro(particles: jax.Array) -> Work:
    try:
        import numpyro as library
        from numpyro import distributions
        from numpyro.contrib.einstein import SVGD, RBFKernel
    except ImportError as error:
        raise Skip("numpyro is not installed") from error
    count, dim = particles.shape

    def model() -> None:
        normal = distributions.Normal(jnp.zeros(dim), 1.0).to_event(1)
        library.sample("theta", normal)

    method = SVGD(model, library.optim.SGD(STEP_SIZE), RBFKernel(), num_stein_particles=count)
    state = method.init(jax.random.key(0))
    return repeated(lambda value: method.update(value)[0], state)


def pyro(particles: jax.Array) -> Work:
    """Pyro runs step by step; its multivariate mode is the SVGD of the others."""
    count, dim = particles.shape
    needed = 6 * 4 * count * count * dim / 1e9  # it builds several M × M × d tensors
    if needed > 8:
        raise Skip(f"its M×M×d tensors would take about {needed:.0f} GB")
    try:
        import pyro as library
        import torch
        from pyro.infer import SVGD, RBFSteinKernel
    except ImportError as error:
        raise Skip("pyro or torch is not installed") from error

    def model() -> None:
        normal = library.distributions.Normal(torch.zeros(dim), torch.ones(dim)).to_event(1)
        library.sample("theta", normal)

    library.clear_param_store()
    optimizer = library.optim.PyroOptim(torch.optim.SGD, {"lr": STEP_SIZE})
    method = SVGD(model, RBFSteinKernel(), optimizer, count, 0, mode="multivariate")

    def work(steps: int) -> None:
        for _ in range(steps):
            method.step()

    return work


def numpy(particles: jax.Array) -> Work:
    """The classic reference formulation: SciPy distances, a full median, one kernel product."""
    try:
        from scipy.spatial.distance import pdist, squareform
    except ImportError as error:
        raise Skip("scipy is not installed") from error
    start = np.asarray(particles)

    def work(steps: int) -> np.ndarray:
        theta = start
        for _ in range(steps):
            score = -theta
            sq = squareform(pdist(theta, "sqeuclidean")).astype(np.float32)
            eta2 = np.median(np.sqrt(sq)) ** 2 / math.log(len(theta) + 1)
            kernel = np.exp(-sq / eta2)
            repulsion = kernel.sum(1, keepdims=True) * theta - kernel @ theta
            stein = (kernel @ score + 2 / eta2 * repulsion) / len(theta)
            theta = theta + STEP_SIZE * stein
        return theta

    return work


def torch_gradient(theta: dict[str, jax.Array], data: tuple[jax.Array, jax.Array]) -> Work:
    """The gradient of many networks on one minibatch, their products batched by PyTorch."""
    try:
        import torch
    except ImportError as error:
        raise Skip("torch is not installed") from error
    x, label = (torch.tensor(np.asarray(part)) for part in data)
    weights = [torch.tensor(np.asarray(leaf), requires_grad=True) for leaf in theta.values()]
    copies = len(weights[0])
    labels = label.long().expand(copies, -1)

    def work(steps: int) -> None:
        for _ in range(steps):
            hidden = x.expand(copies, -1, -1)
            for n in range(0, len(weights), 2):
                hidden = torch.relu(hidden) if n else hidden
                hidden = torch.baddbmm(weights[n + 1][:, None], hidden, weights[n])
            fit = -torch.nn.functional.cross_entropy(
                hidden.flatten(0, 1), labels.flatten(), reduction="sum"
            )
            prior = -0.5 * sum((w * w).sum() for w in weights)
            torch.autograd.grad(10.0 * fit + prior, weights)

    return work


PEERS: dict[str, Callable[[jax.Array], Work]] = {
    "blackjax": blackjax,
    "numpyro": numpyro,
    "pyro": pyro,
    "numpy": numpy,
}
