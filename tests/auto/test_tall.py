"""Tall data without knobs: minibatches around the mode, and a verdict that knows their biases."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import spos
from spos.adapters.minibatches import has_minibatches, with_minibatches
from spos.adapters.subject import read_subject
from spos.auto.tall import noise, run
from spos.auto.tall.judge import checks_of
from spos.auto.tall.place import FLAT, Place, _on_all

RNG = np.random.default_rng(0)
ROWS, SIZE, BATCH = 4000, 3, 40
X = RNG.normal(size=(ROWS, SIZE)).astype(np.float32) * np.array([1.0, 0.1, 10.0], np.float32)
W = np.array([0.5, -3.0, 0.1])
Y = (RNG.uniform(size=ROWS) < 1.0 / (1.0 + np.exp(-X @ W))).astype(np.float32)
START = jax.random.uniform(jax.random.key(1), (60, SIZE), minval=-2.0, maxval=2.0)


def log_likelihood(w, batch):
    logit = batch["x"] @ w
    return batch["y"] * logit - jnp.logaddexp(0.0, logit)


def log_prior(w):
    return -0.5 * jnp.sum(w**2) / 25.0


def logistic(x, y=None, rows=BATCH):
    w = numpyro.sample("w", dist.Normal(0.0, 5.0).expand([SIZE]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=rows) as some:
        law = dist.Bernoulli(logits=x[some] @ w)
        numpyro.sample("y", law, obs=None if y is None else y[some])


@pytest.fixture(scope="module")
def truth():
    """Moments of the logistic posterior by importance sampling from its normal approximation."""
    w = np.zeros(SIZE)
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-X @ w))
        curvature = (X * (p * (1 - p))[:, None]).T @ X + np.eye(SIZE) / 25.0
        w = w + np.linalg.solve(curvature, X.T @ (Y - p) - w / 25.0)
    noise = np.random.default_rng(1).normal(size=(4000, SIZE))
    draws = w + noise @ np.linalg.inv(np.linalg.cholesky(curvature))
    logit = draws @ X.T.astype(float)
    log_p = (Y * logit - np.logaddexp(0, logit)).sum(1) - 0.5 * (draws**2).sum(1) / 25.0
    weight = np.exp(log_p + 0.5 * (noise**2).sum(1) - (log_p + 0.5 * (noise**2).sum(1)).max())
    assert weight.sum() ** 2 / (weight**2).sum() > 3000
    mean = np.average(draws, 0, weight)
    return mean, np.sqrt(np.average((draws - mean) ** 2, 0, weight))


@pytest.fixture(scope="module")
def fits():
    posterior = spos.posterior(log_likelihood, log_prior, {"x": X, "y": Y})
    return {
        "posterior": spos.fit(posterior, start=START, batch_size=BATCH),
        "numpyro": spos.fit(logistic, X, Y, num_particles=60, seed=1),
    }


def off(draws, truth):
    """Of means, in standard deviations, and of standard deviations, relative."""
    mean, sd = truth
    draws = np.asarray(draws, np.float64)
    return np.abs(draws.mean(0) - mean) / sd, np.abs(draws.std(0) / sd - 1.0)


@pytest.mark.parametrize("language", ["posterior", "numpyro"])
def test_it_is_right_and_says_so(fits, truth, language):
    fit = fits[language]
    assert fit.converged, fit.report()
    draws = fit.draws["w"] if language == "numpyro" else fit.draws
    shift, scale = off(draws, truth)
    assert shift.max() < 0.1
    assert scale.max() < 0.1
    # an exact run takes at least 50,000 evaluations of all rows
    assert fit.evaluations < 5000
    names = [check.name for check in fit.verdict.checks]
    assert names[:4] == ["one mode", "mode", "bias by step", "bias by noise"]
    assert f"minibatches of {BATCH} of 4,000 rows" in fit.report()


@pytest.mark.parametrize("far", [0.3, 0.6, 0.8])
def test_the_mode_of_all_rows_is_found_from_far_away(far):
    """The curvature of a Poisson law's log-density changes so fast that steps with that of the
    start go too far, or hardly anywhere."""
    counts = np.random.default_rng(2).poisson(np.exp(X @ W / 4.0)).astype(np.float32)
    posterior = spos.posterior(
        lambda w, batch: batch["y"] * (batch["x"] @ w) - jnp.exp(batch["x"] @ w),
        log_prior,
        {"x": X, "y": counts},
        batch_size=BATCH,
    )
    found = _on_all(posterior, jnp.zeros(SIZE), W / 4.0 + far * np.array([1, 1, 0.1]), np.eye(SIZE))
    assert found is not None
    assert found[0].steepness < FLAT


def test_a_fit_from_minibatches_predicts_plots_and_is_saved(fits, tmp_path):
    fit = fits["numpyro"]
    assert fit.predict(X[:5])["y"].shape == (len(fit.draws["w"]), 5)
    assert "posterior" in fit.to_arviz()
    assert fit.plot().get_axes()
    loaded = spos.load(fit.save(tmp_path / "fit.npz"))
    assert loaded.report() == fit.report()


def test_scores_are_unbiased_and_their_noise_vanishes_at_the_mode():
    posterior = spos.posterior(log_likelihood, log_prior, {"x": X, "y": Y}, batch_size=BATCH)
    centre = jnp.asarray(W, jnp.float32)
    target = noise.Centred(
        posterior,
        START[0],
        centre,
        jnp.diag(jnp.array([0.1, 0.5, 0.01])),
        posterior.score(centre[None])[0],
    )
    z = jnp.asarray([[0.0, 0.0, 0.0], [1.0, -1.0, 1.0]])
    keys = jax.random.split(jax.random.key(0), 3000)
    scores = np.asarray(
        jax.jit(lambda: jax.lax.map(lambda k: target.score(z, target.draw(k)), keys))()
    )
    exact = np.asarray(target.score(z))
    error = scores.std(0) / np.sqrt(len(keys))
    assert (np.abs(scores.mean(0) - exact)[1] < 5.0 * error[1]).all()
    np.testing.assert_allclose(
        scores[:, 0], np.broadcast_to(exact[0], scores[:, 0].shape), atol=0.05
    )
    plain = np.asarray(
        jax.jit(
            lambda: jax.lax.map(
                lambda k: posterior.score(centre[None], posterior.draw(k)), keys[:50]
            )
        )()
    )
    assert plain.std(0).max() > 50.0  # which is what the correction takes away


def test_the_step_follows_the_noise():
    """Of the stationary law of a Langevin step on a standard normal with score noise λ."""
    for eigenvalue in (0.0, 1.0, 30.0):
        h = noise.step_size(eigenvalue) / 2
        variance = (1.0 + h * eigenvalue / 2) / (1.0 - h / 2)
        assert np.sqrt(variance) - 1.0 < 1.1 * noise.BIAS
    assert noise.step_size(0.0) == noise.LONGEST


def found_by(kept, coarse, eigenvalue=0.0, others=0):
    place = Place(np.zeros(2), np.eye(2), np.zeros(2), 0.0, others, 0)
    checks = checks_of(kept, coarse, eigenvalue, 0.04, place)
    return {check.name for check in checks if not check.passed}


def test_every_check_can_fail_and_a_good_run_passes_all():
    good, other = RNG.normal(size=(2, 100, 60, 2))
    assert found_by(good, other) == set()
    assert found_by(good, other + 0.2) == {"bias by step"}
    assert found_by(good, other * 1.2) == {"bias by step"}
    assert found_by(good, other, eigenvalue=4.0) == {"bias by noise"}
    assert found_by(good, other, others=1) == {"one mode"}
    stuck = good + RNG.normal(size=(60, 2))
    assert found_by(stuck, stuck + 0.0) == {"precision", "mixing"}
    drifting = good + np.linspace(-1.0, 1.0, 100)[:, None, None]
    assert "trend" in found_by(drifting, drifting)


def two_modes(y):
    m = numpyro.sample("m", dist.Normal(0.0, 3.0))
    with numpyro.plate("rows", len(y), subsample_size=20) as some:
        numpyro.sample("y", dist.Normal(m**2, 1.0), obs=y[some])


def no_mode(y):
    m = numpyro.sample("m", dist.ImproperUniform(dist.constraints.real, (), ()))
    n = numpyro.sample("n", dist.ImproperUniform(dist.constraints.real, (), ()))
    with numpyro.plate("rows", len(y), subsample_size=20) as some:
        numpyro.sample("y", dist.Normal(m + n, 1.0), obs=y[some])


def test_both_clouds_walk_for_the_same_time(monkeypatch):
    """The one whose step is twice as long takes half as many, and all of them are counted."""
    walked, kept = {}, run._walk

    def walk(records, every, target, key, step, state):
        walked.setdefault(float(step), []).append(records * every)
        return kept(records, every, target, key, step, state)

    monkeypatch.setattr(run, "_walk", walk)
    posterior = spos.posterior(log_likelihood, log_prior, {"x": X, "y": Y})
    fit = spos.fit(posterior, start=START, batch_size=BATCH)
    (half, fine), (whole, coarse) = sorted(walked.items())
    assert whole == pytest.approx(2 * half)
    assert sum(fine) == 2 * sum(coarse) == fit.num_steps
    rows = (len(START) + 1) * BATCH * (sum(fine) + sum(coarse))
    assert 0 <= fit.evaluations - rows / ROWS < 0.5 * fit.evaluations  # and those of the search


def test_two_modes_are_confessed(monkeypatch):
    monkeypatch.setattr("spos.auto.tall.run.ROUNDS", 1)
    y = 1.0 + RNG.normal(size=500).astype(np.float32)
    with pytest.warns(spos.ConvergenceWarning, match="one mode: 1 more were found"):
        fit = spos.fit(two_modes, y, num_particles=20)
    assert not fit.converged


def test_a_posterior_without_a_mode_is_refused():
    y = RNG.normal(size=500).astype(np.float32)
    with pytest.raises(ValueError, match="no_mode: no mode was found"):
        spos.fit(no_mode, y, num_particles=20)


def test_a_callback_ends_the_run(fits):
    posterior = spos.posterior(log_likelihood, log_prior, {"x": X, "y": Y})
    with pytest.warns(spos.ConvergenceWarning, match="interrupted"):
        cut = spos.fit(posterior, start=START, batch_size=BATCH, callback=lambda seen: True)
    assert cut.interrupted


POSTERIOR = spos.posterior(log_likelihood, log_prior, {"x": X, "y": Y})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: spos.fit(lambda x: -(x**2).sum(), start=START, batch_size=5),
            TypeError,
            "density",
        ),
        (lambda: spos.fit(POSTERIOR, start=START, batch_size=9999), ValueError, "at most the 4000"),
        (lambda: spos.fit(POSTERIOR, start=START, batch_size=0), ValueError, "batch_size must be"),
        (
            lambda: spos.fit(POSTERIOR, start=START, batch_size=9, checkpoint="there"),
            ValueError,
            "checkpoint must be left out with minibatches",
        ),
    ],
)
def test_what_cannot_be_done_with_minibatches_is_said(call, error, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        call()


def test_all_rows_are_no_minibatch():
    subject = read_subject(POSTERIOR, (), {}, True, None, ())
    assert has_minibatches(with_minibatches(subject, ROWS - 1).target)
    assert not has_minibatches(with_minibatches(subject, ROWS).target)
