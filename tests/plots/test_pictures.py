"""Pictures of runs show what they say, refuse what they cannot, and notebooks get escaped HTML."""

import re

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest

import spos
from spos.auto.verdict import Check, Verdict
from spos.diagnostics.compare import Comparison
from spos.io.figures import STYLE, style
from spos.plots.checks import share_of_limit, verdict_figure
from spos.plots.forces import forces

mpl.use("Agg")
from matplotlib import pyplot

CLOUD = jax.random.normal(jax.random.key(0), (30, 2))


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def log_prob(theta):
    return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(theta))


@pytest.fixture(scope="module")
def run():
    return spos.sample(spos.spos(log_prob, 0.05), CLOUD, 20, history_every=2, progress=False)


def test_three_parameters_are_shown_in_pairs_with_the_truth():
    start = {"a<b>": CLOUD, "c": CLOUD[:, 0]}
    result = spos.sample(spos.sgld(log_prob, 0.05), start, 2, progress=False)
    figure = result.plot(truth={"a<b>": np.array([1.0, 2.0]), "c": np.array(3.0)})
    shown = [axes for axes in figure.get_axes() if axes.get_visible()]
    assert len([axes for axes in shown if axes.collections]) == 3  # pairs
    crosses = [axes.lines[-1].get_xydata().tolist() for axes in shown if axes.collections]
    assert crosses == [[[1.0, 2.0]], [[1.0, 3.0]], [[2.0, 3.0]]]
    html = result._repr_html_()
    assert "a&lt;b&gt;[0]" in html
    assert "<b>" not in html
    assert "data:image/png" in html
    assert not pyplot.get_fignums()[1:]  # the small figure is not shown a second time


def test_a_truth_of_another_shape_is_refused(run):
    with pytest.raises(ValueError, match="truth must be one particle with the parameters theta"):
        run.plot(truth=np.zeros(3))


def test_the_path_has_the_first_and_the_last_cloud(run):
    axes = run.plot_path(columns=3).get_axes()
    assert [each.get_title(loc="left") for each in axes] == ["2", "6", "20"]
    drawn = axes[-1].lines[-1].get_xydata()
    np.testing.assert_allclose(drawn, run.history[-1], rtol=1e-6)
    with pytest.raises(ValueError, match="history_every"):
        spos.sample(spos.sgld(log_prob, 0.1), CLOUD, 1, progress=False).plot_path()


def test_the_bandwidth_is_drawn_among_the_distances(run):
    over, among = run.plot_bandwidth().get_axes()
    eta = np.sqrt(run.info["bandwidth"])
    np.testing.assert_allclose(over.lines[0].get_ydata(), eta, rtol=1e-6)
    assert among.lines[0].get_xdata()[0] == pytest.approx(eta[-1], rel=1e-6)
    assert sum(bar.get_height() for bar in among.patches) == 30 * 29 / 2
    with pytest.raises(ValueError, match="sgld has no bandwidth"):
        spos.sample(spos.sgld(log_prob, 0.1), CLOUD, 1, progress=False).plot_bandwidth()


@pytest.mark.parametrize("kernel", [spos.rbf(), spos.rbf(0.7), spos.imq(2.0), None])
def test_the_forces_add_up_to_the_drift_of_a_step(kernel):
    sampler = spos.spos(log_prob, 0.1, beta=2.0, kernel=kernel)
    scores = sampler.target.score(CLOUD, None)
    whole = sampler.drift(jax.random.key(0), sampler.init(CLOUD), scores).direction[7]
    found = forces(sampler, CLOUD, 7)
    np.testing.assert_allclose(found.own + found.attraction + found.repulsion, whole, atol=1e-5)
    assert found.noise == pytest.approx(np.sqrt(2 / 2.0 / 0.1))


def test_forces_are_drawn_and_what_has_none_is_refused():
    figure = spos.plot_forces(spos.spos(log_prob, 0.1), CLOUD, particle=3)
    assert len(figure.get_axes()[0].get_legend().get_texts()) == 4
    assert len(spos.plot_forces(spos.svgd(log_prob, 0.1), CLOUD).get_axes()[0].texts) == 3
    for wrong, complaint in (
        ((spos.sghmc(log_prob, 0.1), CLOUD), "sampler must be of spos.spos or spos.svgd"),
        ((spos.spos(log_prob, 0.1), CLOUD[:, :1]), "two parameters"),
        ((spos.spos(log_prob, 0.1), CLOUD, 30), "particle must be from 0 to 29, got 30"),
    ):
        with pytest.raises((TypeError, ValueError), match=complaint):
            spos.plot_forces(*wrong)


def test_a_verdict_is_a_picture_and_a_table():
    checks = (
        Check("mixing <i>", 0.01, 0.05, True, "fine"),
        Check("ESS", 100.0, 400.0, False, "too few"),
        Check("R-hat", float("nan"), 1.01, False, "unknown"),
    )
    assert [share_of_limit(check) for check in checks] == [pytest.approx(0.2), 4.0, 20.0]
    assert share_of_limit(Check("R-hat", 1.002, 1.01, True, "")) == pytest.approx(0.2)
    (axes,) = verdict_figure(checks, "NOT converged").get_axes()
    assert [bar.get_width() > 1.0 for bar in axes.patches] == [False, True, True]
    html = Verdict(checks)._repr_html_()
    assert "mixing &lt;i&gt;" in html
    assert "NOT converged" in html
    with pytest.raises(ValueError, match="no checks"):
        verdict_figure((), "")


def test_a_comparison_is_a_table_in_notebooks_with_names_escaped():
    samplers = {"<script>": spos.sgld(log_prob, 0.1), "svgd": spos.svgd(log_prob, 0.1)}
    truth = (np.zeros(2), np.eye(2))
    found = spos.compare(log_prob, samplers, CLOUD, 4, truth=truth, num_seeds=2, progress=False)
    assert isinstance(found, Comparison)
    html = found._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert len(re.findall("<tr>", html)) == 3
    assert found.table().startswith("| sampler | gradients |")


def test_what_the_first_figure_makes_interactive_stays_so():
    """A notebook's backend says so when the first figure is made, which may be one of ours."""
    before = mpl.is_interactive()
    try:
        mpl.interactive(False)
        with style():
            mpl.interactive(True)
        assert mpl.is_interactive()
        assert mpl.rcParams["font.size"] != STYLE["font.size"]
    finally:
        mpl.interactive(before)
