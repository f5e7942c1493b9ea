"""The target of a policy, from episodes given by hand: what its score is, and what it remembers.

Against a problem whose gradient is known, and with episodes of its own, it is tested in
`tests/rl/test_advantages.py`; what becomes of a reward that is not a number, in
`tests/rl/test_train.py`.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policy_by_hand import ACTIONS, ALIVE, EPISODES, GAMMA, REWARDS, SEEN, THETA, ByHand
from spos.targets.policy import policy_posterior


def target(alpha=2.0, **options):
    return policy_posterior(ByHand(), alpha, num_iterations=3, **options)


def surrogate(theta, particle, alpha=2.0):
    """(1/num) Σ A log π / α of one particle, in double precision and plain loops."""
    total = 0.0
    for episode in range(3):
        for t in range(4):
            later = [GAMMA ** (k - t) * REWARDS[particle, k, episode] for k in range(t, 4)]
            off = ACTIONS[particle, t, episode] - SEEN[particle, t, episode] @ theta
            total += ALIVE[particle, t, episode] * sum(later) * -0.5 * off**2
    return total / 3 / alpha


def difference(particle, alpha=2.0):
    """∇ of the surrogate by central differences."""
    steps = 1e-4 * np.eye(2)
    theta = THETA[particle].astype(float)
    return np.asarray(
        [
            (surrogate(theta + d, particle, alpha) - surrogate(theta - d, particle, alpha)) / 2e-4
            for d in steps
        ]
    )


@pytest.mark.parametrize("alpha", [2.0, 10.0])
def test_the_score_is_the_derivative_of_weighted_log_probabilities_over_alpha(alpha):
    found = target(alpha, standardize=False).score(jnp.asarray(THETA), EPISODES)
    expected = [difference(particle, alpha) for particle in range(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_a_prior_adds_its_own_gradient():
    plain = target().score(jnp.asarray(THETA), EPISODES)
    with_prior = target(log_prior=lambda theta: -0.5 * jnp.sum(theta**2))
    np.testing.assert_allclose(
        with_prior.score(jnp.asarray(THETA), EPISODES) - plain, -THETA, rtol=1e-3, atol=1e-5
    )
    value = float(with_prior.log_prob(jnp.asarray(THETA[0]), EPISODES))
    expected = REWARDS[0].sum() / 3 / 2.0 - 0.5 * np.sum(THETA[0] ** 2)
    assert value == pytest.approx(expected, rel=1e-4)


def test_standardized_scores_do_not_depend_on_the_unit_of_reward():
    tenfold = EPISODES._replace(rewards=10.0 * EPISODES.rewards)
    for standardize in (True, False):
        each = target(standardize=standardize)
        first, second = (each.score(jnp.asarray(THETA), e) for e in (EPISODES, tenfold))
        assert np.allclose(first, second, rtol=1e-3) == standardize


def test_the_memory_keeps_returns_and_visited_cells_of_every_iteration():
    each = target()
    memory = each.first_memory(jnp.asarray(THETA))
    assert np.isnan(memory.returns).all()
    for _ in range(2):
        _, memory = each.scores(memory, jnp.asarray(THETA), EPISODES)
    assert int(memory.iteration) == 2
    np.testing.assert_allclose(memory.returns[1], REWARDS.sum(axis=1).mean(axis=1), rtol=1e-4)
    assert np.isnan(memory.returns[2]).all()
    np.testing.assert_allclose(memory.coverage[:2], [0.5, 0.5])  # a maximum above 0, no minimum


def test_a_step_without_a_batch_plays_its_own_episodes():
    found = target().score(jnp.asarray(THETA), jax.random.key(3))
    assert (found == target().score(jnp.asarray(THETA), EPISODES)).all()


@pytest.mark.parametrize("change", [{"alpha": 0.0}, {"alpha": -1.0}])
def test_a_temperature_that_is_not_positive_is_refused(change):
    with pytest.raises(ValueError, match="alpha"):
        target(**change)


def test_a_task_that_is_none_is_refused():
    with pytest.raises(TypeError, match="task must be a PolicyTask, got 3"):
        policy_posterior(3, 1.0)


def test_settings_follow_from_the_values():
    assert target().settings == {
        "type": "policyposterior",
        "task": {"type": "byhand"},
        "alpha": 2.0,
        "log_prior": None,
        "num_iterations": 3,
        "standardize": True,
        "surrogate": {"type": "logprobability", "num_epochs": 1, "num_minibatches": 1},
        "entropy": None,
        "natural": None,
        "normalize_observations": False,
        "normalize_returns": False,
    }
    assert target() == target()
    assert target() != target(3.0)
