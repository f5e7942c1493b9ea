"""The posterior of a policy: q(θ) ∝ exp(J(θ)/α) p(θ), J the expected return of an episode.

Particles are policies. Their scores come from episodes they play themselves, by the policy gradient

    ∇J(θ) ≈ (1/num) Σ_episodes Σ_t A_t ∇ log π_θ(a_t | o_t)

so that to an algorithm this is a target like any other. What plays, what A is and what π is are
functions given from outside. "Data" are random keys: the batch of a step is the key its episodes
are played with, or the episodes themselves where someone else has played them.

**Scale.** With `standardize`, the advantages of each particle are brought to mean 0 and deviation 1
in every step. That is how policy gradients are usually made robust; it measures J in units of the
deviation σ_A of the particle's advantages, so that α is in these units too. Without it the gradient
is unbiased wherever the advantages are.

**Memory.** The estimator remembers the particles' critics, the returns of every iteration and which
cells of the observations' grid have been visited: whatever continues a run has its curves too.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from spos.targets.target import Target
from spos.types import Number, Particles, PyTree
from spos.values import static, value

Log = Callable[[PyTree], jax.Array]


class Memory(NamedTuple):
    """What the scores of a policy remember."""

    critics: PyTree  # one a particle
    iteration: jax.Array
    returns: jax.Array  # (iterations, M): the mean return of a particle's episodes
    coverage: jax.Array  # (iterations,): the share of cells visited by any particle so far
    visited: jax.Array  # (cells,): 1 where someone has been


class Parts(NamedTuple):
    """What a policy target is made of. `episodes` have the fields of `spos.rl.Trajectories` and a
    leading axis of particles in `play`, none elsewhere."""

    play: Callable[[Particles, jax.Array], Any]  # (particles, key) -> episodes
    log_policy: Callable[[PyTree, jax.Array, jax.Array], jax.Array]  # log π of one action
    first_critic: Callable[[], PyTree]
    advantages: Callable[[PyTree, Any], tuple[jax.Array, PyTree]]  # (critic, episodes)
    cells: Callable[[jax.Array], jax.Array] | None = None  # (T, num, o) -> (cells,) visited


@value
class PolicyPosterior(Target):
    """The target of the module's text."""

    alpha: Number
    log_prior: Log | None = None
    parts: Parts = static(default=None)
    iterations: int = static(default=1)
    standardize: bool = static(default=True)
    about: tuple[tuple[str, Any], ...] = static(default=())

    remembers: ClassVar[bool] = True

    @property
    def settings(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "standardize": self.standardize, **dict(self.about)}

    def log_prob(self, theta: PyTree, batch: Any = None) -> jax.Array:
        """An estimate of log q up to a constant, from the episodes of one particle."""
        episodes = self._episodes(jax.tree.map(lambda leaf: leaf[None], theta), batch)
        value = jnp.mean(jnp.sum(episodes.rewards[0], axis=0)) / self.alpha
        return value if self.log_prior is None else value + self.log_prior(theta)

    def score(self, particles: Particles, batch: Any = None) -> Particles:
        """The scores of a first step."""
        return self.scores(self.first_memory(particles), particles, batch)[0]

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> jax.Array:
        return key

    def _episodes(self, particles: Particles, batch: Any) -> Any:
        if batch is None:
            batch = jax.random.key(0)
        return batch if hasattr(batch, "rewards") else self.parts.play(particles, batch)

    def first_memory(self, particles: Particles) -> Memory:
        count = len(jax.tree.leaves(particles)[0])
        critic = self.parts.first_critic()
        critics = jax.tree.map(lambda leaf: jnp.repeat(leaf[None], count, axis=0), critic)
        cells = 0
        if self.parts.cells is not None:
            episodes = jax.eval_shape(self._episodes, particles, None)
            like = jax.ShapeDtypeStruct(episodes.observations.shape[1:], jnp.float32)
            cells = jax.eval_shape(self.parts.cells, like).shape[0]
        return Memory(
            critics,
            jnp.zeros((), jnp.int32),
            jnp.full((self.iterations, count), jnp.nan),
            jnp.full((self.iterations,), jnp.nan),
            jnp.zeros(cells),
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
        if self.parts.cells is not None:
            here = jax.vmap(self.parts.cells)(episodes.observations)
            visited = jnp.maximum(visited, jnp.max(here, axis=0))
            coverage = coverage.at[n].set(jnp.mean(visited))
        return scores, Memory(critics, n + 1, memory.returns.at[n].set(returns), coverage, visited)

    def _score(self, critic: PyTree, theta: PyTree, episodes: Any) -> tuple[PyTree, PyTree]:
        advantages, critic = self.parts.advantages(critic, episodes)
        advantages = advantages * episodes.alive
        if self.standardize:
            advantages = standardized(advantages, episodes.alive)
        observations, actions = (
            part.reshape(-1, *part.shape[2:]) for part in (episodes.observations, episodes.actions)
        )
        weights = jax.lax.stop_gradient(advantages.reshape(-1)) / advantages.shape[1]

        def log_density(theta: PyTree) -> jax.Array:
            logs = jax.vmap(self.parts.log_policy, (None, 0, 0))(theta, observations, actions)
            value = jnp.dot(weights, logs) / self.alpha
            return value if self.log_prior is None else value + self.log_prior(theta)

        return jax.grad(log_density)(theta), critic


def standardized(advantages: jax.Array, alive: jax.Array) -> jax.Array:
    """Mean 0 and deviation 1 over all steps that count, and 0 elsewhere."""
    total = jnp.sum(alive)
    off = alive * (advantages - jnp.sum(alive * advantages) / total)
    return off / (jnp.sqrt(jnp.sum(off * off) / total) + 1e-8)
