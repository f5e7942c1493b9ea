"""The map of the interaction: its targets, its fair choice of settings, and its rule."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from spos_experiments.frame.perform import perform
from spos_experiments.paper import interaction
from spos_experiments.paper.interaction.findings import claims, compared, costs, pays
from spos_experiments.paper.interaction.measure import NOISES, Noisy, moments


@pytest.mark.parametrize("name", ["hill", "two modes"])
def test_moments_are_those_of_the_density(name):
    mean, spread, away = moments(name, 2)
    target = Noisy(jnp.asarray([1.0, 3.0]), jnp.asarray(away), jnp.zeros(()), jnp.zeros(()))
    grid = jnp.linspace(-14.0, 14.0, 281)
    points = jnp.stack(jnp.meshgrid(grid, grid), -1).reshape(-1, 2)
    weight = jax.nn.softmax(jax.vmap(target.log_prob)(points))
    np.testing.assert_allclose(weight @ points, mean, atol=1e-3)
    np.testing.assert_allclose(jnp.sqrt(weight @ (points - mean) ** 2), spread, rtol=1e-3)


def test_own_noise_is_each_particles_and_shared_noise_is_the_same():
    particles = jnp.zeros((5, 2))
    ones, zeros = jnp.ones(()), jnp.zeros(())

    def noise(own, shared):
        return Noisy(jnp.ones(2), zeros, own, shared).score(particles, jax.random.key(0))

    np.testing.assert_array_equal(noise(zeros, zeros), 0.0)
    assert len(np.unique(noise(ones, zeros)[:, 0])) == 5
    assert len(np.unique(noise(zeros, ones)[:, 0])) == 1
    assert float(jnp.abs(noise(zeros, ones)).max()) > 0


def test_settings_are_chosen_on_pilots_alone():
    """The one that is best on the other seeds, but not on the pilots, is not taken."""
    settings = interaction.Settings(
        budgets=(1,), step_sizes=(0.1, 0.2), betas=(1.0,), pilots=2, repeats=4
    )
    spos, sgld = (np.ones((6, len(NOISES), 2, 1)) for _ in range(2))
    spos[:2, :, 1] = 0.5  # pilots like the second step size,
    spos[2:, :, 0] = 0.1  # and the first would have been better
    sgld[2:] += 0.1 * np.arange(4)[:, None, None, None]
    cells = compared(settings, ("hill", 2, 10), {"SPOS": spos, "SGLD": sgld})
    assert [cell["chosen"]["SPOS"] for cell in cells] == [(0.2, 1.0)] * len(NOISES)
    assert [cell["errors"]["SPOS"] for cell in cells] == [1.0] * len(NOISES)
    assert all(map(pays, cells))
    assert not any(map(costs, cells))
    assert claims(cells)[0].verdict == "holds"


def test_a_quick_run_is_recorded_drawn_and_resumed(tmp_path, compilations):
    made = perform("interaction", tmp_path, quick=True)
    assert [drawn.file for drawn in made.figures] == ["interaction.png"]
    assert len(made.numbers["cells"]) == 2 * len(NOISES)
    before = len(compilations)
    assert perform("interaction", tmp_path, quick=True).numbers == made.numbers
    assert len(compilations) == before  # everything came from the folder
