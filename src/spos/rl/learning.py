"""A learner: a task, a method and their settings, ready to train from any seed.

An iteration is: every particle plays its episodes, its score is the policy gradient over α, and the
sampler takes a step, or several where the gradient allows it. With a pure environment all of it is
one compiled function inside `spos.sample`; with one that lives outside, such as Gymnasium's, the
episodes are played first and handed to the same step as its batch (`outside.py`).
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import numpy as np

from spos import checks
from spos.dynamics.sampler import Sampler
from spos.loop.arguments import Callback
from spos.loop.guard import NonFiniteError
from spos.loop.run import draw, run_key
from spos.loop.sample import sample
from spos.result import Result, versions
from spos.rl.envs import Discrete, Environment
from spos.rl.episodes import play_outside
from spos.rl.outside import sample_outside
from spos.rl.policies import Policy, hidden_layers, own_network
from spos.rl.task import ControlTask
from spos.rl.trained import Trained
from spos.rl.trajectories import Trajectories
from spos.targets.policy import Memory, PolicyPosterior
from spos.types import Particles, PathLike, State
from spos.values import described


@dataclass(frozen=True)
class Learner:
    """A task, a method and their settings; `spos.rl.learner` makes one.

    Learners that differ in their numbers alone (step size, α, β, γ, λ) share a compiled program.

    Attributes:
        environment: the task.
        method: "spos", "svpg" or "independent".
        gradient: "ppo", "a2c" or "reinforce".
        sampler: that method applied to the posterior of policies.
        num_particles: how many policies learn.
    """

    environment: Any
    method: str
    gradient: str
    sampler: Sampler
    num_particles: int

    @property
    def target(self) -> PolicyPosterior:
        """The posterior of policies."""
        target = self.sampler.target
        assert isinstance(target, PolicyPosterior)
        return target

    @property
    def task(self) -> ControlTask:
        """What is played and how it is judged."""
        task = self.target.task
        assert isinstance(task, ControlTask)
        return task

    @property
    def policy(self) -> Policy:
        """What the numbers of a particle mean."""
        return self.task.policy

    @property
    def num_episodes(self) -> int:
        """Of each particle in every iteration."""
        return self.task.num_episodes

    @property
    def num_iterations(self) -> int:
        """Of a whole run."""
        return self.target.num_iterations

    @property
    def num_steps(self) -> int:
        """The steps of the sampler in a whole run: one or more in an iteration."""
        return self.num_iterations * self.target.num_updates

    @property
    def settings(self) -> dict[str, Any]:
        """What is shown and saved of a run: plain data."""
        environment, judge, target = self.task.environment, self.task.judge, self.target
        actions, hidden = environment.actions, hidden_layers(self.policy)
        discrete = isinstance(actions, Discrete)
        told = {
            "environment": environment.name,
            "method": self.method,
            "gradient": self.gradient,
            "num_iterations": self.num_iterations,
            "num_particles": self.num_particles,
            "num_episodes": self.num_episodes,
            "horizon": environment.horizon,
            "step_size": self.sampler.step_size,
            "beta": getattr(self.sampler, "beta", None),
            "kernel": getattr(self.sampler, "kernel", None),
            "alpha": target.alpha,
            "gamma": getattr(judge, "gamma", None),
            "lam": getattr(judge, "lam", None),
            "critic": judge.critic.name if hasattr(judge, "critic") else None,
            "standardize": target.standardize,
            "surrogate": target.surrogate,
            "entropy": target.entropy,
            "natural": target.natural,
            "normalize_observations": target.normalize_observations,
            "normalize_returns": target.normalize_returns,
            "policy": {
                "observation_size": environment.observation_size,
                "actions": "discrete" if discrete else "continuous",
                "size": actions.count if discrete else actions.size,
                "hidden": hidden,
            },
        }
        return {name: described(one) for name, one in told.items()}

    def start(self, seed: int) -> Particles:
        """The policies before training.

        Args:
            seed: that of the run.

        Returns:
            A pytree whose leaves have a leading axis of particles.
        """
        key = jax.random.fold_in(run_key(seed), 2**31)  # no iteration has this number
        return jax.vmap(self.policy.init)(jax.random.split(key, self.num_particles))

    def train(
        self,
        seed: int = 0,
        *,
        callback: Callback | None = None,
        progress: bool | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: float = 30.0,
    ) -> Trained:
        """Run all iterations.

        Args:
            seed: the same seed gives the same bits.
            callback: called as `callback(state, info)` after each iteration, with the info of that
                iteration; a true return value ends the run.
            progress: show a progress line; by default only on a terminal.
            checkpoint: a folder. The run is saved there and goes on from there, to the same bits,
                when it is started again.
            checkpoint_every: the number of seconds between two saves.

        Returns:
            The policies, and how their returns grew.

        Raises:
            NonFiniteError: if a particle, an observation or a reward leaves the finite numbers; its
                `state` is the last good one.

        Example:
            >>> learner = spos.rl.learner(
            ...     "cartpole", num_iterations=2, num_particles=2, num_episodes=2
            ... )
            >>> learner.train(seed=1).returns.shape
            (2, 2)
        """
        checks.seed("seed", seed)
        run: Callable[..., Result]
        if isinstance(self.environment, Environment):
            run = functools.partial(sample, callback_every=self.target.num_updates)
        else:
            run = functools.partial(sample_outside, play=self._play_outside)
        try:
            result = run(
                self.sampler,
                self.start(seed),
                self.num_steps,
                seed=seed,
                callback=callback,
                progress=progress,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
            )
        except NonFiniteError as error:
            if not isinstance(self.environment, Environment):
                raise
            self._explain(error, seed)
        stopped = result.interrupted or result.num_steps < self.num_steps
        memory, seconds = result.score_memory, result.seconds
        return self._trained(result.particles, memory, seed, seconds, stopped)

    def _play_outside(self, state: State, key: jax.Array) -> Trajectories:
        policy = self._playing(state.score_memory).policy
        return play_outside(self.environment, policy, self.num_episodes, state.particles, key)

    def _playing(self, memory: Memory) -> ControlTask:
        """The task whose policies see what those of the next episodes will see."""
        task = self.target.playing(memory)
        assert isinstance(task, ControlTask)
        return task

    def _trained(
        self,
        particles: Particles,
        memory: Memory,
        seed: int,
        seconds: float,
        interrupted: bool = False,
    ) -> Trained:
        """What a run of this learner leaves behind.

        Args:
            particles: the policies at its end.
            memory: what their scores remembered.
            seed: that of the run.
            seconds: how long it took.
            interrupted: did it end before its last iteration?

        Returns:
            The policies, and how their returns grew.
        """
        done = int(memory.iteration)
        coverage = np.asarray(memory.coverage)[:done] if memory.visited.size else np.empty(0)
        settings = {**self.settings, "seed": seed}
        if memory.seen is not None:
            known = {"mean": memory.seen.mean, "deviation": memory.seen.deviation}
            scale = {name: np.asarray(one).tolist() for name, one in known.items()}
            settings["policy"] = {**settings["policy"], "scale": scale}
        return Trained(
            particles=particles,
            returns=np.asarray(memory.returns)[:done],
            coverage=coverage,
            settings=settings,
            versions=versions(),
            seconds=seconds,
            interrupted=interrupted,
            network=own_network(self.policy),
        )

    def _explain(self, error: NonFiniteError, seed: int) -> NoReturn:
        """Was it the environment? Then say where; the state before is kept in the error."""
        state = error.state
        key = jax.random.fold_in(run_key(seed), state.step)
        playing = self._playing(state.score_memory)
        where = first_bad(playing.play(state.particles, draw(self.sampler, key, state.step)))
        if where is None:
            raise error
        iteration = int(state.step) // self.target.num_updates
        message = f"iteration {iteration}: {where}. Check the environment there."
        raise NonFiniteError(message, error.state, error.result) from error


def first_bad(episodes: Trajectories) -> str | None:
    """The earliest observation or reward that is not a finite number, in words.

    Args:
        episodes: of all particles.

    Returns:
        Whose it is and where; None if all are finite.
    """
    alive = np.asarray(episodes.alive) > 0
    observations, rewards = np.asarray(episodes.observations), np.asarray(episodes.rewards)
    bad = {
        "observation": (observations, ~np.isfinite(observations).all(axis=-1) & alive),
        "reward": (rewards, ~np.isfinite(rewards) & alive),
    }
    places = [
        (place[1], name, tuple(map(int, place)))
        for name, (_, mask) in bad.items()
        for place in np.argwhere(mask)
    ]
    if not places:
        return None
    _, name, place = min(places, key=lambda each: each[:2])
    particle, step, episode = place
    found = bad[name][0][place]
    return f"particle {particle}, episode {episode}, step {step}: the {name} is {found}"
