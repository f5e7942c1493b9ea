"""A model in, its posterior out, under the model's own names."""

import arviz_stats
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
    tree = result.to_arviz(posterior_predictive=True)
    assert tree.posterior["theta"].dims == ("chain", "draw", "school")
    assert tree.posterior_predictive["effect"].shape == tree.posterior["theta"].shape
    table = arviz_stats.summary(tree, round_to="none")
    assert list(table.index[:2]) == ["mu", "tau"]
    assert (table["r_hat"] < 1.02).all()


def test_other_data_compile_nothing_new(result, compilations):
    """Although the run is longer or shorter, and all the way to predictions."""
    result.to_arviz(posterior_predictive=True, log_likelihood=True)
    compilations.clear()
    other = spos.fit(in_numpyro, ERROR + 5.0, effect=2.0 * EFFECT + 3.0, seed=1)
    other.to_arviz(posterior_predictive=True, log_likelihood=True)
    assert not compilations
    assert abs(np.mean(other.draws["mu"]) - np.mean(result.draws["mu"])) > 1.0


def test_its_repr_names_the_parameters_in_a_few_lines(result):
    assert len(repr(result)) < 300
    assert "draws of mu, tau, z[8], theta[8]" in repr(result)


def test_the_figure_has_the_models_units(result):
    figure = result.plot()
    titles = [axes.get_title(loc="left") for axes in figure.get_axes()]
    assert titles[0] == "mu"
    tau = result.draws["tau"]
    shown = next(axes for axes in figure.get_axes() if axes.get_title(loc="left") == "tau")
    assert all(value in tau for value in shown.lines[0].get_xdata())


def test_a_summary_and_a_report_are_for_people(result):
    assert "mu" in str(result.summary())
    assert result.report().splitlines()[1] == "Converged."


def test_a_model_that_ends_a_fit_may_begin_another(result, tmp_path):
    """What it saves is the way to the first round; how long rounds must be is left to chance."""
    loaded = spos.load(result.save(tmp_path / "fit.npz"))
    until_round = {}

    def first_look(name):
        def look(seen):
            if seen.phase != "approach":
                until_round.setdefault(name, seen.evaluations)
            phases[name].append(seen.phase)
            return name in until_round  # no more is asked

        return look

    phases = {"warm": [], "cold": []}
    arguments = {"effect": EFFECT + 1.0}
    with pytest.warns(spos.ConvergenceWarning, match="interrupted"):
        warm = spos.fit(
            *(in_numpyro, ERROR), **arguments, warm_start=loaded, callback=first_look("warm")
        )
    with pytest.warns(spos.ConvergenceWarning, match="interrupted"):
        spos.fit(*(in_numpyro, ERROR), **arguments, callback=first_look("cold"))
    assert "approach" not in phases["warm"]
    assert "approach" in phases["cold"]
    assert until_round["warm"] < until_round["cold"]
    assert list(warm.draws) == ["mu", "tau", "z", "theta"]


def test_starts_of_ones_own_will_do_for_a_model():
    model = spos.from_numpyro(normal, np.array([3.0, 3.0]))
    with pytest.warns(spos.ConvergenceWarning, match="interrupted"):
        cut = spos.fit(model, start={"m": jnp.linspace(7.0, 8.0, 9)}, callback=lambda seen: True)
    assert cut.draws["m"].shape == (10,)


def normal(y):
    numpyro.sample("y", dist.Normal(numpyro.sample("m", dist.Normal()), 1.0), obs=y)


def test_it_comes_back_from_a_file(result, tmp_path):
    loaded = spos.load(result.save(tmp_path / "fit.npz"))
    np.testing.assert_array_equal(loaded.draws["tau"], result.draws["tau"])
    assert loaded.to_arviz().posterior["theta"].dims == ("chain", "draw", "school")


def test_a_pymc_model_is_fitted_in_its_own_words():
    """A normal mean with a known answer, N(2, 1/3), and a prior scale beside it."""
    with pymc.Model() as model:
        mean = pymc.Normal("mean", 0.0, 1.0)
        pymc.HalfNormal("scale", 2.0)
        pymc.Normal("y", mean, 1.0, observed=np.array([3.0, 3.0]))
    result = spos.fit(model, num_particles=60)
    assert result.converged, result.report()
    assert list(result.draws) == ["mean", "scale"]
    found = {name: np.asarray(draws, np.float64) for name, draws in result.draws.items()}
    assert abs(found["mean"].mean() - 2.0) * 3**0.5 < 0.125
    assert abs(np.log(found["mean"].std() * 3**0.5)) < 0.125
    assert found["scale"].min() > 0
    assert found["scale"].mean() == pytest.approx(2.0 * (2 / np.pi) ** 0.5, rel=0.1)


def test_a_scale_without_a_mean_is_confessed_although_its_logarithm_is_tame():
    def cauchy():
        numpyro.sample("scale", dist.HalfCauchy(1.0))

    with pytest.warns(spos.ConvergenceWarning, match="own precision.*for scale"):
        result = spos.fit(cauchy, num_particles=60)
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


def colliding(x, data=None):
    numpyro.sample("data", dist.Normal(numpyro.sample("m", dist.Normal()) * x, 1.0), obs=data)


BROKEN = EFFECT + np.where(np.arange(8) == 2, np.nan, 0.0)
WARM = spos.Fit(
    particles={"z": np.zeros((4, 2))},
    **{name: {} for name in ("info", "settings", "versions", "coords")},
    **dict.fromkeys(("history", "history_every", "draws", "verdict", "adapted")),
    **dict.fromkeys(("num_steps", "seconds", "evaluations"), 0),
    dims={},
)


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
        (lambda: spos.fit(3), TypeError, "NumPyro function"),
        (lambda: spos.fit(impossible, num_particles=2), ValueError, "at least 4 particles, got 2"),
        (lambda: spos.fit(impossible, seed=-1), ValueError, "seed"),
        (
            *(lambda: spos.fit(in_numpyro, ERROR, effect=BROKEN), ValueError),
            r"In the NumPyro model in_numpyro, effect\[2\] is nan; effect: its log-density is",
        ),
        (
            *(lambda: spos.fit(in_numpyro, BROKEN, effect=EFFECT), ValueError),
            r"In the NumPyro model in_numpyro, error\[2\] is nan",
        ),
        (
            *(lambda: spos.fit(colliding, np.ones(3), data=np.ones(3)), TypeError),
            r"data must be left out.*spos\.from_numpyro\(model, …, data=…\)",
        ),
        (
            *(lambda: spos.fit(colliding, np.ones(3), beta=2.0), TypeError),
            r"data is an argument of colliding and of spos\.fit.*from_numpyro\(colliding, …, data=",
        ),
        (
            *(lambda: spos.fit(impossible, warm_start=WARM), ValueError),
            "must be a dict of x, got",
        ),
    ],
    ids=[
        "nowhere finite",
        "no gradient",
        "nowhere finite in PyMC",
        "discrete",
        "no model",
        "too few",
        "seed",
        "nan in an observation",
        "nan in an argument",
        "a name that is ours and given",
        "a name that is ours",
        "another model's fit",
    ],
)
def test_what_cannot_be_fitted_is_said(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_particles_without_their_word_are_told_how_a_log_density_is_fitted():
    with pytest.raises(ValueError, match="no parameters to sample") as caught:
        spos.fit(lambda theta: -0.5 * jnp.sum(theta**2), jnp.ones((100, 2)))
    assert "spos.fit(log_prob, start=particles)" in "\n".join(caught.value.__notes__)


def test_a_model_of_ours_will_do_and_takes_no_arguments():
    model = spos.from_numpyro(impossible)
    with pytest.raises(TypeError, match=r"spos\.Model takes no arguments"):
        spos.fit(model, 1)
    assert isinstance(model.start(jax.random.key(0), 4), dict)
