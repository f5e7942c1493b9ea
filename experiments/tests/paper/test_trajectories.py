"""The experiment on the length of trajectories: what it counts, and what the page says of it."""

from pathlib import Path

import pytest

from spos_experiments.frame import record
from spos_experiments.paper import trajectories

HERE = Path(__file__).parents[3]


def test_longer_trajectories_of_a_normal_law_waste_gradients():
    """On a whitened Gaussian a path of 1.5 is nearly independent of where it began."""
    settings = trajectories.Settings(multiples=(1.0, 4.0), chunks=40)
    usual, longer = trajectories.costs("scales", settings, 0)
    assert (usual["of"], longer["of"]) == (1.0, 4.0)
    assert longer["leaps"] == 4 * usual["leaps"]
    assert usual["gradients"] < 0.5 * longer["gradients"]


def test_the_page_quotes_the_record():
    made = record.read(HERE / "experiments" / "results" / "trajectories" / "record.json")
    page = " ".join((HERE / "docs" / "automatic.md").read_text().split())
    ratios = made.numbers["over_best"]
    near = sum(ratio <= trajectories.NEAR for ratio in ratios.values())
    assert f"on {near} of {len(ratios)} models" in page
    assert max(ratios.values()) == pytest.approx(ratios["binomial_groups"])
    assert f"by {ratios['binomial_groups']:.1f} times" in page
    rows = made.numbers["rows"]
    for name in ratios:
        own = {row["of"]: row["gradients"] for row in rows if row["model"] == name}
        assert own[8.0] > min(own.values())
