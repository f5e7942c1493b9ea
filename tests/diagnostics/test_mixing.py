"""ArviZ's numbers over a history: silent on a well-mixed Gaussian, loud on separate modes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base import array_stats

import spos
from spos.diagnostics import mixing
from spos.diagnostics.mixing import ALONE, AT_REST, INTERACTING, SHARED_BATCH


def gaussian(theta):
    return -0.5 * jnp.sum(theta**2)


def two_modes(theta):
    return jnp.logaddexp(-0.5 * jnp.sum((theta - 20) ** 2), -0.5 * jnp.sum((theta + 20) ** 2))


def sample(sampler, start, num_steps=4000, every=10):
    return spos.sample(sampler, start, num_steps, history_every=every, progress=False)


@pytest.fixture(scope="module")
def well_mixed():
    return sample(spos.sgld(gaussian, 0.2), jax.random.normal(jax.random.key(0), (8, 2)))


def test_a_well_mixed_gaussian_is_not_flagged_and_its_draws_count_almost_fully(well_mixed):
    found = mixing(well_mixed)
    assert found.flagged == []
    assert (found.r_hat < 1.01).all()
    # ten steps apart the chains have a correlation of .8^10 = .11: (1 - .11)/(1 + .11) = .8 each
    assert found.ess_bulk == pytest.approx(0.8 * 8 * 200, rel=0.25)
    assert found.mcse_mean == pytest.approx(np.sqrt((1 / 0.9) / found.ess_bulk), rel=0.2)
    assert found.notes == [ALONE]


def test_the_numbers_are_arvizs_own_of_particles_as_chains(well_mixed):
    chains = np.asarray(well_mixed.history, np.float64)[200:, :, 1].T
    found = mixing(well_mixed)
    assert found.r_hat[1] == array_stats.rhat(chains)
    assert found.ess_tail[1] == array_stats.ess(chains, method="tail", prob=(0.05, 0.95))
    assert found.names == ["theta[0]", "theta[1]"]
    assert "0 of 2 parameters" in str(found)


def test_a_fit_is_judged_as_it_judges_itself():
    fit = spos.fit(gaussian, start=jax.random.normal(jax.random.key(0), (100, 2)), progress=False)
    found = mixing(fit)
    assert fit.converged
    assert found.flagged == []
    draws = np.asarray(fit.to_arviz().posterior["theta"], np.float64)[..., 1]
    assert len(draws) == 4
    assert found.r_hat[1] == pytest.approx(float(array_stats.rhat(draws)), abs=1e-4)
    assert found.ess_bulk[1] == pytest.approx(float(array_stats.ess(draws)), rel=1e-3)


def test_chains_in_separate_modes_are_flagged():
    start = jnp.asarray([[-20.0], [-20.0], [20.0], [20.0]])
    found = mixing(sample(spos.sgld(two_modes, 0.1), start, 400))
    assert found.flagged == ["theta[0]"]
    assert found.r_hat[0] > 1.5
    assert "1 of 1 parameters" in str(found)


def test_the_start_is_left_out_unless_asked_for(well_mixed):
    drifting = dataclasses.replace(well_mixed, history=np.array(well_mixed.history))
    drifting.history[:100, :4] += 10.0
    assert mixing(drifting).flagged == []
    assert mixing(drifting, burn_in=0.0).flagged == ["theta[0]", "theta[1]"]


def test_notes_say_what_interaction_batches_and_rest_do():
    start = jax.random.normal(jax.random.key(1), (3, 1))
    data = jnp.zeros(5)
    target = spos.posterior(lambda theta, x: -((x - theta[0]) ** 2), gaussian, data, 2)
    assert mixing(sample(spos.spos(target, 0.01), start, 8, 1)).notes == [INTERACTING, SHARED_BATCH]
    result = sample(spos.svgd(gaussian, 0.1), start, 8, 1)
    stopped = dataclasses.replace(result, history=jnp.broadcast_to(start, (8, 3, 1)))
    found = mixing(stopped)
    assert found.notes == [INTERACTING, AT_REST]
    assert found.flagged == ["theta[0]"]  # without movement R-hat is not a small number


def test_without_a_history_the_remedy_is_said(well_mixed):
    with pytest.raises(ValueError, match="history_every="):
        mixing(dataclasses.replace(well_mixed, history=None))
    with pytest.raises(ValueError, match="at least 4 records after the burn-in, got 3 of 6"):
        mixing(dataclasses.replace(well_mixed, history=well_mixed.history[:6]))
    with pytest.raises(TypeError, match=r"result must come from spos\.sample"):
        mixing(3)
