"""The options of a policy's target, from episodes given by hand, against plain loops in NumPy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policy_by_hand import ACTIONS, ALIVE, EPISODES, GAMMA, REWARDS, SEEN, THETA, ByHand
from spos.rl import policies
from spos.rl.envs import Continuous, Discrete
from spos.targets.policy import moments, policy_posterior
from spos.targets.policy.surrogates import LogProbability, clipped
from spos.values import value

ALPHA, CLIP, BONUS, DAMPING = 2.0, 0.2, 0.3, 0.05
MOVED = THETA + np.asarray([[0.5, -0.8], [-0.6, 0.4]], np.float32)


@value
class Task(ByHand):
    observation_size = 2

    def entropy(self, theta, observation):
        return jnp.sum(jnp.sin(theta) * observation)

    def seeing(self, seen):
        return self


def target(task=None, **options):
    return policy_posterior(task or Task(), ALPHA, num_iterations=4, standardize=False, **options)


@jax.jit
def scores(target, memory, particles, batch):
    """Compiled: dozens of small programs take longer."""
    return target.scores(memory, particles, batch)


def score(target, particles=THETA, episodes=EPISODES):
    particles = jnp.asarray(particles)
    return scores(target, target.first_memory(particles), particles, episodes)[0]


def rows(particle):
    """Alive steps as (observation, action, advantage)."""
    for episode in range(3):
        for t in range(4):
            if ALIVE[particle, t, episode]:
                later = [GAMMA ** (k - t) * REWARDS[particle, k, episode] for k in range(t, 4)]
                yield SEEN[particle, t, episode], ACTIONS[particle, t, episode], sum(later)


def log_policy(theta, seen, action):
    return -0.5 * (action - seen @ theta) ** 2


def clipped_by_loops(theta, particle, clip):
    total = 0.0
    for seen, action, advantage in rows(particle):
        before = log_policy(THETA[particle].astype(float), seen, action)
        ratio = np.exp(log_policy(theta, seen, action) - before)
        total += min(ratio * advantage, np.clip(ratio, 1 - clip, 1 + clip) * advantage)
    return total / 3 / ALPHA


def difference(function, particle):
    theta = MOVED[particle].astype(float)
    return [(function(theta + d) - function(theta - d)) / 2e-5 for d in 1e-5 * np.eye(2)]


def test_later_steps_climb_the_clipped_surrogate_of_the_first_ones_episodes():
    each = target(surrogate=clipped(CLIP, 2, 1))
    first, memory = scores(
        each, each.first_memory(jnp.asarray(THETA)), jnp.asarray(THETA), EPISODES
    )
    plain = target(surrogate=LogProbability()).score(jnp.asarray(THETA), EPISODES)
    np.testing.assert_allclose(first, plain, rtol=1e-4, atol=1e-5)
    others = EPISODES._replace(rewards=-EPISODES.rewards)  # nobody asks for them any more
    second, memory = scores(each, memory, jnp.asarray(MOVED), others)
    for particle in range(2):
        by_loops = [
            difference(functools.partial(clipped_by_loops, particle=particle, clip=clip), particle)
            for clip in (CLIP, 1e9)
        ]
        np.testing.assert_allclose(second[particle], by_loops[0], rtol=2e-3, atol=1e-3)
        assert np.abs(by_loops[0] - np.asarray(by_loops[1])).max() > 0.05  # some rows are clipped
    assert int(memory.iteration) == 1
    third, memory = scores(each, memory, jnp.asarray(THETA), others)
    np.testing.assert_allclose(third, -plain, rtol=1e-4, atol=1e-5)  # new ones
    assert int(memory.iteration) == 2


@pytest.mark.parametrize(("num_minibatches", "whole"), [(3, True), (5, False)])
def test_the_steps_of_an_epoch_use_every_row_once_and_average_to_the_whole(num_minibatches, whole):
    each = target(surrogate=clipped(CLIP, 2, num_minibatches))
    memory, theta = each.first_memory(jnp.asarray(THETA)), jnp.asarray(THETA)
    found = []
    for _ in range(2 * num_minibatches):
        one, memory = scores(each, memory, theta, EPISODES)
        found.append(np.asarray(one))
    assert int(memory.iteration) == 1
    full = np.asarray(score(target()))
    for epoch in (found[:num_minibatches], found[num_minibatches:]):
        agrees = np.allclose(np.mean(epoch, axis=0), full, rtol=1e-4, atol=1e-4)
        assert agrees == whole  # five parts of two rows each leave two of twelve out
    assert not np.allclose(found[0], found[num_minibatches])  # another shuffle


def test_an_entropy_bonus_adds_its_gradient_of_every_step_that_counts():
    plain, more = (score(target(**options)) for options in ({}, {"entropy": BONUS}))
    for particle in range(2):
        total = sum(seen for seen, _, _ in rows(particle))
        expected = BONUS * np.cos(THETA[particle]) * total / 3 / ALPHA
        np.testing.assert_allclose((more - plain)[particle], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("actions", [Continuous(2), Discrete(3)])
def test_the_entropy_of_a_policy_is_minus_its_mean_log_probability(actions):
    """By drawing 4000 actions; five standard errors."""
    policy = policies.make(2, actions, (3,))
    theta, seen = policy.init(jax.random.key(1)), jnp.asarray([0.4, -0.2])
    noise = policy.noise(jax.random.key(2), (4000, 1))[:, 0]
    drawn = jax.vmap(policy.act, (None, None, 0))(theta, seen, noise)
    logs = -np.asarray(jax.vmap(policy.log_prob, (None, None, 0))(theta, seen, drawn))
    off = (logs.mean() - float(policy.entropy(theta, seen))) / (logs.std() / 4000**0.5)
    assert abs(off) < 5


def test_a_natural_gradient_solves_with_the_fisher_matrix_of_the_rows():
    plain, found = (score(target(**options)) for options in ({}, {"damping": DAMPING}))
    for particle in range(2):
        theta = THETA[particle].astype(float)
        slopes = np.asarray([(action - seen @ theta) * seen for seen, action, _ in rows(particle)])
        fisher = slopes.T @ slopes / len(slopes)
        expected = np.linalg.solve(fisher + DAMPING * np.eye(2), plain[particle])
        np.testing.assert_allclose(found[particle], expected, rtol=1e-3)


def test_moments_of_parts_are_those_of_the_whole():
    known = moments.unknown((2,))
    assert (known.deviation == 1).all()
    for particle in range(2):
        known = known.joined(EPISODES.observations[particle], EPISODES.alive[particle])
    all_rows = np.asarray([seen for p in range(2) for seen, _, _ in rows(p)])
    np.testing.assert_allclose(known.mean, all_rows.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(known.deviation, all_rows.std(axis=0), rtol=1e-4)
    assert (moments.unknown(()).joined(jnp.ones(5), jnp.ones(5)).deviation == 1).all()


def test_normalized_observations_are_those_of_earlier_iterations_in_their_deviations():
    each, theta = target(normalize_observations=True), jnp.asarray(THETA)
    first, memory = scores(each, each.first_memory(theta), theta, EPISODES)
    np.testing.assert_allclose(first, score(target()), rtol=1e-5)  # none yet
    all_rows = np.asarray([seen for p in range(2) for seen, _, _ in rows(p)])
    by_hand = (SEEN - all_rows.mean(axis=0)) / all_rows.std(axis=0)
    expected = score(
        target(), THETA, EPISODES._replace(observations=jnp.asarray(by_hand, jnp.float32))
    )
    found, _ = scores(each, memory, theta, EPISODES)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    assert not np.allclose(found, first, rtol=0.1)


def test_normalized_returns_do_not_depend_on_the_unit_of_reward():
    tenfold = EPISODES._replace(rewards=10.0 * EPISODES.rewards)
    for normalize in (True, False):
        each = target(normalize_returns=normalize)
        first, second = (score(each, THETA, e) for e in (EPISODES, tenfold))
        assert np.allclose(first, second, rtol=1e-3) == normalize
    deviation = REWARDS.sum(axis=1).std()
    plain = score(target())
    scaled = score(target(normalize_returns=True))
    np.testing.assert_allclose(scaled, plain / deviation, rtol=1e-3)


def test_a_task_that_lacks_what_an_option_needs_says_so():
    for options in ({"entropy": 0.1}, {"normalize_observations": True}):
        with pytest.raises(NotImplementedError, match="ByHand must have"):
            target(ByHand(), **options).score(jnp.asarray(THETA), EPISODES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entropy": -1.0}, "entropy"),
        ({"damping": 0.0}, "damping"),
        ({"surrogate": "ppo"}, "surrogate must be"),
    ],
)
def test_a_wrong_option_is_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        target(**options)


def test_more_parts_than_rows_are_refused():
    with pytest.raises(ValueError, match="num_minibatches must be at most the 12 steps"):
        target(surrogate=clipped(CLIP, 1, 13)).first_memory(jnp.asarray(THETA))
