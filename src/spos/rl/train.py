"""Training: many policies on one task, as particles of one sampler.

    trained = spos.rl.train("swing_up", method="spos", estimator="a2c", iterations=300)
    act = trained.policy(jax.random.key(0))

An iteration is: every particle plays its episodes, its score is the policy gradient over α, and the
sampler takes a step. With a pure environment all of it is one compiled function inside
`spos.sample`; with one that lives outside, such as Gymnasium's, the episodes are played first and
handed to the same step as its batch.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import numpy as np

from spos import checks
from spos.dynamics.sampler import Sampler
from spos.io.progress import Progress, wanted
from spos.loop.guard import NonFiniteError
from spos.loop.run import draw, run_key
from spos.loop.sample import Callback, sample
from spos.result import versions
from spos.rl import advantages, coverage, envs, policies
from spos.rl.envs import Discrete, Environment
from spos.rl.episodes import act_all, blank, play, play_outside
from spos.rl.methods import METHODS
from spos.rl.policies import HIDDEN, Network, Policy
from spos.rl.trained import Trained
from spos.rl.trajectories import Trajectories
from spos.targets.policy import Memory, Parts, PolicyPosterior
from spos.types import Particles, State
from spos.values import as_function

BETA = 1e5


@dataclass(frozen=True, eq=False)
class Learner:
    """A task, a method and their settings, ready to train from any seed. Runs of one learner share
    its compiled program."""

    environment: Any
    policy: Policy
    sampler: Sampler
    particles: int
    episodes: int
    iterations: int
    settings: dict[str, Any]
    network: Network | None

    def start(self, seed: int) -> Particles:
        """The policies before training."""
        key = jax.random.fold_in(run_key(seed), 2**31)  # no iteration has this number
        return jax.vmap(self.policy.init)(jax.random.split(key, self.particles))

    def train(
        self,
        seed: int = 0,
        *,
        checkpoint: Any = None,
        checkpoint_every: float = 30.0,
        progress: bool | None = None,
        callback: Callback | None = None,
    ) -> Trained:
        """Run all iterations. `callback(state, info)` is called after each and ends the run if it
        returns true; the other arguments are those of `spos.sample`."""
        start = self.start(checks.whole("seed", seed, at_least=0, below=2**32))
        if not isinstance(self.environment, Environment):
            if checkpoint is not None:
                raise ValueError(
                    "checkpoint must be None for an environment outside the compiled program, "
                    f"got {checkpoint!r}"
                )
            return self._train_outside(start, seed, progress)
        try:
            result = sample(
                self.sampler,
                start,
                self.iterations,
                seed=seed,
                progress=progress,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                callback=callback,
                callback_every=1,
            )
        except NonFiniteError as error:
            self._explain(error, seed)
        memory = result.score_memory
        return self._trained(result.particles, memory, seed, result.seconds, result.interrupted)

    def _train_outside(self, particles: Particles, seed: int, progress: bool | None) -> Trained:
        state, key = self.sampler.init(particles), run_key(seed)
        step, act = jax.jit(self.sampler.step), jax.jit(act_all(self.policy))
        bar = Progress(self.settings["method"], self.iterations) if wanted(progress) else None
        began, interrupted = time.monotonic(), False
        try:
            for n in range(self.iterations):
                here = jax.random.fold_in(key, n)
                episodes = play_outside(
                    self.environment, act, self.policy, self.episodes, state.particles, here
                )
                state, _ = step(here, state, episodes)
                if bar is not None:
                    bar.update(n + 1, mean=float(state.score_memory.returns[n].mean()))
        except KeyboardInterrupt:
            interrupted = True
        seconds = time.monotonic() - began
        return self._trained(state.particles, state.score_memory, seed, seconds, interrupted)

    def _trained(
        self, particles: Particles, memory: Memory, seed: int, seconds: float, interrupted: bool
    ) -> Trained:
        done = int(memory.iteration)
        seen = np.asarray(memory.coverage)[:done]
        return Trained(
            particles=particles,
            returns=np.asarray(memory.returns)[:done],
            coverage=seen if memory.visited.size else np.empty(0),
            settings={**self.settings, "seed": seed},
            versions=versions(),
            seconds=seconds,
            interrupted=interrupted or done < self.iterations,
            network=self.network,
        )

    def _explain(self, error: NonFiniteError, seed: int) -> NoReturn:
        """Was it the environment? Then say where; the state before is kept in the error."""
        state: State = error.state
        key = jax.random.fold_in(run_key(seed), state.step)
        batch = draw(self.sampler, key, state)
        episodes = play(self.environment, self.policy, self.episodes, state.particles, batch)
        where = first_bad(episodes)
        if where is None:
            raise error
        message = f"iteration {int(state.step)}: {where}. Check the environment there."
        raise NonFiniteError(message, error.state, error.result) from error


def first_bad(episodes: Trajectories) -> str | None:
    """The earliest observation or reward that is not a finite number, in words."""
    alive = np.asarray(episodes.alive) > 0
    bad = {
        "observation": ~np.isfinite(np.asarray(episodes.observations)).all(axis=-1) & alive,
        "reward": ~np.isfinite(np.asarray(episodes.rewards)) & alive,
    }
    found = [(place[1], name, place) for name, mask in bad.items() for place in np.argwhere(mask)]
    if not found:
        return None
    _, name, (particle, step, episode) = min(found, key=lambda each: each[:2])
    values = {"observation": episodes.observations, "reward": episodes.rewards}[name]
    value = np.asarray(values)[particle, step, episode]
    return f"particle {particle}, episode {episode}, step {step}: the {name} is {value}"


def learner(
    environment: Any,
    method: str = "spos",
    estimator: str = "a2c",
    *,
    iterations: int = 100,
    particles: int = 16,
    episodes: int = 20,
    learning_rate: Any = 5e-3,
    beta: Any = BETA,
    alpha: Any = 10.0,
    gamma: float = 0.99,
    lam: float = 1.0,
    critic: str = "linear",
    standardize: bool = True,
    log_prior: Any = None,
    hidden: Sequence[int] = HIDDEN,
    network: Network | None = None,
) -> Learner:
    """See `train`."""
    if isinstance(environment, str):
        environment = envs.make(checks.one_of("environment", environment, envs.ENVIRONMENTS))
    for name in ("observation_size", "actions", "horizon"):
        if not hasattr(environment, name):
            raise TypeError(f"environment must have {name}, got {environment!r}")
    checks.one_of("method", method, METHODS)
    checks.one_of("estimator", estimator, advantages.ESTIMATORS)
    checks.whole("iterations", iterations)
    checks.whole("particles", particles, at_least=2 if method == "svpg" else 1)
    checks.whole("episodes", episodes)
    checks.positive("learning_rate", learning_rate)
    actions, size = environment.actions, environment.observation_size
    policy = policies.make(size, actions, hidden, network)
    if estimator == "a2c":
        judged = advantages.a2c(gamma, lam, critic)
    else:
        judged = advantages.reinforce(gamma)
    parts = Parts(
        play=lambda theta, key: play(environment, policy, episodes, theta, key),
        log_policy=policy.log_prob,
        first_critic=lambda: judged.init(size),
        advantages=judged.apply,
        cells=coverage.grid(getattr(environment, "name", "")),
    )
    if not isinstance(environment, Environment):
        parts = parts._replace(play=lambda theta, key: blank(environment, episodes, theta))
    about = {
        "environment": environment.name,
        "method": method,
        "estimator": estimator,
        "iterations": iterations,
        "particles": particles,
        "episodes": episodes,
        "horizon": environment.horizon,
        "learning_rate": learning_rate,
        "beta": beta if method == "spos" else None,
        "alpha": alpha,
        "gamma": gamma,
        "lam": lam if estimator == "a2c" else None,
        "critic": critic if estimator == "a2c" else None,
        "standardize": standardize,
        "policy": {
            "observation_size": size,
            "actions": "discrete" if isinstance(actions, Discrete) else "continuous",
            "size": actions[0],
            "hidden": list(hidden),
        },
    }
    target = PolicyPosterior(
        checks.positive("alpha", alpha),
        None if log_prior is None else as_function(log_prior),
        parts,
        iterations,
        standardize,
        tuple((name, str(told)) for name, told in about.items()),
    )
    sampler = METHODS[method](target, learning_rate, beta)
    return Learner(environment, policy, sampler, particles, episodes, iterations, about, network)


def train(
    environment: Any,
    method: str = "spos",
    estimator: str = "a2c",
    *,
    seed: int = 0,
    checkpoint: Any = None,
    progress: bool | None = None,
    **settings: Any,
) -> Trained:
    """Train policies on a task.

    Args:
        environment: a name from `spos.rl.envs.ENVIRONMENTS`, an `Environment`, or
            `spos.rl.gymnasium(...)`.
        method: "spos", "svpg" or "independent".
        estimator: of the policy gradient, "a2c" or "reinforce".
        checkpoint: a folder to save the run in and to continue it from, for pure environments.
        settings: `iterations`, `particles`, `episodes` of each particle and iteration,
            `learning_rate`, `beta` (spos), `alpha`, `gamma`, `lam` and `critic` (a2c: "linear" or
            "network"), `standardize`, `log_prior(theta)` (flat without), `hidden` layers, or a
            `network` of one's own.
    """
    made = learner(environment, method, estimator, **settings)
    return made.train(seed, checkpoint=checkpoint, progress=progress)
