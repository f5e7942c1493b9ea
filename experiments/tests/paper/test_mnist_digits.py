"""`spos paper mnist`, on the small digits that come with scikit-learn."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.ndimage import maximum_filter
from scipy.stats import binomtest

from spos.io import archive
from spos.networks.trainer import sampler_of
from spos_experiments.data import load
from spos_experiments.frame import resume
from spos_experiments.frame.perform import perform
from spos_experiments.paper import mnist
from spos_experiments.paper.mnist import paired, protocol
from spos_experiments.paper.mnist.findings import claims, percent
from spos_experiments.paper.mnist.networks import largest, lenet, patches
from spos_experiments.paper.mnist.outcomes import entropy, error
from spos_experiments.paper.mnist.settings import Scale

RECORDED = Path(__file__).parents[2] / "results" / "mnist" / "runs"
QUICK = mnist.Settings().quick()
THREE = {
    "methods": ("spos",),
    "usual": Scale(4, 100, 3, 1, averaged=2),
    "epochs": 3,
}


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
    filled = digits.odd["filled"][0].reshape(8, 8)
    np.testing.assert_array_equal(filled, maximum_filter(image, (2, 2)))


def test_entropy_and_error():
    chances = np.array([[0.5, 0.5], [1.0, 0.0]])
    assert entropy(chances) == pytest.approx(np.log(2) / 2)
    assert error(chances, np.array([0, 1])) == 0.5


@pytest.fixture(scope="module")
def dropout(digits):
    plan = QUICK.plan("dropout", "dense", (16, 16))._replace(input_noise=0.0, passes=False)
    model = protocol.network(plan, 64)
    start = model.start(jax.random.key(0), 1, digits.train.x, digits.train.y)
    setting = protocol.setting(plan, model, 0)
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
    plan = QUICK.plan("spos", "dense", (16, 16))._replace(epochs=3, averaged=2)
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
    np.testing.assert_array_equal(
        judged.wrong, np.flatnonzero(each.mean(axis=(0, 1)).argmax(axis=1) != digits.test.y)
    )
    assert len(judged.wrong) == judged.num_wrong > 0


def test_the_networks_at_the_ends_of_cycles_are_averaged(tmp_path, digits):
    """The step is large where a cycle begins and small where it ends."""
    plan = QUICK.plan("svgd", "dense", (16, 16))._replace(epochs=6, averaged=2, cycles=3)
    seen = {}
    trained = protocol.run(plan, digits.train, 0, tmp_path / "run", seen.__setitem__)
    assert list(seen) == [2, 4, 6]
    for leaf, *each in zip(
        *map(jax.tree.leaves, (trained.particles, seen[4], seen[6])), strict=True
    ):
        np.testing.assert_array_equal(leaf, np.concatenate(each))
    model, steps = protocol.network(plan, 64), len(digits.train.y) // plan.batch * plan.epochs
    start = model.start(jax.random.key(0), 1, digits.train.x, digits.train.y)
    sampler = sampler_of(model, digits.train, protocol.setting(plan, model, 0), steps, start)
    sizes = [float(sampler.step_size(step)) for step in range(steps)]
    ends = [sizes[n * steps // 3 - 1] for n in (1, 2, 3)]
    begins = [sizes[n * steps // 3] for n in (0, 1, 2)]
    assert max(ends) < 0.1 * min(begins)
    assert begins == pytest.approx([plan.step_size] * 3)


def test_single_networks_are_not_averaged():
    assert QUICK.plan("sgd", "dense", (16, 16)).particles == 1
    assert QUICK.plan("sgd", "dense", (16, 16)).averaged == 1


def test_each_size_has_its_scale():
    settings = mnist.Settings()
    plans = {(p.network, max(p.hidden), p.method): (p, n) for p, n in settings.plans()}
    for key, scale in (
        (("dense", 400, "spos"), settings.usual),
        (("dense", 800, "svgd"), settings.large),
        (("lenet", 128, "ensemble"), settings.lenet),
    ):
        plan, repeats = plans[key]
        assert (plan.particles, plan.batch, plan.epochs) == scale[:3]
        assert repeats == min(settings.seeds, scale.seeds)
        assert plan.input_noise == scale.input_noise
    assert plans["lenet", 128, "sgld"][1] == 1
    less, repeats = plans["dense", 400, "dropout"]
    assert (less.input_noise, repeats) == (settings.usual.input_noise / 2, 1)
    assert plans["dense", 800, "dropout"][0].input_noise == settings.large.input_noise / 2
    assert plans["dense", 400, "sgld"][1] == plans["dense", 800, "sgld"][1] == 1
    asked = dataclasses.replace(settings, methods=("sgld", "dropout"))
    found = {(plan.network, plan.method) for plan, _ in asked.plans()}
    assert found == {("dense", "sgld"), ("dense", "dropout"), ("lenet", "sgld")}
    short = dataclasses.replace(settings, epochs=3, seeds=1)
    assert {(p.epochs, n) for p, n in short.plans()} == {(3, 1)}


@pytest.mark.parametrize(("name", "method"), [("mnist", "sgd"), ("digits", "svgd")])
def test_options_that_exclude_each_other_are_refused(tmp_path, name, method):
    changed = {"networks": ("lenet",), "methods": (method,)}
    with pytest.raises(ValueError, match=f"{name} has nothing to run"):
        perform(name, tmp_path, quick=True, changed=changed)


def test_recorded_runs_are_found():
    """A change of a setting's name or type would forget hours of runs."""
    settings = mnist.Settings()
    names = {
        f"{mnist.name('mnist', plan)}-{resume.mark(plan, settings.held)}-seed{seed}.npz"
        for plan, seed in mnist.jobs(settings, 0)
    }
    assert names == {path.name for path in RECORDED.glob("*.npz")}


def test_every_method_is_built(digits):
    """Single networks climb; others are the library's. Their images have noise."""
    algorithms = {}
    for name in protocol.METHODS:
        plan = QUICK.plan(name, "dense", (16, 16))
        model = protocol.network(plan, 64)
        start = model.start(jax.random.key(0), 1, digits.train.x, digits.train.y)
        sampler = sampler_of(model, digits.train, protocol.setting(plan, model, 0), 100, start)
        algorithms[name] = sampler.algorithm
        target = sampler.target
        assert isinstance(target, protocol.Dropout) == (name == "dropout")
        assert isinstance(target.exact if name == "dropout" else target, protocol.Shown)
    climbs = dict.fromkeys(("ensemble", "rmsprop"), "climb")
    library = {"spos": "spos", "svgd": "svgd", "sgld": "psgld"}
    assert algorithms == {**library, **climbs, "sgd": "svgd", "dropout": "svgd"}


@pytest.fixture(scope="module")
def posterior(digits):
    model = protocol.network(QUICK.plan("spos", "dense", (16, 16)), 64)
    start = model.start(jax.random.key(0), 2, digits.train.x, digits.train.y)
    return model.posterior(digits.train.x, digits.train.y, 200), start


def shown(posterior, noise, passes, seed=3):
    return protocol.Shown(posterior, noise, jnp.asarray(seed), passes=passes)


def test_noise_is_on_the_pixels_of_a_batch_and_nowhere_else(posterior):
    exact, start = posterior
    noisy, key = shown(exact, 0.5, passes=False), jax.random.key(1)
    with_noise, without = noisy.draw(key), exact.draw(key)
    np.testing.assert_array_equal(with_noise.examples["y"], without.examples["y"])
    np.testing.assert_array_equal(with_noise.weights, without.weights)
    noise = with_noise.examples["x"] - without.examples["x"]
    assert abs(float(noise.mean())) < 0.5 * 6 / np.sqrt(noise.size)
    assert abs(float(noise.std()) / 0.5 - 1.0) < 6 / np.sqrt(2 * noise.size)
    again = noisy.draw(jax.random.key(2)).examples["x"]
    assert not np.allclose(again - exact.draw(jax.random.key(2)).examples["x"], noise)
    for a, b in zip(*(jax.tree.leaves(t.score(start)) for t in (noisy, exact)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_pass_shows_every_image_once(posterior, digits):
    exact, _ = posterior
    order, each = shown(exact, 0.0, passes=True), len(digits.train.y) // 200

    def seen(target, epoch):
        batches = [target.draw(jax.random.key(9), epoch * each + n) for n in range(each)]
        np.testing.assert_allclose(batches[0].weights, len(digits.train.y) / 200)
        return np.concatenate([batch.examples["x"] for batch in batches])

    first = seen(order, 0)
    distinct = len(np.unique(digits.train.x, axis=0))
    missing = len(digits.train.y) - len(first)
    assert len(np.unique(first, axis=0)) >= distinct - missing
    assert not np.array_equal(first, seen(order, 1))
    assert not np.array_equal(first, seen(shown(exact, 0.0, passes=True, seed=4), 0))
    np.testing.assert_array_equal(first, seen(order, 0))


def test_a_convolution_is_a_product_of_patches():
    x = jax.random.normal(jax.random.key(0), (3, 9, 9, 4))
    w = jax.random.normal(jax.random.key(1), (5, 5, 3, 6))
    seen = patches(x, 5)
    made = (w.reshape(-1, 6).T @ seen.reshape(len(seen), -1)).reshape(6, 5, 5, 4)
    exact = jax.lax.conv_general_dilated(
        x, w, (1, 1), "VALID", dimension_numbers=("CHWN", "HWIO", "CHWN")
    )
    np.testing.assert_allclose(made, exact, rtol=1e-4, atol=1e-4)


def test_the_largest_of_four_pixels():
    image = jnp.arange(25.0).reshape(1, 5, 5, 1)
    np.testing.assert_array_equal(largest(image)[0, :, :, 0], [[6, 8], [16, 18]])


def test_lenet_answers_for_every_image(digits):
    network = lenet(64, (3, 4), 5, 10)
    theta = network.init(jax.random.key(0))
    assert {name: leaf.shape for name, leaf in theta.items() if name[0] == "w"} == {
        "w0": (4, 3),
        "w1": (12, 4),
        "w2": (4, 5),
        "w3": (5, 10),
    }
    said = network.apply(theta, digits.test.x[:7])
    assert said.shape == (7, 10)
    np.testing.assert_allclose(said[2:3], network.apply(theta, digits.test.x[2:3]), rtol=1e-4)
    assert lenet(784, (12, 32), 128, 10).init(jax.random.key(0))["w2"].shape == (512, 128)


def test_lenet_learns(tmp_path):
    settings = {"networks": ("lenet",), "lenet": Scale(2, 50, 8, 1), "channels": (4, 6, 12)}
    made = perform(
        "mnist", tmp_path, quick=True, changed={**settings, "epochs": 8, "methods": ("ensemble",)}
    )
    (row,) = made.numbers["rows"]
    assert row["network"] == "lenet"
    assert row["error"] < 0.6  # chance is 0.9


def outcomes(**errors):
    """Made-up runs of LeNet or of dense networks, by method: errors in per cent."""
    made = {}
    for method, each in errors.items():
        blank = dict.fromkeys(mnist.Outcome._fields, 0.05)
        doubt = dict.fromkeys(("test", "turned", "inverted", "filled"), 0.5)
        if method == "ensemble":
            doubt = {**doubt, "filled": 0.6, "turned": 0.4, "inverted": 0.4}
        made[method] = [
            mnist.Outcome(
                **{
                    **blank,
                    "error": error / 100,
                    "wrong": None,
                    "nll": 0.04,
                    "reliability": np.zeros((3, 2)),
                    "entropy": doubt,
                    "single_entropy": dict.fromkeys(doubt, 0.45),
                }
            )
            for error in each
        ]
    return made


def verdicts(network, hidden, real=True, **errors):
    plan = mnist.Settings().plan("spos", network, hidden)
    runs = {plan._replace(method=name): ones for name, ones in outcomes(**errors).items()}
    return [claim.verdict for claim in claims(runs, real)]


def test_the_rules_give_every_verdict():
    dense = "dense", (400, 400)
    good = verdicts(*dense, spos=[1.2, 1.24], svgd=[1.2, 1.3])
    assert good == ["holds"] * 6
    bad = verdicts(*dense, spos=[1.4, 1.34], svgd=[1.2, 1.3])
    assert bad == ["not seen"] * 3 + ["holds"] * 3
    between = verdicts(*dense, spos=[1.25, 1.27], svgd=[1.2, 1.3], sgld=[1.5])
    assert between == ["holds", "not seen", "holds only when against SGLD"] + ["holds"] * 3
    assert verdicts(*dense, real=False, spos=[1.0]) == ["holds"]
    conv = verdicts("lenet", (12, 32, 128), spos=[0.6], ensemble=[0.6])
    assert conv[:2] == ["holds", "holds"]
    assert conv[2] == "holds only when with SPOS"
    assert conv[3] == "holds only when on turned; or inverted"
    assert verdicts("lenet", (12, 32, 128), spos=[0.61], ensemble=[0.6])[:2] == ["not seen"] * 2


def judged(error, wrong=None, nll=0.04, ece=0.004):
    (one,) = outcomes(spos=[error])["spos"]
    wrong = None if wrong is None else np.array(wrong, int)
    bins = np.array([[0.0], [0.0], [100.0]])  # so that per cent are images
    return one._replace(nll=nll, ece=ece, wrong=wrong, reliability=bins)


def test_images_that_one_method_gets_wrong_more_often_are_counted():
    ours = [judged(1.0, [1, 2, 3]), judged(1.0, [2, 3, 4, 9]), judged(1.0)]
    theirs = [judged(1.0, [3, 7]), judged(1.0, [4, 1]), judged(1.0, [0, 5])]
    # images 2 and 9 for the one, 7 for the other; 1 and 4 are even, 3 was wrong with all but one
    found = paired.signs(ours, theirs)
    assert found[:3] == (2, 3, 1)
    assert found.p == pytest.approx(10 / 16)  # 4 coins: all splits but 2 and 2
    assert paired.signs(theirs, ours)[:3] == (2, 1, 3)
    assert paired.signs(ours[2:], theirs[2:]) is None
    assert paired.signs(ours[:1], ours[:1]) == (1, 0, 0, 1.0)
    assert paired.signs([judged(1.0, [])], [judged(1.0, [])]).p == 1.0
    ten = [judged(1.0, range(10))]
    assert paired.signs(ten, [judged(1.0, [])]).p == pytest.approx(2 / 2**10)


def test_without_the_images_there_is_a_bound():
    for n in range(1, 12):
        all_p = [binomtest(n + back, n + 2 * back).pvalue for back in range(20)]
        assert paired.least(n) == pytest.approx(min(all_p))
    assert paired.least(0) == 1.0
    spos, svgd = [judged(1.0), judged(2.0)], [judged(3.0), judged(1.0)]
    told = paired.claims("400-400", spos, svgd)[0].measured
    assert "differ by 2 at most, for which p is at least 0.5" in told


def test_the_rule_of_chance_gives_every_verdict():
    def found(ours, theirs, *images):
        spos, svgd = ([judged(e) for e in errors] for errors in (ours, theirs))
        if images:
            spos[0], svgd[0] = judged(ours[0], images[0]), judged(theirs[0], images[1])
        return paired.claims("400-400", spos, svgd)[0].verdict

    one, other = range(30), range(20, 50)
    assert found([1.0, 1.1, 1.0], [1.1, 1.0, 1.0]) == "holds"
    assert found([1.0, 1.1, 1.0], [1.1, 1.0, 1.0], one, other) == "holds"
    assert found([1.0, 1.1, 1.2], [0.9, 1.0, 1.1]) == "not seen"
    assert found([0.9, 1.0, 1.1], [1.0, 1.1, 1.2]) == "not seen"  # to err less is a difference too
    assert found([1.0, 1.1, 1.2], [0.9, 1.0, 1.1], one, other) == "holds only when over images"
    assert found([1.0, 1.1, 1.0], [1.1, 1.0, 1.0], one, []) == "holds only when over seeds"
    assert found([1.0, 1.1, 1.2], [0.9, 1.0, 1.1], one, []) == "not seen"
    assert paired.claims("400-400", [judged(1.0)], [judged(1.1)] * 3) == []


def test_probabilities_are_compared_run_by_run():
    def found(*less):
        spos = [judged(1.0, nll=0.04 + nll, ece=0.004 + ece) for nll, ece in less]
        return paired.claims("LeNet", spos, [judged(1.0)] * len(less))[1]

    assert found((0.001, -0.002), (-0.003, 0.001)).verdict == "holds"
    assert found((0.001, -0.002), (0.0, 0.001)).verdict == "holds only when by calibration error"
    worse = found((0.001, 0.002), (0.003, 0.001))
    assert worse.verdict == "not seen"
    assert "−log p +0.0020 ± 0.0010, calibration error +0.0015 ± 0.0005" in worse.measured


def test_errors_of_several_seeds_have_a_standard_error():
    assert percent([0.0125]) == "1.25"
    assert percent([0.0120, 0.0130]) == "1.25 ± 0.05"


def test_particles_say_their_chances(digits):
    plan = QUICK.plan("spos", "dense", (16, 16))
    model = protocol.network(plan, 64)
    start = model.start(jax.random.key(0), 3, digits.train.x, digits.train.y)
    found = protocol.chances(plan, start, digits.test.x[:5])
    one = jax.tree.map(lambda leaf: leaf[1], start["weights"])
    np.testing.assert_allclose(
        found[1], jax.nn.softmax(model.network.apply(one, digits.test.x[:5])), rtol=1e-5
    )
    sure = jax.tree.map(lambda leaf: 1e4 * leaf, start)  # others round to zero, not their logs
    assert np.isfinite(np.log(protocol.chances(plan, sure, digits.test.x[:5]))).all()
