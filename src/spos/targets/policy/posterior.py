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

**Many steps on the same episodes.** Where the surrogate allows it (`surrogates.py`), new episodes
are played in the first of `surrogate.num_updates` steps. They are kept in the memory for the
others, each of which takes its score from a random part of the rows.

**Options.** All of them change what a score is, so that no algorithm knows of them:

    entropy                   J + c E[Σ_t H(π_θ(· | o_t))], with analytic entropies
    natural                   the scores' natural gradient (`natural.py`)
    normalize_observations    policies and critics see (o - mean) / deviation of all observations so
                              far, of all particles: one scale for all, so that they stay comparable
    normalize_returns         rewards are in units of the deviation of all returns so far

**Memory.** The scores remember the particles' critics, the returns of every iteration and which
cells of the observations' grid have been visited: whatever continues a run has its curves too.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from spos import checks
from spos.targets.policy import moments, natural
from spos.targets.policy.memory import Memory
from spos.targets.policy.natural import NaturalGradient
from spos.targets.policy.rows import Rows, minibatch, standardized
from spos.targets.policy.surrogates import LogProbability, Surrogate
from spos.targets.policy.task import PolicyTask
from spos.targets.target import Target
from spos.types import Number, Particles, PyTree
from spos.values import as_function, static, value

LogPrior = Callable[[PyTree], jax.Array]
PLAIN = LogProbability()


@value
class PolicyPosterior(Target):
    """The target of the module's text; `policy_posterior` makes one."""

    task: PolicyTask
    alpha: Number
    log_prior: LogPrior | None = None
    num_iterations: int = static(default=1)
    standardize: bool = static(default=True)
    surrogate: Surrogate = PLAIN
    entropy: Number | None = None
    natural: NaturalGradient | None = None
    normalize_observations: bool = static(default=False)
    normalize_returns: bool = static(default=False)

    remembers: ClassVar[bool] = True
    independent: ClassVar[bool] = False  # what was visited is counted over all particles

    @property
    def num_updates(self) -> int:
        """The steps of a sampler on one set of episodes."""
        return self.surrogate.num_updates

    def log_prob(self, theta: PyTree, batch: Any = None) -> jax.Array:
        """An estimate of log q up to a constant, from the episodes of one particle."""
        alone = jax.tree.map(lambda leaf: leaf[None], theta)
        episodes = self._episodes(self.task, alone, batch)
        return self._with_prior(theta, jnp.mean(jnp.sum(episodes.rewards[0], axis=0)) / self.alpha)

    def score(self, particles: Particles, batch: Any = None) -> Particles:
        """The scores of a first step."""
        return self.scores(self.first_memory(particles), particles, batch)[0]

    def outside(self, particles: Particles, batch: Any = None) -> jax.Array:
        """None: a policy can be played with any numbers, and to ask would be to play."""
        return jnp.zeros(len(jax.tree.leaves(particles)[0]), bool)

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> Any:
        return self.task.draw(key)

    def playing(self, memory: Memory) -> PolicyTask:
        """The task whose policies see what those of the next episodes will see.

        Args:
            memory: of the step before.

        Returns:
            The task.
        """
        return self.task if memory.seen is None else self.task.seeing(memory.seen)

    def first_memory(self, particles: Particles) -> Memory:
        num_particles = len(jax.tree.leaves(particles)[0])
        critics = jax.tree.map(
            lambda leaf: jnp.repeat(leaf[None], num_particles, axis=0), self.task.first_critic()
        )
        normalized = self.normalize_observations
        first = Memory(
            critics,
            jnp.zeros((), jnp.int32),
            jnp.full((self.num_iterations, num_particles), jnp.nan),
            jnp.full((self.num_iterations,), jnp.nan),
            jnp.zeros(self.task.num_cells),
            jnp.zeros((), jnp.int32),
            None,
            moments.unknown((self.task.observation_size,)) if normalized else None,
            moments.unknown(()) if self.normalize_returns else None,
        )
        if self.num_updates == 1:
            return first
        form = jax.eval_shape(self._collect, first, particles, None)[0]
        if self.surrogate.num_minibatches > form.share.shape[1]:
            raise ValueError(
                f"num_minibatches must be at most the {form.share.shape[1]} steps of a particle's "
                f"episodes, got {self.surrogate.num_minibatches}"
            )
        return first._replace(kept=jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), form))

    def scores(self, memory: Memory, particles: Particles, batch: Any) -> tuple[Particles, Memory]:
        # one particle after another: each brings weights of its own, which then stay in the cache
        if self.num_updates == 1:
            episodes, memory = self._played(memory, particles, batch)

            def both(one: tuple[PyTree, PyTree, Any]) -> tuple[PyTree, PyTree]:
                rows, critic = self._judged(*one)
                return self._score(one[1], rows), critic

            scores, critics = jax.lax.map(both, (memory.critics, particles, episodes))
            return scores, memory._replace(critics=critics)
        n = memory.update
        rows, memory = jax.lax.cond(
            n == 0,
            lambda: self._collect(memory._replace(kept=None), particles, batch),
            lambda: (memory.kept, memory._replace(kept=None)),
        )
        part = minibatch(rows, memory.iteration, n, self.surrogate.num_minibatches)
        scores = jax.lax.map(lambda one: self._score(*one), (particles, part))
        return scores, memory._replace(kept=rows, update=(n + 1) % self.num_updates)

    def _collect(self, memory: Memory, particles: Particles, batch: Any) -> tuple[Rows, Memory]:
        """New episodes as rows of all particles, and what is remembered of them."""
        episodes, memory = self._played(memory, particles, batch)
        each = memory.critics, particles, episodes
        rows, critics = jax.lax.map(lambda one: self._judged(*one), each)
        return rows, memory._replace(critics=critics)

    def _played(self, memory: Memory, particles: Particles, batch: Any) -> tuple[Any, Memory]:
        """New episodes in the units that policies and critics see."""
        episodes = self._episodes(self.playing(memory), particles, batch)
        totals = jnp.sum(episodes.rewards, axis=1)
        visited, n, coverage = memory.visited, memory.iteration, memory.coverage
        if self.task.num_cells:
            here = jax.vmap(self.task.cells)(episodes.observations)
            visited = jnp.maximum(visited, jnp.max(here, axis=0))
            coverage = coverage.at[n].set(jnp.mean(visited))
        seen, earned = memory.seen, memory.earned
        raw, alive = episodes.observations, episodes.alive
        if seen is not None:
            last = seen.standard(episodes.last_observations)
            episodes = episodes._replace(observations=seen.standard(raw), last_observations=last)
            seen = seen.joined(raw, alive)
        if earned is not None:
            earned = earned.joined(totals, jnp.ones_like(totals))
            episodes = episodes._replace(rewards=episodes.rewards / earned.deviation)
        return episodes, memory._replace(
            iteration=n + 1,
            returns=memory.returns.at[n].set(jnp.mean(totals, axis=1)),
            coverage=coverage,
            visited=visited,
            seen=seen,
            earned=earned,
        )

    def _episodes(self, task: PolicyTask, particles: Particles, batch: Any) -> Any:
        if batch is None:
            batch = jax.random.key(0)
        return batch if hasattr(batch, "rewards") else task.play(particles, batch)

    def _judged(self, critic: PyTree, theta: PyTree, episodes: Any) -> tuple[Rows, PyTree]:
        """The rows of one particle, and its critic that has seen them."""
        advantages, critic = self.task.advantages(critic, episodes)
        advantages = advantages * episodes.alive
        if self.standardize:
            advantages = standardized(advantages, episodes.alive)
        observations, actions = (
            part.reshape(-1, *part.shape[2:]) for part in (episodes.observations, episodes.actions)
        )
        weights = jax.lax.stop_gradient(advantages.reshape(-1)) / advantages.shape[1]
        before = self._logs(theta, observations, actions)
        share = episodes.alive.reshape(-1) / advantages.shape[1]
        return Rows(observations, actions, weights, before, share), critic

    def _logs(self, theta: PyTree, observations: jax.Array, actions: jax.Array) -> jax.Array:
        return jax.vmap(self.task.log_policy, (None, 0, 0))(theta, observations, actions)

    def _score(self, theta: PyTree, rows: Rows) -> PyTree:
        def log_density(theta: PyTree) -> jax.Array:
            logs = self._logs(theta, rows.observations, rows.actions)
            gain = self.surrogate.total(logs, rows.before, rows.weights)
            if self.entropy is not None:
                unsure = jax.vmap(self.task.entropy, (None, 0))(theta, rows.observations)
                gain = gain + self.entropy * jnp.dot(rows.share, unsure)
            return self._with_prior(theta, gain / self.alpha)

        gradient = jax.grad(log_density)(theta)
        if self.natural is None:
            return gradient
        some = slice(None, None, max(1, len(rows.share) // natural.ROWS))

        def logs(theta: PyTree) -> jax.Array:
            return self._logs(theta, rows.observations[some], rows.actions[some])

        return self.natural.solve(logs, rows.share[some], theta, gradient)

    def _with_prior(self, theta: PyTree, log_density: jax.Array) -> jax.Array:
        return log_density if self.log_prior is None else log_density + self.log_prior(theta)


def policy_posterior(
    task: PolicyTask,
    alpha: Number,
    *,
    num_iterations: int = 1,
    log_prior: LogPrior | None = None,
    standardize: bool = True,
    surrogate: Surrogate = PLAIN,
    entropy: Number = 0.0,
    damping: Number | None = None,
    normalize_observations: bool = False,
    normalize_returns: bool = False,
) -> PolicyPosterior:
    """The target q(θ) ∝ exp(J(θ)/α) p(θ).

    Args:
        task: what plays, what judges the actions, and what the policy is.
        alpha: above 0; a small one weighs returns heavily against the prior.
        num_iterations: how many steps the memory has room for.
        log_prior: log p of one particle, up to a constant; flat without.
        standardize: bring each particle's advantages to mean 0 and deviation 1 in every step.
        surrogate: what is climbed, and in how many steps on one set of episodes.
        entropy: c, the bonus for each unit of entropy of each action's law, at least 0.
        damping: δ of natural gradients, above 0; plain ones without.
        normalize_observations: let policies and critics see observations in their deviations.
        normalize_returns: measure rewards in deviations of the returns.

    Returns:
        The target.

    Example:
        >>> target = spos.rl.learner("cartpole", num_particles=2, num_episodes=2).sampler.target
        >>> type(target).__name__, target.alpha
        ('PolicyPosterior', 10.0)
    """
    if not isinstance(task, PolicyTask):
        raise TypeError(f"task must be a PolicyTask, got {task!r}")
    if not isinstance(surrogate, Surrogate):
        raise TypeError(f"surrogate must be a Surrogate, such as clipped(...), got {surrogate!r}")
    return PolicyPosterior(
        task,
        checks.positive("alpha", alpha),
        None if log_prior is None else as_function(checks.function("log_prior", log_prior)),
        checks.whole("num_iterations", num_iterations),
        standardize,
        surrogate,
        None if _is_zero(entropy) else checks.positive("entropy", entropy),
        None if damping is None else NaturalGradient(checks.positive("damping", damping)),
        normalize_observations,
        normalize_returns,
    )


def _is_zero(entropy: Any) -> bool:
    return not checks.is_traced(entropy) and entropy == 0
