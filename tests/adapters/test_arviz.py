"""Draws of a model as an ArviZ tree, read by ArviZ itself."""

import jax
import numpy as np
import pytest
from eight_schools import EFFECT, ERROR, in_numpyro

import spos
from spos.result import by_chain, data_tree

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def tree():
    model = spos.from_numpyro(in_numpyro, ERROR, effect=EFFECT)
    run = spos.sample(spos.sgld(model.target, 0.05), model.start(KEY, 4), 100, history_every=5)
    return data_tree(
        by_chain(model.constrain(run.history), recorded=True),
        sample_stats=run.sample_stats(),
        posterior_predictive=by_chain(model.predict(KEY, run.history), recorded=True),
        coords=model.coords,
        dims=model.dims,
        version=spos.__version__,
    )


def test_the_tree_has_the_groups_and_the_names_of_the_model(tree):
    assert set(tree.children) == {"posterior", "sample_stats", "posterior_predictive"}
    assert tree.posterior["theta"].dims == ("chain", "draw", "school")
    assert tree.posterior["theta"].shape == (4, 20, 8)
    assert tree.posterior_predictive["effect"].dims == ("chain", "draw", "school")
    np.testing.assert_allclose(tree.sample_stats["step_size"], np.full((4, 20), 0.05), rtol=1e-6)


def test_arviz_summarises_it(tree):
    import arviz_stats

    table = arviz_stats.summary(tree, round_to="none")
    assert list(table.index[:2]) == ["mu", "tau"]
    assert "theta[7]" in table.index
    np.testing.assert_allclose(table["mean"]["mu"], np.mean(tree.posterior["mu"]), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:The scale 'SquareRootScale':PendingDeprecationWarning")
def test_arviz_plots_it(tree):
    import arviz_plots
    import matplotlib.pyplot as plt

    with plt.style.context("arviz-variat"):
        plot = arviz_plots.plot_trace(tree, var_names=["mu", "tau"], backend="matplotlib")
    figure = plot.viz["figure"].item()
    assert [axes.get_title() for axes in figure.axes] == ["mu", "tau"]
    assert [len(axes.lines) for axes in figure.axes] == [4, 4]
    plt.close(figure)
