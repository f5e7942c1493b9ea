"""A density with seven modes on the line: SVGD stays where it starts, SPOS spreads."""

import jax
import numpy as np
import pytest

import spos
from spos.targets import toys

BASINS = toys.multimode_basins()


def basin_counts(sampler):
    """Where 100 particles are after 5000 steps from the mode at -0.225, and how far their shares
    are from the exact masses in total variation."""
    start = -0.225 + 0.05 * jax.random.normal(jax.random.key(0), (100,))
    end = spos.sample(sampler, start, 5000, seed=2, progress=False).particles
    counts = toys.count_by_basin(end, BASINS)
    error = 0.5 * sum(abs(n / 100 - basin.mass) for n, basin in zip(counts, BASINS, strict=True))
    print(f"basins {counts}, total variation from the exact masses {error:.3f}")
    return counts, error


def test_the_modes_have_the_known_places_and_masses():
    modes = [basin.mode for basin in BASINS]
    assert modes == pytest.approx([-1.916, -1.119, -0.225, 0.677, 1.508, 2.418, 3.040], abs=1e-3)
    masses = [basin.mass for basin in BASINS]
    assert masses == pytest.approx([0.016, 0.094, 0.531, 0.336, 0.019, 0.004, 0.001], abs=1e-3)


def test_svgd_is_trapped_in_the_basin_it_starts_in():
    counts, error = basin_counts(spos.svgd(toys.multimode, 0.01))
    assert counts.max() == 100
    assert error > 0.4


def test_spos_spreads_over_at_least_four_basins():
    counts, error = basin_counts(spos.spos(toys.multimode, 0.01, 1.0))
    assert np.sum(counts > 0) >= 4
    # 100 independent draws are off by 0.07 on average and by 0.2 once in a million
    assert error < 0.25
