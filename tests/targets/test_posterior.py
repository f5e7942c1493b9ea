"""Minibatch scores are unbiased, batches are what they say, and the prior counts once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import spos
from spos.targets.shuffle import distinct
from spos.types import Batch
from standard_errors import FAILURE_RATE, disagreement

N, B = 23, 5
rng = np.random.default_rng(0)
DATA = {"x": rng.normal(size=(N, 2)).astype(np.float32), "y": rng.normal(size=N).astype(np.float32)}
DATA["y"][-1] += 10.0  # an outlier, so that a row left out would show
THETA = np.float32([[0.3, -1.0], [2.0, 0.5], [0.0, 0.0]])


def log_likelihood(theta, batch):
    return -0.5 * (batch["y"] - batch["x"] @ theta) ** 2


def log_prior(theta):
    return -2.0 * jnp.sum(theta**2)


def exact_score(theta=THETA):
    residual = DATA["y"] - theta @ DATA["x"].T
    return residual @ DATA["x"] - 4.0 * theta


def target(**options):
    return spos.posterior(log_likelihood, log_prior, DATA, **options)


def minibatch_scores(posterior, step=0, count=4000, weight_error=1.0):
    def one(key):
        batch = posterior.draw(key, step)
        batch = batch._replace(weights=batch.weights * weight_error)
        return posterior.score(THETA, batch)

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(step), count)))


@pytest.mark.parametrize("replace", [False, True])
def test_the_minibatch_score_is_unbiased(replace):
    posterior = target(batch_size=B, replace=replace)
    assert disagreement(minibatch_scores(posterior), exact_score()) <= 1


def test_a_wrong_weight_is_noticed():
    posterior = target(batch_size=B)
    wrong = B / (B + 1)  # N / (B + 1) in place of N / B
    assert disagreement(minibatch_scores(posterior, weight_error=wrong), exact_score()) > 1


def test_a_growing_batch_is_unbiased_at_every_size():
    posterior = target(batch_size=spos.schedules.growing_batch(2))
    assert disagreement(minibatch_scores(posterior, step=40), exact_score()) <= 1


def test_all_the_data_give_the_exact_score():
    for posterior in (target(), target(batch_size=N)):
        batch = posterior.draw(jax.random.key(0), 0)
        np.testing.assert_array_equal(batch.weights, np.ones(N))
        np.testing.assert_allclose(posterior.score(THETA, batch), exact_score(), rtol=1e-4)
        np.testing.assert_allclose(posterior.score(THETA), exact_score(), rtol=1e-4)


def test_the_prior_counts_once_whatever_the_batch():
    posterior = spos.posterior(lambda theta, batch: 0.0 * batch["y"], log_prior, DATA, batch_size=B)
    batch = posterior.draw(jax.random.key(0), 0)
    np.testing.assert_allclose(posterior.score(THETA, batch), -4.0 * THETA, rtol=1e-6)


def test_a_flat_prior_may_be_a_plain_number():
    posterior = spos.posterior(log_likelihood, lambda theta: 0.0, DATA)
    np.testing.assert_allclose(posterior.score(THETA), exact_score() + 4.0 * THETA, rtol=1e-4)


def test_a_batch_of_ones_own_is_weighted_by_its_size():
    sampler = spos.svgd(target(batch_size=B), 0.01, kernel=spos.rbf(1.0))
    state = sampler.init(THETA)
    rows = {"x": DATA["x"][:4], "y": DATA["y"][:4]}
    plain, _ = sampler.step(jax.random.key(0), state, rows)
    weighted, _ = sampler.step(jax.random.key(0), state, Batch(rows, jnp.full(4, N / 4)))
    np.testing.assert_array_equal(plain.particles, weighted.particles)
    other, _ = sampler.step(jax.random.key(0), state, Batch(rows, jnp.ones(4)))
    assert not np.array_equal(plain.particles, other.particles)


@pytest.mark.parametrize(("count", "total"), [(5, 23), (16, 16), (1, 1)])
def test_rows_are_distinct_and_each_is_equally_likely(count, total):
    repeats = 4000
    keys = jax.random.split(jax.random.key(total), repeats)
    rows = np.asarray(jax.jit(jax.vmap(lambda key: distinct(key, count, total)))(keys))
    assert rows.min() >= 0
    assert rows.max() < total
    assert all(len(set(row)) == count for row in rows.tolist())
    first = np.bincount(rows[:, 0], minlength=total)  # the first row alone: independent counts
    if total > 1:
        assert stats.chisquare(first).pvalue > FAILURE_RATE


def test_pairs_of_rows_are_as_likely_as_any_other():
    repeats, total = 40_000, 7
    keys = jax.random.split(jax.random.key(5), repeats)
    rows = np.asarray(jax.jit(jax.vmap(lambda key: distinct(key, 2, total)))(keys))
    pairs = np.bincount(rows[:, 0] * total + rows[:, 1], minlength=total**2).reshape(total, total)
    assert (np.diagonal(pairs) == 0).all()
    share = pairs[~np.eye(total, dtype=bool)] / repeats
    assert np.abs(share - 1 / (total * (total - 1))).max() < 0.2 / (total * (total - 1))


def test_with_replacement_rows_may_repeat():
    posterior = target(batch_size=N, replace=True)
    keys = jax.random.split(jax.random.key(1), 20)
    drawn = jax.jit(jax.vmap(lambda key: posterior.draw(key, 0).examples["y"]))(keys)
    assert all(len(set(row)) < N for row in np.asarray(drawn).tolist())


def test_a_growing_batch_follows_its_law_in_one_program(compilations):
    posterior = target(batch_size=spos.schedules.growing_batch(3, maximum=9))
    draw = jax.jit(lambda key, step: posterior.draw(key, step))
    key = jax.random.key(0)
    draw(key, np.int32(0))
    before = len(compilations)
    for k in (0, 1, 2, 6, 7, 50, 1999):
        weights = np.asarray(draw(key, np.int32(k)).weights)
        size = min(9, 3 + int(np.log(k + 1.0) ** (100 / 99)))
        np.testing.assert_allclose(weights[:size], N / size, rtol=1e-6)
        assert (weights[size:] == 0).all()
    assert len(compilations) == before
