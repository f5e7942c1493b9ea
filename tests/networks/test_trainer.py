"""The trainer: what its settings mean, which networks it gives, and that a saved run goes on."""

import math
import subprocess
import sys

import jax
import numpy as np
import pytest

import spos
from spos.networks import predict
from spos.networks.looks import Looks
from spos.networks.methods import METHODS
from spos.networks.rows import Rows
from spos.networks.trainer import Setting, first_networks, sampler_of, train
from spos.targets import bnn, likelihoods, priors, relu_network

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2)).astype(np.float32)
ROWS = Rows(X, X[:, 0] - X[:, 1])
NEW = Rows(X[:20] + 0.5, X[:20, 0] - X[:20, 1], np.ones(20, np.float32))
NETWORK = bnn(relu_network(2, 1, (3,)), likelihood=likelihoods.gaussian(), prior=priors.normal())
SETTING = Setting("svgd", step_size=1e-2, batch_size=16)


@pytest.fixture(scope="module")
def start():
    return first_networks(NETWORK, 4, jax.random.key(0), *ROWS[:2])


def sampler(start, rows=ROWS, **setting):
    return sampler_of(NETWORK, rows, Setting(**setting), 100, start)


def trained(start, **options):
    return train(NETWORK, ROWS, SETTING, 40, start=start, looks=8, progress=False, **options)


def same(one, other):
    for a, b in zip(*map(jax.tree.leaves, (one, other)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_method_has_its_name(start):
    family = {"spos", "svgd", "pos", "blob", "gfsd", "gfsf", "psgld", "sgld", "sghmc", "noisy_svgd"}
    assert set(METHODS) == family
    for name in METHODS:
        assert sampler(start, method=name).algorithm == name
    with pytest.raises(ValueError, match=r"method.*spos.*'newton'"):
        sampler(start, method="newton")


def test_the_step_of_a_method(start):
    assert sampler(start, method="spos").step_size(0) == pytest.approx(3e-2)
    wide = jax.tree.map(lambda leaf: leaf, start)
    wide["weights"] = {**start["weights"], "w1": np.zeros((4, 100, 1))}
    assert sampler(wide, method="spos").step_size(0) == pytest.approx(1.5e-2)
    by_rows = sampler(start, method="sgld", step_size=0.1)
    assert by_rows.step_size(0) == pytest.approx(0.1 / 80)
    weighted = sampler(start, ROWS.counted(2.0), method="sgld", step_size=0.1)
    assert weighted.step_size(0) == pytest.approx(0.1 / 160)


def test_the_step_falls_along_half_a_cosine(start):
    falling = sampler(start, step_size=0.2, last_step=0.05).step_size
    found = [float(falling(step)) for step in (0, 50, 100, 200)]
    assert found == pytest.approx([0.2, 0.2 * 0.525, 0.01, 0.01])
    assert float(sampler(start, step_size=0.2, last_step=None).step_size(100)) == 0.2


def test_the_step_falls_in_cycles_that_end_with_looks(start):
    falling = sampler(start, step_size=0.2, last_step=0.05, cycles=4).step_size
    found = [float(falling(step)) for step in (0, 24, 25, 50, 75, 99)]
    assert found == pytest.approx([0.2, 0.0107, 0.2, 0.2, 0.2, 0.0107], rel=1e-2)
    ends = []
    setting = SETTING._replace(cycles=4)
    train(
        NETWORK,
        ROWS,
        setting,
        40,
        start=start,
        looks=4,
        progress=False,
        on_look=lambda number, _: ends.append(number),
    )
    assert ends == [1, 2, 3, 4]


def test_a_setting_reaches_the_sampler(start):
    plain = sampler(start, method="spos", beta=3.0)
    assert (plain.beta, plain.preconditioner) == (3.0, spos.rmsprop(0.9))
    assert sampler(start, method="psgld").preconditioner == spos.rmsprop(0.99)
    other = sampler(start, method="psgld", preconditioner=spos.adagrad(), batch_size=1000)
    assert other.preconditioner == spos.adagrad()
    assert other.target.batch.maximum == 80  # no more than there are
    assert sampler(start, method="svgd", bandwidth=7.0).kernel == spos.rbf(7.0)


def test_a_fixed_bandwidth_is_that_of_the_start(start):
    flat = np.concatenate([np.reshape(w, (4, -1)) for w in jax.tree.leaves(start["weights"])], 1)
    expected = 2.0 * (flat.astype(np.float64) ** 2).sum(1).mean() / math.log(5)
    found = sampler(start, method="noisy_svgd").kernel.bandwidth
    assert found == pytest.approx(expected, rel=1e-6)


def test_the_networks_of_the_last_looks_are_given(start):
    seen = {}
    result = trained(start, average=2, on_look=seen.__setitem__)
    assert list(seen) == list(range(1, 9))
    assert (result.num_steps, result.interrupted, result.scores) == (40, False, [])
    same(result.particles, jax.tree.map(lambda a, b: np.concatenate([a, b]), seen[7], seen[8]))
    same(trained(start, average=2, seed=jax.random.key(0)).particles, result.particles)
    with pytest.raises(AssertionError):
        same(trained(start, average=2, seed=1).particles, result.particles)


def test_the_validation_set_chooses(start):
    seen = []
    result = trained(
        start, average=2, validation=NEW, on_look=lambda n, particles: seen.append(particles)
    )
    pools = [
        jax.tree.map(lambda *leaves: np.concatenate(leaves), *seen[max(0, n - 1) : n + 1])
        for n in range(8)
    ]
    scores = [float(NETWORK.log_predictive(pool, NEW.x, NEW.y).mean()) for pool in pools]
    np.testing.assert_allclose(result.scores, scores, rtol=1e-4)
    late = scores[4:]  # the first half has to be clearly better, and is not
    assert max(scores[:4]) < max(late)
    same(result.particles, pools[4 + int(np.argmax(late))])
    assert result.terms.shape == (20,)


def test_training_stops_early_after_patience_is_lost(monkeypatch):
    told = iter([-3.0, -1.0, -2.0, -0.5, -0.6, -0.5, -0.7])
    monkeypatch.setattr(predict, "log_terms", lambda *_: np.full((1, 20), next(told)))
    looks = Looks(NETWORK, 1, NEW, patience=3)
    ended = [looks.see({"n": np.asarray([n])}) for n in range(7)]
    assert ended == [False] * 6 + [True]
    np.testing.assert_array_equal(looks.pool(None)["n"], [3])


def seen_by(monkeypatch, rows, **options):
    """Looks whose rows have these log-densities, one line a look."""
    told = iter(np.asarray(rows, np.float64))
    monkeypatch.setattr(predict, "by_blocks", lambda *_: next(told)[None])
    looks = Looks(NETWORK, 1, NEW, **options)
    ended = [looks.see({"n": np.asarray([n])}) for n in range(len(rows))]
    return ended, int(looks.pool(None)["n"][0])


def test_no_run_ends_in_the_valley_of_its_first_half(monkeypatch):
    """The score falls for long and rises late: patience counts in the second half only."""
    noise = np.random.default_rng(0).normal(size=20)
    scores = [-1.0, -1.5, -1.6, -1.7, -1.3, -1.2, -0.9, -0.8]
    ended, kept = seen_by(monkeypatch, [s + noise for s in scores], patience=2, first_half=4)
    assert ended == [False] * 8
    assert kept == 7
    falling = [-2.0, -2.1, -2.2, -2.3, -1.0, -1.1, -1.2, -1.3]
    ended, kept = seen_by(monkeypatch, [s + noise for s in falling], patience=2, first_half=4)
    assert ended == [False] * 6 + [True, True]
    assert kept == 4


@pytest.mark.parametrize(("gain", "kept"), [(0.1, 4), (1.0, 1)])
def test_early_networks_are_kept_only_if_clearly_better(monkeypatch, gain, kept):
    """Differences of ±1 on 20 rows have a standard error of 0.22."""
    late = np.zeros(20)
    early = gain + np.tile([1.0, -1.0], 10)
    rows = [late - 1, early, late - 1, late - 1, late, late - 0.1]
    assert seen_by(monkeypatch, rows, first_half=3)[1] == kept


@pytest.mark.parametrize("before", [1, 3, 8])
def test_a_saved_run_goes_on(tmp_path, start, before):
    """Interrupted at a look, the second run sees them all, and ends in the same bits."""
    whole = trained(start, validation=NEW, patience=8)

    def interrupt(number, particles):
        if number == before:
            raise KeyboardInterrupt

    options = {"validation": NEW, "patience": 8, "checkpoint": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        trained(start, **options, on_look=interrupt)
    seen = []
    again = trained(start, **options, on_look=lambda number, _: seen.append(number))
    assert seen == list(range(1, 9))
    assert again.scores == whole.scores
    same(again.particles, whole.particles)
    same(trained(start, **options).particles, whole.particles)  # nothing is left to do
    with pytest.raises(ValueError, match="belongs to another run"):
        trained(start, **options, seed=1)


def test_a_bad_argument_is_named(start):
    for options, message in (
        ({"average": 0}, "average.*at least 1.*0"),
        ({"patience": 0}, "patience.*at least 1.*0"),
    ):
        with pytest.raises(ValueError, match=message):
            trained(start, **options)


def test_no_scikit_learn_is_needed():
    code = """
import sys
sys.modules["sklearn"] = sys.modules["scipy"] = None  # the import system's word for "not there"
import spos.networks.trainer
"""
    subprocess.run([sys.executable, "-c", code], check=True)
