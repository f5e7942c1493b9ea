"""Networks as rows: the same posterior, the same run, and never where networks are large."""

import jax
import numpy as np
import pytest

import spos
from spos.networks import joined
from spos.networks.rows import Rows
from spos.networks.trainer import Setting, first_networks, sampler_of, train
from spos.programs import BRIEF, SMALL
from spos.targets import bnn, likelihoods, priors, relu_network

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2)).astype(np.float32)
ROWS = Rows(X, X[:, 0] - X[:, 1])


def network(hidden=(3, 4)):
    plain = relu_network(2, 2, hidden)
    return bnn(plain, likelihood=likelihoods.location_scale(), prior=priors.normal())


@pytest.fixture(scope="module")
def start():
    return first_networks(network(), 4, jax.random.key(0), *ROWS[:2])


def given(start, **setting):
    return sampler_of(network(), ROWS, Setting(**setting), 100, start)


def close(one, other, **tolerance):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(*map(jax.tree.leaves, (one, other)), strict=True):
        np.testing.assert_allclose(a, b, **tolerance)


def test_rows_are_the_networks_they_stand_for(start):
    made, plain = joined.quick(given(start), start), given(start).target
    assert made.start.shape == (4, 3 * 3 + 4 * 4 + 5 * 2 + 2)
    assert made.options == SMALL
    close(made.networks(made.start), start, rtol=0)
    target, batch = made.sampler.target, plain.draw(jax.random.key(1))
    close(made.networks(target.score(made.start, batch)), plain.score(start, batch), rtol=1e-4)
    one = jax.tree.map(lambda leaf: leaf[2], start)
    found = target.log_prob(made.start[2], batch)
    assert float(found) == pytest.approx(float(plain.log_prob(one, batch)), rel=1e-5)


@pytest.mark.parametrize("method", ["spos", "svgd", "psgld", "sghmc", "noisy_svgd"])
def test_a_quick_run_is_the_same_run(start, method):
    """Their noise is the same, so that a few steps differ by what rounding makes of them."""
    few = {"start": start, "looks": 2, "progress": False, "validation": ROWS}
    plain, quick = (
        train(network(), ROWS, Setting(method), 4, **few, quick=quick) for quick in (False, True)
    )
    close(quick.particles, plain.particles, rtol=1e-2, atol=1e-3)
    assert quick.scores == pytest.approx(plain.scores, rel=1e-3)
    moved = np.abs(quick.particles["weights"]["w0"][:4] - start["weights"]["w0"])
    assert moved.max() > 1e-3


def test_a_look_sees_networks(start):
    seen = []
    options = {"looks": 2, "progress": False, "on_look": lambda _, found: seen.append(found)}
    trained = train(network(), ROWS, Setting(), 4, start=start, **options, average=1, quick=True)
    assert len(seen) == 2
    close(seen[-1], trained.particles, rtol=0)


def test_large_networks_stay_as_they_are():
    wide = network((100, 100))
    start = first_networks(wide, 2, jax.random.key(0), *ROWS[:2])
    sampler = sampler_of(wide, ROWS, Setting(), 100, start)
    made = joined.quick(sampler, start)
    assert made.sampler is sampler
    assert made.start is start
    assert made.options == BRIEF


def test_a_quick_run_that_leaves_the_finite_numbers_names_the_parameter(start):
    options = {"start": start, "quick": True, "progress": False}
    with pytest.raises(
        spos.NonFiniteError, match=r"particle \d, parameter [a-z]+\.\w+\["
    ) as caught:
        train(network(), ROWS, Setting("sgld", step_size=1e30), 20, **options)
    state = caught.value.state
    assert jax.tree.structure(state.particles) == jax.tree.structure(start)
    assert jax.tree.structure(caught.value.result.particles) == jax.tree.structure(start)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.particles))


def test_a_quick_run_that_is_saved_goes_on(tmp_path, start):
    def run(**options):
        few = {"looks": 4, "progress": False, "quick": True}
        return train(network(), ROWS, Setting(), 20, start=start, **few, **options)

    def interrupt(number, _):
        if number == 2:
            raise KeyboardInterrupt

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=folder, on_look=interrupt)
    close(run(checkpoint=folder).particles, run().particles, rtol=0)
