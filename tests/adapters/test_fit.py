"""A model in, its posterior out, under the model's own names."""

import arviz_stats
import eight_schools  # noqa: F401  (first: it sees to matplotlib)
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from eight_schools import EFFECT, ERROR, in_numpyro, pymc

import spos


@pytest.fixture(scope="module")
def result():
    return spos.fit(in_numpyro, ERROR, effect=EFFECT)


def test_the_eight_schools_are_solved(result):
    """The truth by importance sampling from the prior, whose own error is below 0.02."""
    assert result.converged, result.report()
    rng = np.random.default_rng(0)
    mu, tau = rng.normal(0, 5, 10**6), np.abs(5 * rng.standard_cauchy(10**6))
    variance = ERROR**2 + tau[:, None] ** 2
    log_weight = -0.5 * ((EFFECT - mu[:, None]) ** 2 / variance + np.log(variance)).sum(1)
    weight = np.exp(log_weight - log_weight.max())
    mean = np.average(mu, weights=weight)
    sd = np.sqrt(np.average((mu - mean) ** 2, weights=weight))
    found = np.asarray(result.draws["mu"], np.float64)
    assert abs(found.mean() - mean) / sd < 0.125
    assert abs(np.log(found.std() / sd)) < 0.125
    log_tau = np.log(tau)
    assert np.mean(np.log(result.draws["tau"])) == pytest.approx(
        np.average(log_tau, weights=weight), abs=0.15
    )


def test_arviz_gets_the_model_s_names_and_predictions(result):
    tree = result.to_arviz()
    assert tree.posterior["theta"].dims == ("chain", "draw", "school")
    assert tree.posterior_predictive["effect"].shape == tree.posterior["theta"].shape
    table = arviz_stats.summary(tree, round_to="none")
    assert list(table.index[:2]) == ["mu", "tau"]
    assert (table["r_hat"] < 1.02).all()


def test_it_comes_back_from_a_file(result, tmp_path):
    loaded = spos.load(result.save(tmp_path / "fit.npz"))
    np.testing.assert_array_equal(loaded.draws["tau"], result.draws["tau"])
    assert loaded.to_arviz().posterior["theta"].dims == ("chain", "draw", "school")


def test_a_pymc_model_is_fitted_in_its_own_words(hasty):
    """A normal mean with a known answer, N(2, 1/3), and a prior scale beside it."""
    with pymc.Model() as model:
        mean = pymc.Normal("mean", 0.0, 1.0)
        pymc.HalfNormal("scale", 2.0)
        pymc.Normal("y", mean, 1.0, observed=np.array([3.0, 3.0]))
    result = spos.fit(model, particles=60)
    assert result.converged, result.report()
    assert list(result.draws) == ["mean", "scale"]
    found = {name: np.asarray(draws, np.float64) for name, draws in result.draws.items()}
    assert abs(found["mean"].mean() - 2.0) * 3**0.5 < 0.125
    assert abs(np.log(found["mean"].std() * 3**0.5)) < 0.125
    assert found["scale"].min() > 0
    assert found["scale"].mean() == pytest.approx(2.0 * (2 / np.pi) ** 0.5, rel=0.1)


def test_a_scale_without_a_mean_is_confessed_although_its_logarithm_is_tame(hasty):
    def cauchy():
        numpyro.sample("scale", dist.HalfCauchy(1.0))

    with pytest.warns(spos.ConvergenceWarning, match="own precision.*for scale"):
        result = spos.fit(cauchy, particles=60)
    assert [check.name for check in result.verdict.checks if not check.passed] == ["own precision"]
    assert "The tails of scale are heavy" in " ".join(result.report().split())


def impossible():
    x = numpyro.sample("x", dist.Normal(0.0, 1.0))
    numpyro.factor("never", jnp.where(x < 100.0, -jnp.inf, 0.0))


def cornered():
    x = numpyro.sample("x", dist.Normal(0.0, 1.0))
    numpyro.factor("corner", jnp.sqrt(0.0 * x))


def in_pymc_impossible():
    with pymc.Model() as model:
        scale = pymc.HalfNormal("scale", 1.0)
        pymc.Gamma("y", alpha=scale, beta=1.0, observed=np.array([1.0, -1.0]))
        pymc.Potential("harmless", 0.0 * scale)
    return model


def discrete():
    numpyro.sample("k", dist.Bernoulli(0.5))


def subsampled(y):
    x = numpyro.sample("x", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=2):
        numpyro.sample("y", dist.Normal(x, 1.0), obs=numpyro.subsample(y, event_dim=0))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            *(lambda: spos.fit(impossible), ValueError),
            r"not finite at any of the 100 starts.*impossible, never: its log-density is -inf at "
            "every start$",
        ),
        (
            *(lambda: spos.fit(cornered), ValueError),
            "x: the gradient of the log-density is nan at every start$",
        ),
        (
            *(lambda: spos.fit(in_pymc_impossible()), ValueError),
            "PyMC model, y: its log-density is -inf at every start$",
        ),
        (lambda: spos.fit(discrete), ValueError, "discrete"),
        (lambda: spos.fit(subsampled, np.ones(5)), ValueError, "exact log-density"),
        (lambda: spos.fit(3), TypeError, "NumPyro function"),
        (lambda: spos.fit(impossible, particles=2), ValueError, "particles must be at least 4"),
        (lambda: spos.fit(impossible, seed=-1), ValueError, "seed"),
    ],
    ids=[
        "nowhere finite",
        "no gradient",
        "nowhere finite in PyMC",
        "discrete",
        "minibatch",
        "no model",
        "too few",
        "seed",
    ],
)
def test_what_cannot_be_fitted_is_said(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_model_of_ours_will_do_and_takes_no_arguments():
    model = spos.from_numpyro(impossible)
    with pytest.raises(TypeError, match=r"spos\.Model takes no arguments"):
        spos.fit(model, 1)
    assert isinstance(model.start(jax.random.key(0), 4), dict)
