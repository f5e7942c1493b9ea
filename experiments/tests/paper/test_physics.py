"""What the experiments build for themselves: the printed flow, exact masses, exact draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from spos.interaction.stein_direction import stein
from spos.targets.toys import multimode_basins
from spos.types import State
from spos_experiments.paper import collapse, multimode, toys
from spos_experiments.paper.collapse import flows
from spos_experiments.paper.collapse.findings import bounds
from spos_experiments.paper.multimode import protocol


def test_the_printed_kernel_pulls_where_the_librarys_pushes():
    theta = jnp.asarray([[0.0, 0.0], [0.3, -0.4]])
    state = State(theta, jnp.zeros((), jnp.int32), jnp.nan, ())
    still = jnp.zeros_like(theta)
    push, _ = stein(flows.REPULSIVE, jax.random.key(0), state, still)
    pull, _ = stein(flows.PRINTED, jax.random.key(0), state, still)
    # (1/M) ∇_j k_ij = (1/2)(2/η²)(θ_i - θ_j) exp(-0.25)
    np.testing.assert_allclose(push[1], np.exp(-0.25) * theta[1], rtol=1e-5)
    np.testing.assert_allclose(pull, -push, rtol=1e-5)
    # and only the pull differs: with scores, both share them alike
    scores = jnp.asarray([[1.0, 2.0], [-1.0, 0.5]])
    pushed, _ = stein(flows.REPULSIVE, jax.random.key(0), state, scores)
    pulled, _ = stein(flows.PRINTED, jax.random.key(0), state, scores)
    np.testing.assert_allclose(pushed - pulled, 2 * push, rtol=1e-4)


def test_the_printed_flow_does_not_leave_its_target_invariant_and_svgd_does():
    settings = collapse.Settings(particles=30, repeats=4, hasty=True)
    common = (float("inf"), 0.25, 0.05, 400)
    spread, _ = flows.distances(settings, 0, flows.REPULSIVE, *common)
    fallen, _ = flows.distances(settings, 0, flows.PRINTED, *common)
    assert 0.8 * 2.0 < spread[-1] < 2.0  # EPD/M of N(0, I_2) is 2
    assert fallen[-1] < 1e-4


def test_the_bound_is_drawn_only_where_it_applies():
    settings = collapse.Settings()
    curve = {"beta": np.inf, "attractive": True, "radius": 0.25, "reach": 0.25}
    curve |= {"tau": np.asarray([0.0, 1.0]), "epd": np.asarray([0.2, 0.1])}
    inside = bounds(curve, settings)
    # m_K = 2 (1 - 0.5) exp(-0.25), H_F L_K = 0.25 sqrt(2/e), EPD halved twice as fast as proved
    rate = np.exp(-0.25) - 0.25 * np.sqrt(2 / np.e)
    assert inside["bound"] == pytest.approx([0.2, 0.2 * np.exp(-2 * rate)])
    assert inside["proved"] == pytest.approx([0.2, 0.2 * np.exp(-rate)])
    assert "m_K" in bounds(curve | {"reach": 1.0}, settings)["why"]
    assert "attractive" in bounds(curve | {"attractive": False}, settings)["why"]
    noisy = curve | {"beta": 1.0, "reach": 3.0}
    assert "must be positive" in bounds(noisy, settings)["why"]
    assert bounds(noisy | {"beta": 0.1}, settings)["bound"] is not None


def test_the_masses_of_both_readings_add_up_and_the_first_is_the_librarys():
    known = [basin.mass for basin in multimode_basins()]
    first, second = (protocol.exact_masses(reading) for reading in protocol.READINGS)
    assert first.sum() == pytest.approx(1.0, abs=1e-4)
    assert second.sum() == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(first, known, atol=2e-4)
    assert np.abs(second - known).max() > 0.1


def test_exact_draws_of_the_toys_have_the_moments_of_the_density():
    rng = np.random.default_rng(0)
    for name in toys.TOYS:
        axis, values = toys.log_densities(name)
        mass = np.exp(values - values.max())
        mass /= mass.sum()
        mean = np.asarray([mass.sum(axis=1) @ axis, mass.sum(axis=0) @ axis])
        draws = toys.exact_draws(name, 20_000, rng)
        # six standard errors of a coordinate that never strays further than 5
        np.testing.assert_allclose(draws.mean(axis=0), mean, atol=6 * draws.std() / np.sqrt(20_000))


def test_counts_by_basin_follow_the_particles():
    settings = multimode.Settings(particles=5, num_steps=3, repeats=2, step_size=1e-6)
    found = protocol.simulate(settings, 0, "exp(−V)", "SVGD")
    assert found.counts.shape == (2, 3, 7)
    assert (found.counts[:, :, 2] == 5).all()
