"""`spos paper mnist`, on the small digits that come with scikit-learn."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from spos.io import archive
from spos.targets import bnn, likelihoods, priors
from spos_experiments.data import load
from spos_experiments.frame.perform import perform
from spos_experiments.paper import mnist
from spos_experiments.paper.mnist import protocol
from spos_experiments.paper.mnist.findings import entropy, error

pytestmark = pytest.mark.usefixtures("hasty")
QUICK = mnist.Settings().quick()
THREE = {"methods": ("spos",), "epochs": 3, "averaged": 2}


@pytest.fixture(scope="module")
def digits(hasty):
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
    classifier = protocol.Classifier(QUICK.plan("dropout", (16, 16)), digits.train)
    start = classifier.model.start(jax.random.key(0), 1, digits.train.x, digits.train.y)
    return classifier.sampler.target, start


def test_dropout_leaves_out_half_and_keeps_the_mean(dropout):
    target, _ = dropout
    _, masks = target.draw(jax.random.key(0))
    assert [mask.shape for mask in masks] == [(100, 16), (100, 16)]
    assert {float(value) for value in np.unique(masks[0])} == {0.0, 2.0}
    assert abs(float(masks[0].mean()) - 1.0) < 0.15  # 6 sd of 1600 fair coins


def test_dropout_with_nothing_left_out_is_the_posterior(dropout):
    target, start = dropout
    batch, masks = target.draw(jax.random.key(0))
    ones = [jnp.ones_like(mask) for mask in masks]
    plain = target.exact.score(start, batch)
    for a, b in zip(
        *map(jax.tree.leaves, (target.score(start, (batch, ones)), plain)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    moved = jax.tree.leaves(target.score(start, (batch, masks)))[0]
    assert not np.allclose(moved, jax.tree.leaves(plain)[0], rtol=0.1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, hasty):
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
    classifier = protocol.Classifier(QUICK.plan("spos", (16, 16))._replace(epochs=3), digits.train)
    seen = {}
    networks, seconds = classifier.run(0, tmp_path / "run", seen.__setitem__)
    assert list(seen) == [1, 2, 3]
    assert seconds > 0
    for one, epoch in zip(networks, (2, 3), strict=True):
        for a, b in zip(*map(jax.tree.leaves, (one, seen[epoch])), strict=True):
            np.testing.assert_array_equal(a, b)
    judged = mnist.judge(classifier, networks, digits, seconds)
    each = np.stack([classifier.chances(one, digits.test.x) for one in networks])
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


def test_particles_average_their_chances(digits):
    classifier = protocol.Classifier(QUICK.plan("spos", (16, 16)), digits.train)
    start = classifier.model.start(jax.random.key(0), 3, digits.train.x, digits.train.y)
    found = classifier.chances(start, digits.test.x[:5])
    model = bnn(classifier.model.apply, classifier.model.init, likelihoods.categorical())
    one = jax.tree.map(lambda leaf: leaf[1], start["weights"])
    np.testing.assert_allclose(
        found[1], jax.nn.softmax(model.apply(one, digits.test.x[:5])), rtol=1e-5
    )
    sure = jax.tree.map(lambda leaf: 1e4 * leaf, start)  # others round to zero, not their logs
    assert np.isfinite(np.log(classifier.chances(sure, digits.test.x[:5]))).all()
    with pytest.raises(TypeError, match="prior must come from"):
        bnn(model.apply, model.init, model.likelihood, priors)
