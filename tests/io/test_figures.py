"""Figures: drawn from what a result holds, in the fixed colours, without global traces."""

import builtins

import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest

import spos
from spos.io import figures
from spos.plots import results

mpl.use("Agg")
from matplotlib import colors, pyplot


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def result(shape: tuple[int, ...], make=spos.spos, steps: int = 30) -> spos.Result:
    start = np.random.default_rng(0).normal(size=(25, *shape)).astype(np.float32)
    return spos.sample(make(lambda theta: -0.5 * jnp.sum(theta**2), 0.05), start, steps)


def panels(figure) -> dict:
    shown = [axes for axes in figure.get_axes() if axes.get_visible()]
    return {axes.get_title(loc="left") or axes.get_xlabel(): axes for axes in shown}


def test_many_parameters_give_six_histograms_and_three_traces():
    figure = result((8,)).plot()
    found = panels(figure)
    assert list(found) == [f"theta[{n}]" for n in range(6)] + [
        "spread of the cloud",
        "drift",
        "bandwidth η²",
    ]
    assert sum(bar.get_height() for bar in found["theta[0]"].patches) == 25
    assert "2 more parameters not shown" in figure.subfigs[0]._suptitle.get_text()


def test_two_parameters_give_a_scatter_of_all_particles():
    run = result((2,))
    figure = results.result_figure(run)
    assert {"theta[0]", "theta[1]"} < set(panels(figure))  # the marginals
    (axes,) = [each for each in figure.get_axes() if each.collections]
    np.testing.assert_allclose(axes.collections[0].get_offsets(), run.particles)
    assert axes.get_ylabel() == "theta[1]"


def test_traces_show_the_info_and_the_spread_is_per_particle():
    run = result((3,))
    found = panels(results.result_figure(run))
    np.testing.assert_allclose(
        found["spread of the cloud"].lines[0].get_ydata(), run.info["epd"] / 25, rtol=1e-6
    )
    np.testing.assert_allclose(found["drift"].lines[0].get_ydata(), run.info["drift_norm"])


def test_a_method_without_a_kernel_has_no_bandwidth_panel():
    assert "bandwidth η²" not in panels(results.result_figure(result((3,), spos.sgld)))


@pytest.mark.parametrize("name", ["spos", "svgd", "sgld"])
def test_each_method_has_its_own_colour(name):
    axes = panels(results.result_figure(result((), getattr(spos, name))))["theta"]
    assert colors.to_hex(axes.patches[0].get_facecolor()).upper() == figures.COLOURS[name]
    assert len(set(figures.COLOURS.values())) == 3


def test_a_run_without_steps_and_coincident_particles_can_be_drawn():
    empty = spos.sample(spos.sgld(lambda theta: -(theta**2), 0.1), np.zeros(4, np.float32), 0)
    figure = results.result_figure(empty)
    assert list(panels(figure)) == ["theta"]
    figures.png(figure)


def test_long_traces_are_thinned():
    line = panels(results.result_figure(result((1,), steps=2500)))["drift"].lines[0]
    assert len(line.get_ydata()) <= results.MOST_POINTS


def small():
    with figures.style():
        figure = figures.new_figure(2.0, 1.0)
        figure.subplots().plot([0, 1])
    return figure


def test_saving_writes_a_png_of_the_promised_resolution(tmp_path):
    path = figures.save(small(), tmp_path / "small.png")
    assert pyplot.imread(path).shape[:2] == (150, 300)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == figures.png(small())  # and always the same bytes


def test_the_style_leaves_no_trace_and_plain_figures_are_unknown_to_pyplot():
    before = mpl.rcParams.copy()
    with figures.style():
        figures.new_figure(2.0, 1.0)
    assert mpl.rcParams == before
    assert pyplot.get_fignums() == []


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install 'spos\[plot\]'"):
        result((1,)).plot()
