"""Episodes of many policies at once, as one compiled program.

Every particle plays `num` episodes of its own in copies of a pure environment. They advance side by
side through one scan over time. An episode that is over stands still, and what it would have earned
is masked, so that all of them have the length of the horizon. An environment that is no pure
function (`spos.rl.gymnasium`) plays them on the host instead, those of all particles side by side.
"""

from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from spos.programs import compiled
from spos.rl.envs import Continuous, Environment
from spos.rl.envs.environment import Outline
from spos.rl.policies import Policy
from spos.rl.trajectories import Trajectories
from spos.types import Particles, PyTree

# (observations (num, o), step) -> actions (num,) of integers or (num, size) of numbers
Act = Callable[[np.ndarray, int], Any]


class Collector(Protocol):
    """An environment outside the compiled program, which offers whole episodes."""

    @property
    def horizon(self) -> int:
        """The length of an episode in steps."""

    def collect(self, act: Act, num: int, seed: int) -> Trajectories:
        """`num` episodes with the actions of `act`, side by side."""


def play(
    environment: Environment, policy: Policy, num: int, particles: Particles, key: jax.Array
) -> Trajectories:
    """Episodes of every particle in a pure environment.

    Args:
        environment: the task.
        policy: what turns particles into actions.
        num: episodes of each particle.
        particles: the parameters of M policies.
        key: all randomness.

    Returns:
        Episodes whose arrays have a leading axis of particles.

    Example:
        >>> learner = spos.rl.learner("cartpole", num_particles=3)
        >>> task, key = spos.rl.envs.make("cartpole"), jax.random.key(0)
        >>> played = spos.rl.episodes.play(task, learner.policy, 2, learner.start(0), key)
        >>> played.rewards.shape
        (3, 500, 2)
    """
    count, horizon = len(jax.tree.leaves(particles)[0]), environment.horizon
    reset_key, noise_key = jax.random.split(key)
    keys = jax.random.split(reset_key, (count, num))
    noise = policy.noise(noise_key, (horizon, count * num)).reshape(horizon, count, num, -1)

    def one(theta: PyTree, keys: jax.Array, noise: jax.Array) -> Trajectories:
        def step(carry: tuple[PyTree, jax.Array], xi: jax.Array) -> tuple[Any, Any]:
            states, alive = carry
            seen = jax.vmap(environment.observe)(states)
            actions = jax.vmap(policy.act, (None, 0, 0))(theta, seen, xi)
            after, reward, ended = jax.vmap(environment.step)(states, actions)
            states = jax.tree.map(lambda new, old: _where(alive, new, old), after, states)
            row = seen, actions, jnp.where(alive, reward, 0.0), alive.astype(seen.dtype)
            return (states, alive & ~ended), row

        start = jax.vmap(environment.reset)(keys), jnp.ones(num, bool)
        (states, alive), rows = jax.lax.scan(step, start, noise)
        last = jax.vmap(environment.observe)(states)
        return Trajectories._make((*rows, ~alive, alive, last))

    return jax.vmap(one, in_axes=(0, 0, 1))(particles, keys, noise)


def _where(condition: jax.Array, yes: jax.Array, no: jax.Array) -> jax.Array:
    return jnp.where(condition.reshape(-1, *(1,) * (yes.ndim - 1)), yes, no)


def play_outside(
    environment: Collector, policy: Policy, num: int, particles: Particles, key: jax.Array
) -> Trajectories:
    """`play` for an environment that collects whole episodes on the host.

    Args:
        environment: the task, such as `spos.rl.gymnasium` gives.
        policy: what turns particles into actions.
        num: episodes of each particle.
        particles: the parameters of M policies.
        key: all randomness; the seed of the environment is drawn from it, too.

    Returns:
        Episodes whose arrays, those of NumPy, have a leading axis of particles.
    """
    count, horizon = len(jax.tree.leaves(particles)[0]), environment.horizon
    seed, drawn = _randomness(count, num, horizon, policy, key)
    noise = np.asarray(drawn)

    def choose(observations: np.ndarray, step: int) -> np.ndarray:
        seen = observations.reshape(count, num, -1)
        chosen = np.asarray(_act(policy, particles, seen, noise[step]))
        return chosen.reshape(count * num, *chosen.shape[2:])

    episodes = environment.collect(choose, count * num, int(seed))
    rows = [_by_particle(part, count, 1) for part in episodes[:4]]
    ends = [_by_particle(part, count, 0) for part in episodes[4:]]
    return Trajectories._make((*rows, *ends))


@compiled(3)
def _randomness(
    count: int, num: int, horizon: int, policy: Policy, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    reset_key, noise_key = jax.random.split(key)
    seed = jax.random.randint(reset_key, (), 0, 2**31 - 1)
    noise = policy.noise(noise_key, (horizon, count * num))
    return seed, noise.reshape(horizon, count, num, -1)


@compiled()
def _act(policy: Policy, particles: Particles, seen: Any, noise: Any) -> jax.Array:
    """The actions of all particles; observations and noise have axes (M, num, …)."""
    return jax.vmap(jax.vmap(policy.act, (None, 0, 0)))(particles, seen, noise)


def _by_particle(part: np.ndarray, count: int, axis: int) -> np.ndarray:
    split = part.reshape(*part.shape[:axis], count, -1, *part.shape[axis + 1 :])
    return np.moveaxis(split, axis, 0)


def blank(outline: Outline, num: int, particles: Particles) -> Trajectories:
    """Episodes by shape alone, for an environment that cannot be traced."""
    count, size = len(jax.tree.leaves(particles)[0]), outline.observation_size
    steps, ends = (count, outline.horizon, num), (count, num)
    actions = jnp.zeros(steps, jnp.int32)
    if isinstance(outline.actions, Continuous):
        actions = jnp.zeros((*steps, outline.actions.size))
    rows = [jnp.zeros((*steps, size)), actions, jnp.zeros(steps), jnp.zeros(steps)]
    over = jnp.zeros(ends, bool)
    return Trajectories._make((*rows, over, over, jnp.zeros((*ends, size))))
