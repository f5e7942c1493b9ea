"""One run: policies learn a task, and are judged by new episodes."""

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spos import rl
from spos.cli import UsageError
from spos_experiments.paper.gymnasium.settings import OWN, RIVALS, Job, Settings


class Outcome(NamedTuple):
    """A run, and what its policies earned afterwards."""

    returns: np.ndarray  # (iterations, particles)
    together: np.ndarray  # (episodes,)
    alone: np.ndarray  # (particles, episodes)
    steps: int  # of the environment and a particle, at most
    settings: dict[str, Any]
    seconds: float


def outcome(settings: Settings, job: Job, state: Path) -> Outcome:
    with rl.gymnasium(job.task) as environment:
        given = {"gradient": "ppo", **OWN[job.task], **dict(settings.changed)}
        rival = job.method in RIVALS
        learner = rl.learner(
            environment,
            "spos" if rival else job.method,
            num_particles=settings.num_particles,
            **given,
        )
        most = learner.num_iterations * learner.num_episodes * environment.horizon
        if rival:
            return by_stable_baselines(
                job, most, learner.settings["gamma"], settings.judged_episodes
            )
        run = learner.train(job.seed, checkpoint=state, progress=False)
        num = settings.judged_episodes
        together, *alone = (
            _earned(environment, run, particle, num, job.seed)
            for particle in (None, *range(settings.num_particles))
        )
    told = dict(run.settings)
    return Outcome(run.returns, together, np.stack(alone), most, told, run.seconds)


def _earned(
    environment: Any, run: rl.Trained, particle: int | None, num: int, seed: int
) -> np.ndarray:
    """The returns of new episodes, played by the exported policies."""
    with tempfile.TemporaryDirectory() as folder:
        act = rl.deployed.load(run.export(Path(folder) / "policy.npz", particle=particle)).act

    def all_of(seen: np.ndarray, step: int) -> np.ndarray:
        return np.asarray([act(one) for one in seen])

    played = environment.collect(all_of, num, 2**31 - 1 - seed)
    earned: np.ndarray = played.rewards.sum(axis=0)
    return earned


def by_stable_baselines(job: Job, steps: int, gamma: float, num_judged: int) -> Outcome:
    """PPO of Stable-Baselines3, which has one policy."""
    try:
        from stable_baselines3 import PPO
        from stable_baselines3.common.evaluation import evaluate_policy
    except ImportError as missing:
        raise UsageError(
            "--rivals stable-baselines3 needs it: pip install --editable './experiments[control]'"
        ) from missing
    began = time.perf_counter()
    model = PPO("MlpPolicy", job.task, gamma=gamma, seed=job.seed, device="cpu")
    model.learn(steps)
    seconds = time.perf_counter() - began
    environment = model.get_env()
    assert environment is not None
    earned, _ = evaluate_policy(model, environment, num_judged, return_episode_rewards=True)
    together = np.asarray(earned)
    told = {"gamma": gamma, "num_timesteps": model.num_timesteps}
    return Outcome(np.empty((0, 1)), together, together[None], steps, told, seconds)
