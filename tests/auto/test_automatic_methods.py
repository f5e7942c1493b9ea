"""What else a fit offers: a kernel, a figure, and a line that tells how far it is."""

import io
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.auto import budget
from spos.io import progress

MEAN, SD = np.array([1.0, -2.0]), np.array([0.5, 3.0])


def log_prob(theta):
    return -0.5 * jnp.sum(((theta - MEAN) / SD) ** 2)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(scope="module")
def watched():
    """The result with the kernel field, and what a terminal showed of it."""
    terminal = Terminal()
    start = jax.random.uniform(jax.random.key(0), (60, 2), minval=-2.0, maxval=2.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stderr", terminal)
        seconds = itertools.count()  # so that every update is shown
        patch.setattr(progress.time, "monotonic", lambda: next(seconds))
        result = spos.fit(log_prob, start=start, kernel=spos.rbf(), target_error=0.016)
    return result, terminal.getvalue()


def test_it_works_with_the_kernel_too(watched):
    result, _ = watched
    assert result.converged, result.report()
    assert result.settings["kernel"] == "rbf"
    draws = np.asarray(result.draws, np.float64)
    assert (np.abs(draws.mean(0) - MEAN) / SD < 0.125).all()
    assert (np.abs(np.log(draws.std(0) / SD)) < 0.125).all()


def test_the_progress_line_names_the_phase_and_ends(watched):
    _, shown = watched
    lines = shown.split("\r")
    assert lines[1].startswith("fit approach")
    assert "fit round 1" in shown
    assert f"/{budget.EVALUATIONS}" in shown
    assert shown.endswith("\n")
    assert "error" in lines[-1]


def test_it_can_be_drawn(watched):
    figure = watched[0].plot()
    [axes] = [panel for panel in figure.get_axes() if panel.collections]
    named = {panel.get_title(loc="left") or panel.get_title() for panel in figure.get_axes()}
    assert {"theta[0]", "theta[1]"} <= named
    assert axes.get_ylabel() == "theta[1]"
    points = axes.collections[0].get_offsets()
    assert len(points) == 1000 < len(watched[0].draws)
    drawn = {tuple(row) for row in np.asarray(watched[0].draws, np.float64)}
    assert all(tuple(point) in drawn for point in np.asarray(points))
    assert f"{len(watched[0].draws):,} draws, converged" in figure.get_suptitle()
