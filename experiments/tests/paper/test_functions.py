"""`spos paper functions`: directions by outputs, held to dense derivatives, and its fair choice."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import spos
from spos.targets import relu_network
from spos_experiments.frame import record
from spos_experiments.frame.experiment import Estimate
from spos_experiments.frame.perform import perform
from spos_experiments.paper.functions.sampler import ByOutputs, by_density, by_stein, kernel

NETWORK = relu_network(2, 2, (5,))
X = jax.random.normal(jax.random.key(0), (3, 2))
COUNT = 4
PARTICLES = jax.vmap(NETWORK.init)(jax.random.split(jax.random.key(1), COUNT))
SCORES = jax.tree.map(lambda leaf: jnp.cos(3.0 * leaf), PARTICLES)


def outputs(theta):
    return NETWORK.apply(theta, X).reshape(-1)


def dense(kind):
    """From the kernel as a function of two networks' weights, and its gradients, pair by pair."""
    flat = jax.vmap(lambda theta: ravel_pytree(theta)[0])(PARTICLES)
    scores = jax.vmap(lambda theta: ravel_pytree(theta)[0])(SCORES)
    back = ravel_pytree(jax.tree.map(lambda leaf: leaf[0], PARTICLES))[1]
    eta2 = kernel(jax.vmap(outputs)(PARTICLES))[2]

    def k(a, b):
        return jnp.exp(-jnp.sum((outputs(back(a)) - outputs(back(b))) ** 2) / eta2)

    moved = []
    for i in range(COUNT):
        pairs = [(k(flat[i], flat[j]), jax.grad(k, 1)(flat[i], flat[j])) for j in range(COUNT)]
        if kind == "stein":
            direction = sum(k * scores[j] + push for j, (k, push) in enumerate(pairs))
        else:
            slopes = sum(jax.grad(k)(flat[i], flat[j]) for j in range(COUNT))
            direction = scores[i] - slopes / sum(k for k, _ in pairs)
        moved.append(direction / COUNT)
    return np.stack(moved)


def flat(tree):
    return np.asarray(jax.vmap(lambda theta: ravel_pytree(theta)[0])(tree))


@pytest.mark.parametrize(("kind", "direction"), [("stein", by_stein), ("density", by_density)])
def test_a_direction_is_the_one_of_the_dense_derivatives(kind, direction):
    found = flat(direction(outputs, PARTICLES, SCORES)[0])
    np.testing.assert_allclose(found, dense(kind), rtol=2e-4, atol=1e-5)
    # what pulls where it should push is another direction
    own = flat(SCORES) / COUNT if kind == "density" else 0.0
    assert np.abs(2 * own - found - dense(kind)).max() > 1e-2


def test_networks_that_say_the_same_are_not_pushed():
    """Their units stand in another order, so that weights would tell them apart."""
    order = np.array([2, 0, 1, 4, 3])
    twin = {
        "w0": PARTICLES["w0"][0][:, order],
        "b0": PARTICLES["b0"][0][order],
        "w1": PARTICLES["w1"][0][order],
        "b1": PARTICLES["b1"][0],
    }
    pair = {name: jnp.stack([PARTICLES[name][0], twin[name]]) for name in twin}
    zero = jax.tree.map(jnp.zeros_like, pair)
    np.testing.assert_allclose(flat(by_density(outputs, pair, zero)[0]), 0.0, atol=1e-4)


def test_it_is_a_sampler():
    def log_prob(theta):
        return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(theta))

    for stein in (True, False):
        sampler = ByOutputs.of(
            *(log_prob, 0.01),
            beta=10.0,
            say=jax.tree_util.Partial(NETWORK.apply),
            inputs=X,
            preconditioner=spos.rmsprop(),
            rows=2,
            stein=stein,
        )
        report = spos.check_sampler(sampler, PARTICLES)
        # `say` knows the form of a network, which is what the check of forms changes
        assert str(report).splitlines()[0] == "byoutputs fails: tree"


def test_a_quick_run_is_recorded_drawn_and_resumed(tmp_path, compilations):
    made = perform("functions", tmp_path, quick=True)
    assert [drawn.file for drawn in made.figures] == ["functions.png"]
    assert [row["kind"] for row in made.numbers["rows"]] == ["alone", "density"]
    before = len(compilations)
    assert perform("functions", tmp_path, quick=True).numbers == made.numbers
    assert len(compilations) == before  # everything came from the folder


def test_the_page_quotes_the_record():
    home = Path(__file__).parents[3]
    words = " ".join((home / "docs" / "networks.md").read_text().split())
    made = record.read(home / "experiments" / "results" / "functions" / "record.json")
    for row in made.numbers["rows"]:
        if row["kind"] != "alone":
            assert f"{row['dataset']} {Estimate(*row['gain'])}" in words, row
