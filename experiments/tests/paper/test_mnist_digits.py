"""`spos paper mnist`, on the small digits that come with scikit-learn."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from spos.io import archive
from spos.networks.trainer import sampler_of
from spos_experiments.data import load
from spos_experiments.frame import resume
from spos_experiments.frame.perform import perform
from spos_experiments.paper import mnist
from spos_experiments.paper.mnist import protocol
from spos_experiments.paper.mnist.findings import entropy, error

RECORDED = Path(__file__).parents[2] / "results" / "mnist" / "runs"
QUICK = mnist.Settings().quick()
THREE = {"methods": ("spos",), "epochs": 3, "averaged": 2}


@pytest.fixture(scope="module")
def digits():
    return protocol.sets(load("digits"), 0.1)


def test_no_image_is_in_two_sets(digits):
    sizes = [len(part.y) for part in digits[:3]]
    assert sum(sizes) == 1797
    joined = np.concatenate([part.x for part in digits[:3]])
    raw = load("digits").X
    assert len(np.unique(joined, axis=0)) == len(np.unique(raw, axis=0))
    np.testing.assert_allclose([digits.train.x.mean(), digits.train.x.std()], [0, 1], atol=1e-5)


def test_odd_images(digits):
    image = digits.test.x[0].reshape(8, 8)
    np.testing.assert_array_equal(digits.odd["turned"][0].reshape(8, 8), np.rot90(image))
    total = digits.odd["inverted"][0] + digits.test.x[0]
    np.testing.assert_allclose(total, total[0], rtol=1e-4)


def test_entropy_and_error():
    chances = np.array([[0.5, 0.5], [1.0, 0.0]])
    assert entropy(chances) == pytest.approx(np.log(2) / 2)
    assert error(chances, np.array([0, 1])) == 0.5


@pytest.fixture(scope="module")
def dropout(digits):
    plan = QUICK.plan("dropout", (16, 16))
    model = protocol.network(plan, 64)
    start = model.start(jax.random.key(0), 1, digits.train.x, digits.train.y)
    setting = protocol.setting(plan, model)
    return sampler_of(model, digits.train, setting, 100, start).target, start


def test_dropout_leaves_out_half_and_keeps_the_mean(dropout):
    target, _ = dropout
    _, masks = target.draw(jax.random.key(0))
    assert [mask.shape for mask in masks] == [(100, 16), (100, 16)]
    assert {float(value) for value in np.unique(masks[0])} == {0.0, 2.0}
    assert abs(float(masks[0].mean()) - 1.0) < 0.15  # 6 sd of 1600 fair coins


def test_dropout_with_nothing_left_out_is_the_posterior(dropout):
    target, start = dropout
    thinned = target.draw(jax.random.key(0))
    ones = thinned._replace(masks=[jnp.ones_like(mask) for mask in thinned.masks])
    plain = target.score(start, thinned.batch)
    for a, b in zip(*map(jax.tree.leaves, (target.score(start, ones), plain)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    moved = jax.tree.leaves(target.score(start, thinned))[0]
    assert not np.allclose(moved, jax.tree.leaves(plain)[0], rtol=0.1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return perform("mnist", tmp_path_factory.mktemp("whole"), quick=True, changed=THREE)


def test_a_record(whole):
    (row,) = whole.numbers["rows"]
    assert (row["method"], row["particles"], row["epochs"], row["averaged"]) == ("spos", 4, 3, 2)
    assert 0 <= row["error"] < 0.9  # chance is 0.9
    assert row["nll"] <= row["single_nll"]  # Jensen: the average is never worse than one alone


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_run_goes_on_after_an_interruption(tmp_path, monkeypatch, whole, after):
    """Before the networks of the last but one epoch, those of the last, or the outcome is kept."""
    write, kept = archive.write, []

    def interrupted(path, *content):
        if path.suffix == ".npz" and not path.name.startswith("step-"):
            if len(kept) == after:
                raise KeyboardInterrupt
            kept.append(path)
        return write(path, *content)

    monkeypatch.setattr(archive, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        perform("mnist", tmp_path, quick=True, changed=THREE)
    assert len(kept) == after
    monkeypatch.undo()
    again = perform("mnist", tmp_path, quick=True, changed=THREE)
    same = ("error", "nll", "ece", "last_nll", "entropy", "single_nll")
    assert [{k: row[k] for k in same} for row in again.numbers["rows"]] == [
        {k: row[k] for k in same} for row in whole.numbers["rows"]
    ]


def test_the_networks_of_the_last_epochs_are_averaged(tmp_path, digits):
    plan = QUICK.plan("spos", (16, 16))._replace(epochs=3)
    seen = {}
    trained = protocol.run(plan, digits.train, 0, tmp_path / "run", seen.__setitem__)
    assert list(seen) == [1, 2, 3]
    assert trained.seconds > 0
    for leaf, *each in zip(
        *map(jax.tree.leaves, (trained.particles, seen[2], seen[3])), strict=True
    ):
        np.testing.assert_array_equal(leaf, np.concatenate(each))
    judged = mnist.judge(plan, trained.particles, digits, trained.seconds)
    each = np.stack([protocol.chances(plan, seen[n], digits.test.x) for n in (2, 3)])
    right = np.arange(len(digits.test.y)), digits.test.y
    assert judged.error == error(each.mean(axis=(0, 1)), digits.test.y)
    assert judged.nll == pytest.approx(-np.log(each.mean(axis=(0, 1))[right]).mean(), rel=1e-4)
    assert judged.last_nll == pytest.approx(-np.log(each[1].mean(axis=0)[right]).mean(), rel=1e-4)
    assert judged.last_error == error(each[1].mean(axis=0), digits.test.y)


def test_single_networks_are_not_averaged():
    assert QUICK.plan("sgd", (16, 16)).particles == 1
    assert QUICK.plan("sgd", (16, 16)).averaged == 1


def test_wide_networks_are_fewer_and_take_fewer_epochs():
    settings = mnist.Settings()
    usual, wide = (settings.plan("spos", hidden) for hidden in settings.hidden)
    assert (usual.particles, usual.epochs) == (settings.particles, settings.epochs)
    assert (wide.particles, wide.epochs) == (settings.large_particles, settings.large_epochs)
    short = dataclasses.replace(settings, epochs=3)
    assert short.plan("spos", (800, 800)).epochs == 3


def test_recorded_runs_are_found():
    """A change of a setting's name or type would forget hours of runs."""
    settings = mnist.Settings()
    plans = [settings.plan(method, size) for size in settings.hidden for method in settings.methods]
    names = {
        f"{mnist.name('mnist', plan)}-{resume.mark(plan, settings.held)}-seed0.npz"
        for plan in plans
    }
    assert names == {path.name for path in RECORDED.glob("*.npz")}


def test_every_method_is_built(digits):
    """Single networks climb; others are the library's."""
    algorithms = {}
    for name in protocol.METHODS:
        plan = QUICK.plan(name, (16, 16))
        model = protocol.network(plan, 64)
        start = model.start(jax.random.key(0), 1, digits.train.x, digits.train.y)
        sampler = sampler_of(model, digits.train, protocol.setting(plan, model), 100, start)
        algorithms[name] = sampler.algorithm
        assert isinstance(sampler.target, protocol.Dropout) == (name == "dropout")
    library = {"spos": "spos", "rmsprop": "svgd", "svgd": "svgd", "sgld": "psgld"}
    assert algorithms == {**library, "sgd": "svgd", "dropout": "svgd"}


def test_particles_say_their_chances(digits):
    plan = QUICK.plan("spos", (16, 16))
    model = protocol.network(plan, 64)
    start = model.start(jax.random.key(0), 3, digits.train.x, digits.train.y)
    found = protocol.chances(plan, start, digits.test.x[:5])
    one = jax.tree.map(lambda leaf: leaf[1], start["weights"])
    np.testing.assert_allclose(
        found[1], jax.nn.softmax(model.network.apply(one, digits.test.x[:5])), rtol=1e-5
    )
    sure = jax.tree.map(lambda leaf: 1e4 * leaf, start)  # others round to zero, not their logs
    assert np.isfinite(np.log(protocol.chances(plan, sure, digits.test.x[:5]))).all()
