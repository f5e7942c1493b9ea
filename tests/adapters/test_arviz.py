"""Draws in ArviZ's own form: the installed ArviZ and PyMC take them as if they were theirs."""

import arviz as az
import arviz_stats
import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from eight_schools import pymc
from numpyro.infer import Predictive
from regression import X, Y, in_numpyro, in_pymc
from scipy import stats

import spos
from spos.adapters.model import ModelError
from spos.io import arviz as own_arviz
from standard_errors import disagreement

NEW = np.array([10.0, 20.0, 30.0])


@pytest.fixture(scope="module")
def model():
    return in_pymc()


@pytest.fixture(scope="module")
def in_both(model):
    """The same regression in two languages, fitted."""
    return {"numpyro": spos.fit(in_numpyro, X, Y), "pymc": spos.fit(model, seed=1)}


@pytest.fixture(params=["numpyro", "pymc"])
def fit(request, in_both):
    return in_both[request.param]


def test_what_is_returned_is_what_the_installed_arviz_works_with(fit, monkeypatch):
    found = fit.to_arviz()
    assert isinstance(found, az.InferenceData)  # arviz 0.23 is installed, beside arviz-base
    assert list(found) == ["posterior", "sample_stats", "observed_data", "constant_data"]
    monkeypatch.setattr(own_arviz.importlib.metadata, "version", lambda name: "1.0.0")
    tree = fit.to_arviz()
    assert type(tree).__name__ == "DataTree"
    assert list(tree.children) == list(found)
    np.testing.assert_array_equal(tree.posterior["b"], found.posterior["b"])


def test_without_arviz_the_extra_is_named(monkeypatch):
    def nowhere(name):
        raise own_arviz.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(own_arviz.importlib.metadata, "version", nowhere)
    monkeypatch.setattr(own_arviz.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'spos\[arviz\]'"):
        own_arviz.arviz_object({}, version="0")


def test_every_axis_has_the_models_name_deterministic_sites_included(fit):
    found = fit.to_arviz()
    assert found.posterior["mean"].dims == ("chain", "draw", "row")
    assert found.posterior["a"].dims == ("chain", "draw")
    assert found.observed_data["y"].dims == ("row",)
    np.testing.assert_allclose(found.observed_data["y"], Y, rtol=1e-6)
    assert list(found.constant_data) == ["x"]
    np.testing.assert_allclose(found.constant_data["x"], X, rtol=1e-6)
    pooled = found.posterior["mean"].stack(sample=("chain", "draw")).mean("sample")
    np.testing.assert_allclose(pooled, np.mean(fit.draws["mean"], 0), rtol=1e-4, atol=1e-5)


def test_log_likelihoods_are_those_of_the_law_for_every_observation(fit):
    found = fit.log_likelihood()["y"]
    mean, s = np.float64(fit.draws["mean"]), np.float64(fit.draws["s"])
    np.testing.assert_allclose(found, stats.norm.logpdf(Y, mean, s[:, None]), rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # ArviZ 0.23 with pandas 3.1
def test_loo_and_compare_run_and_two_languages_agree(in_both):
    ready = {name: fit.to_arviz(log_likelihood=True) for name, fit in in_both.items()}
    table = az.compare(ready)
    assert set(table.index) == {"numpyro", "pymc"}
    assert abs(table["elpd_diff"]).max() < 0.2  # one model, so nothing but Monte-Carlo noise
    one = az.loo(ready["numpyro"])
    assert (one.n_data_points, one.warning) == (20, False)
    np.testing.assert_allclose(arviz_stats.loo(ready["numpyro"]).elpd, one.elpd_loo, atol=0.05)
    assert (arviz_stats.summary(ready["pymc"], round_to="none")["r_hat"] < 1.02).all()
    assert az.summary(ready["pymc"])["ess_bulk"].min() > 400


def test_pymc_users_have_a_call_like_pymcs_own(in_both, model):
    with model:
        found = spos.pymc.sample(seed=1)
    assert found.posterior.attrs["converged"] == 1
    np.testing.assert_array_equal(found.posterior["b"], in_both["pymc"].to_arviz().posterior["b"])
    with pytest.raises(ValueError, match=r"Choose one of"):  # if this changes, offer a plug-in
        pymc.sample(nuts_sampler="spos", model=model, progressbar=False)
    with pytest.raises(TypeError, match="on context stack"):
        spos.pymc.sample()


def test_numpyros_own_tools_take_the_draws(in_both):
    draws = in_both["numpyro"].draws
    drawn = Predictive(in_numpyro, draws, return_sites=["y"])(jax.random.key(0), NEW)["y"]
    assert drawn.shape == (len(draws["a"]), 3)
    shift = drawn.mean(0) - in_both["numpyro"].predict(NEW)["y"].mean(0)
    assert np.abs(shift).max() < 0.5  # of spreads near 10


def test_pymc_takes_it_as_its_own(in_both, model):
    found = in_both["pymc"].to_arviz()
    with model:
        pymc.compute_log_likelihood(found, progressbar=False)
        drawn = pymc.sample_posterior_predictive(found, progressbar=False, random_seed=0)
    ours = in_both["pymc"].to_arviz(log_likelihood=True)
    np.testing.assert_allclose(found.log_likelihood["y"], ours.log_likelihood["y"], atol=1e-3)
    assert drawn.posterior_predictive["y"].shape == found.log_likelihood["y"].shape
    assert len(model.observed_RVs) == 2  # PyMC 5.28 counts them again, and we once
    assert list(spos.from_pymc(model).log_likelihood(in_both["pymc"].particles)) == ["y"]


def test_arviz_draws_its_figures(in_both):
    found = in_both["numpyro"].to_arviz(posterior_predictive=True, log_likelihood=True)
    for draw in (
        lambda: az.plot_trace(found, var_names=["a", "s"]),
        lambda: az.plot_posterior(found, var_names=["b"]),
        lambda: az.plot_ppc(found, num_pp_samples=5, random_seed=0),
        lambda: az.plot_pair(found, var_names=["a", "b"]),
    ):
        draw()
        assert plt.gcf().axes[0].has_data()
        plt.close("all")


def test_predictions_are_the_posterior_predictive(fit):
    drawn = fit.predict()
    assert list(drawn) == ["y"]
    mean, s = np.float64(fit.draws["mean"]), np.float64(fit.draws["s"])
    standard = (drawn["y"] - mean) / s[:, None]  # rows are aligned with the draws
    assert disagreement(standard, np.zeros(20)) <= 1
    assert disagreement(standard**2, np.ones(20)) <= 1
    shuffled = (drawn["y"] - mean[::-1]) / s[:, None]
    assert disagreement(shuffled**2, np.ones(20)) > 1
    np.testing.assert_array_equal(drawn["y"], fit.predict()["y"])  # the same call, the same bits


def test_predictions_for_new_data_have_a_group_of_their_own(in_both):
    both = {
        "numpyro": in_both["numpyro"].predict(NEW),
        "pymc": in_both["pymc"].predict(x=NEW, row=["p", "q", "r"]),
    }
    for name, drawn in both.items():
        fit = in_both[name]
        a, b, s = (np.float64(fit.draws[each])[:, None] for each in "abs")
        assert disagreement((drawn["y"] - a - b * NEW) / s, np.zeros(3)) <= 1
        found = fit.to_arviz(predictions=drawn)
        assert found.predictions["y"].dims == ("chain", "draw", "row")
        assert found.posterior["mean"].sizes["row"] == 20
    assert list(found.predictions["row"].values) == ["p", "q", "r"]
    assert len(in_both["pymc"].predict()["y"][0]) == 20  # the model itself is as it was


def test_what_cannot_be_predicted_is_said(in_both):
    with pytest.raises(ModelError, match=r"new values of its pymc\.Data.*\(x, row\), got z"):
        in_both["pymc"].predict(z=1)
    with pytest.raises(ModelError, match="x must have 1 axes, got 2"):
        in_both["pymc"].predict(x=np.ones((2, 2)))
    with pytest.raises(ModelError, match="got 3 without a name"):
        in_both["pymc"].predict(3)
    with pytest.raises(ModelError, match=r"in_numpyro cannot be evaluated with .*shape \(3, 2\)"):
        in_both["numpyro"].predict(np.ones((3, 2)))
    plain = spos.Fit(**vars(in_both["pymc"]) | {"model": None, "dims": None})
    with pytest.raises(TypeError, match="predict needs a model of NumPyro or PyMC"):
        plain.predict()


def test_all_of_it_survives_a_file(fit, model, tmp_path):
    loaded = spos.load(fit.save(tmp_path / "fit.npz"))
    before, after = fit.to_arviz(), loaded.to_arviz()
    assert list(after) == list(before)
    for group in before:
        for name, values in before[group].items():
            assert after[group][name].dims == values.dims
            np.testing.assert_array_equal(after[group][name], values)
    with pytest.raises(TypeError, match=r"model's code, which no file holds: give it again"):
        loaded.log_likelihood()
    pymcs = fit.settings["seed"] == 1
    again = spos.from_pymc(model) if pymcs else spos.from_numpyro(in_numpyro, X, Y)
    whole = loaded.with_model(again)
    np.testing.assert_array_equal(whole.predict()["y"], fit.predict()["y"])
    np.testing.assert_array_equal(whole.log_likelihood()["y"], fit.log_likelihood()["y"])


def test_another_model_is_not_taken_for_the_fitted_one(in_both):
    with pytest.raises(ValueError, match="must be a dict of a, b, s, got"):
        in_both["pymc"].with_model(spos.from_numpyro(in_numpyro, X, Y))
    with pytest.raises(TypeError, match=r"model must come from spos\.from_numpyro"):
        in_both["pymc"].with_model(in_numpyro)
    for name, others in {"x": (X + 1.0, Y), "y": (X, Y + 1.0)}.items():
        with pytest.raises(ValueError, match=f"arguments that were fitted, and its {name} is ano"):
            in_both["numpyro"].with_model(spos.from_numpyro(in_numpyro, *others))


@pytest.mark.parametrize("language", ["numpyro", "pymc"])
def test_the_prior_predicts_too(language, model):
    source = (in_numpyro, X, Y) if language == "numpyro" else (model,)
    prior = spos.prior_predictive(*source, num_draws=2000, seed=1)
    assert repr(prior) == ("<PriorPredictive: 2,000 draws of a, b, s, mean; predictions of y>")
    assert disagreement(prior.draws["a"][:, None] ** 2, np.array([9.0])) <= 1
    spread = np.float64(prior.predictions["y"]) - prior.draws["mean"]
    assert disagreement(spread**2, np.full(20, 4.0)) <= 1  # E s²
    found = prior.to_arviz()
    assert list(found) == ["prior", "prior_predictive", "observed_data"]
    assert found.prior_predictive["y"].dims == ("chain", "draw", "row")
    az.plot_ppc(found, group="prior", num_pp_samples=5, random_seed=0)
    plt.close("all")


def test_a_prior_that_cannot_be_drawn_from_is_said():
    import numpyro
    import numpyro.distributions as dist

    def flat():
        numpyro.sample("m", dist.ImproperUniform(dist.constraints.real, (), ()))

    with pytest.raises(ModelError, match="flat has a prior that cannot be drawn from"):
        spos.prior_predictive(flat)
    with pytest.raises(ValueError, match="num_draws must be at least 1, got 0"):
        spos.prior_predictive(in_numpyro, X, Y, num_draws=0)
