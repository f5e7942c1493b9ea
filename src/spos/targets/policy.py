"""The posterior of a policy: q(θ) ∝ exp(J(θ)/α) p(θ), J the expected return of an episode.

Particles are policies. Their scores come from episodes they play themselves, by the policy gradient

    ∇J(θ) ≈ (1/num) Σ_episodes Σ_t A_t ∇ log π_θ(a_t | o_t)

so that to an algorithm this is a target like any other. What plays, what A is and what π is, a
`PolicyTask` says; `spos.rl` has one. "Data" are random keys: the batch of a step is the key its
episodes are played with, or the episodes themselves where someone else has played them.

**Scale.** With `standardize`, the advantages of each particle are brought to mean 0 and deviation 1
in every step. That is how policy gradients are usually made robust; it measures J in units of the
deviation σ_A of the particle's advantages, so that α is in these units too. Without it the gradient
is unbiased wherever the advantages are.

**Memory.** The scores remember the particles' critics, the returns of every iteration and which
cells of the observations' grid have been visited: whatever continues a run has its curves too.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from spos import checks
from spos.targets.target import Target
from spos.types import Number, Particles, PyTree
from spos.values import Value, as_function, static, value

LogPrior = Callable[[PyTree], jax.Array]


class Episodes(Protocol):
    """What the gradient needs of episodes: time first, then episodes, and particles before both
    where all of them played. `spos.rl.Trajectories` has all of it."""

    @property
    def observations(self) -> Any:
        """(T, num, o): what the policy saw before it acted."""

    @property
    def actions(self) -> Any:
        """(T, num, …)."""

    @property
    def rewards(self) -> Any:
        """(T, num): 0 after an episode's end."""

    @property
    def alive(self) -> Any:
        """(T, num): 1 while the step counted, 0 after an episode's end."""


class Memory(NamedTuple):
    """What the scores of a policy remember."""

    critics: PyTree  # one a particle
    iteration: jax.Array
    returns: jax.Array  # (iterations, M): the mean return of a particle's episodes
    coverage: jax.Array  # (iterations,): the share of cells visited by any particle so far
    visited: jax.Array  # (cells,): 1 where someone has been


@value
class PolicyTask(Value):
    """What the posterior of a policy is made of. A task of one's own is a value with these methods.

    All but `play` are of one particle.
    """

    def play(self, particles: Particles, key: jax.Array) -> Any:
        """`Episodes` of every particle.

        Args:
            particles: the parameters of M policies.
            key: all randomness of the episodes.

        Returns:
            Episodes whose arrays have a leading axis of particles.
        """
        raise NotImplementedError

    def log_policy(self, theta: PyTree, observation: jax.Array, action: jax.Array) -> jax.Array:
        """log π_θ(action | observation), one number."""
        raise NotImplementedError

    def first_critic(self) -> PyTree:
        """What one particle's critic knows before its first episodes; nothing without a critic."""
        return ()

    def advantages(self, critic: PyTree, episodes: Any) -> tuple[jax.Array, PyTree]:
        """How much better than expected each action was.

        Args:
            critic: of the particle.
            episodes: `Episodes` of the particle.

        Returns:
            The advantages (T, num), and the critic that has seen these episodes.
        """
        raise NotImplementedError

    @property
    def num_cells(self) -> int:
        """The number of cells of the grid; 0 without one."""
        return 0

    def cells(self, observations: jax.Array) -> jax.Array:
        """From observations (T, num, o) to a vector with 1 for each cell that was visited."""
        return jnp.zeros(self.num_cells)

    def draw(self, key: jax.Array) -> Any:
        """The batch of a step: a key for `play`, unless another way of playing has its own."""
        return key


@value
class PolicyPosterior(Target):
    """The target of the module's text; `policy_posterior` makes one."""

    task: PolicyTask
    alpha: Number
    log_prior: LogPrior | None = None
    num_iterations: int = static(default=1)
    standardize: bool = static(default=True)

    remembers: ClassVar[bool] = True

    def log_prob(self, theta: PyTree, batch: Any = None) -> jax.Array:
        """An estimate of log q up to a constant, from the episodes of one particle."""
        episodes = self._episodes(jax.tree.map(lambda leaf: leaf[None], theta), batch)
        return self._with_prior(theta, jnp.mean(jnp.sum(episodes.rewards[0], axis=0)) / self.alpha)

    def score(self, particles: Particles, batch: Any = None) -> Particles:
        """The scores of a first step."""
        return self.scores(self.first_memory(particles), particles, batch)[0]

    def outside(self, particles: Particles, batch: Any = None) -> jax.Array:
        """None: a policy can be played with any numbers, and to ask would be to play."""
        return jnp.zeros(len(jax.tree.leaves(particles)[0]), bool)

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> Any:
        return self.task.draw(key)

    def first_memory(self, particles: Particles) -> Memory:
        num_particles = len(jax.tree.leaves(particles)[0])
        critics = jax.tree.map(
            lambda leaf: jnp.repeat(leaf[None], num_particles, axis=0), self.task.first_critic()
        )
        return Memory(
            critics,
            jnp.zeros((), jnp.int32),
            jnp.full((self.num_iterations, num_particles), jnp.nan),
            jnp.full((self.num_iterations,), jnp.nan),
            jnp.zeros(self.task.num_cells),
        )

    def scores(self, memory: Memory, particles: Particles, batch: Any) -> tuple[Particles, Memory]:
        episodes = self._episodes(particles, batch)
        # one particle after another: each brings weights of its own, which then stay in the cache
        scores, critics = jax.lax.map(
            lambda one: self._score(*one), (memory.critics, particles, episodes)
        )
        returns = jnp.mean(jnp.sum(episodes.rewards, axis=1), axis=1)
        visited, n = memory.visited, memory.iteration
        coverage = memory.coverage
        if self.task.num_cells:
            here = jax.vmap(self.task.cells)(episodes.observations)
            visited = jnp.maximum(visited, jnp.max(here, axis=0))
            coverage = coverage.at[n].set(jnp.mean(visited))
        return scores, Memory(critics, n + 1, memory.returns.at[n].set(returns), coverage, visited)

    def _episodes(self, particles: Particles, batch: Any) -> Any:
        if batch is None:
            batch = jax.random.key(0)
        return batch if hasattr(batch, "rewards") else self.task.play(particles, batch)

    def _score(self, critic: PyTree, theta: PyTree, episodes: Any) -> tuple[PyTree, PyTree]:
        advantages, critic = self.task.advantages(critic, episodes)
        advantages = advantages * episodes.alive
        if self.standardize:
            advantages = standardized(advantages, episodes.alive)
        observations, actions = (
            part.reshape(-1, *part.shape[2:]) for part in (episodes.observations, episodes.actions)
        )
        weights = jax.lax.stop_gradient(advantages.reshape(-1)) / advantages.shape[1]

        def log_density(theta: PyTree) -> jax.Array:
            logs = jax.vmap(self.task.log_policy, (None, 0, 0))(theta, observations, actions)
            return self._with_prior(theta, jnp.dot(weights, logs) / self.alpha)

        return jax.grad(log_density)(theta), critic

    def _with_prior(self, theta: PyTree, log_density: jax.Array) -> jax.Array:
        return log_density if self.log_prior is None else log_density + self.log_prior(theta)


def policy_posterior(
    task: PolicyTask,
    alpha: Number,
    *,
    num_iterations: int = 1,
    log_prior: LogPrior | None = None,
    standardize: bool = True,
) -> PolicyPosterior:
    """The target q(θ) ∝ exp(J(θ)/α) p(θ).

    Args:
        task: what plays, what judges the actions, and what the policy is.
        alpha: above 0; a small one weighs returns heavily against the prior.
        num_iterations: how many steps the memory has room for.
        log_prior: log p of one particle, up to a constant; flat without.
        standardize: bring each particle's advantages to mean 0 and deviation 1 in every step.

    Returns:
        The target.

    Example:
        >>> target = spos.rl.learner("cartpole", num_particles=2, num_episodes=2).sampler.target
        >>> type(target).__name__, target.alpha
        ('PolicyPosterior', 10.0)
    """
    if not isinstance(task, PolicyTask):
        raise TypeError(f"task must be a PolicyTask, got {task!r}")
    return PolicyPosterior(
        task,
        checks.positive("alpha", alpha),
        None if log_prior is None else as_function(checks.function("log_prior", log_prior)),
        checks.whole("num_iterations", num_iterations),
        standardize,
    )


def standardized(advantages: jax.Array, alive: jax.Array) -> jax.Array:
    """Mean 0 and deviation 1 over all steps that count, and 0 elsewhere.

    Args:
        advantages: (T, num).
        alive: (T, num), 1 where a step counts.

    Returns:
        The advantages in units of their deviation.
    """
    total = jnp.sum(alive)
    off = alive * (advantages - jnp.sum(alive * advantages) / total)
    return off / (jnp.sqrt(jnp.sum(off * off) / total) + 1e-8)
