"""Any Gymnasium environment as a source of episodes.

Such an environment lives on the host and is no pure function, so it offers whole episodes instead
of steps: `collect` runs `num` of them side by side and hands back their `Trajectories`.

* **Actions.** A `Discrete(n)` space takes 0 … n - 1, whatever its own first number is. A `Box` of
  floats takes a flat vector in [-1, 1] (beyond, it is clipped), scaled to the box's bounds; a
  coordinate without both bounds takes the number as it is, cut at the one bound it may have.
* **Observations** of every space that can be flattened come as one vector of float32.
* **Ends.** Gymnasium tells an episode whose task ended (`terminated`) from one whose time ran out
  (`truncated`), and so do the trajectories. A vector of environments begins a new episode wherever
  one ended, at the next step, in which it ignores the action. Nothing after the first end counts.
* **Seeds.** One seed is spread over the environments so that neighbouring seeds share no episode.
"""

import difflib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from spos import checks
from spos.io.figures import gif_of_frames
from spos.io.files import write_whole
from spos.rl.envs.environment import Actions, Continuous, Discrete
from spos.rl.episodes import Act
from spos.rl.trajectories import Trajectories
from spos.types import PathLike

MODES = ("sync", "async")
FILM_RATE = 15  # frames a second: more would make large files


def gymnasium(
    name: str, *, horizon: int | None = None, mode: str = "sync", **options: Any
) -> "GymnasiumEnvironment":
    """A Gymnasium environment. Needs `pip install 'spos[rl]'`.

    Args:
        name: under which it is registered, say "Pendulum-v1".
        horizon: the length of an episode, by default the environment's own limit.
        mode: "sync", all environments in this process, or "async", a process for each, which pays
            where a step is slow.
        **options: go to the environment itself.

    Returns:
        What `spos.rl.train` takes as its environment.

    Raises:
        ValueError: if the name is not registered, or an environment without a limit gets no
            `horizon`.
        TypeError: if observations or actions are of a space that policies cannot use.

    Example:
        >>> with spos.rl.gymnasium("CartPole-v1", horizon=20) as environment:
        ...     trained = spos.rl.train(
        ...         environment, num_iterations=2, num_particles=2, num_episodes=2
        ...     )
        >>> trained.returns.shape
        (2, 2)
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be the id of a Gymnasium environment, got {name!r}")
    if horizon is not None:
        horizon = checks.whole("horizon", horizon)
    if not isinstance(name, str):
        raise TypeError(f"name must be that of a Gymnasium environment, got {name!r}")
    return GymnasiumEnvironment(name, horizon, checks.one_of("mode", mode, MODES), options)


class GymnasiumEnvironment:
    """See `gymnasium`. Its environments stay open between two collections; `close` ends them."""

    def __init__(self, name: str, horizon: int | None, mode: str, options: dict[str, Any]) -> None:
        self._gym = _package()
        self._mode = mode
        self._vector: Any = None
        one = _open(self._gym, name, options)
        try:
            limit = horizon or one.spec.max_episode_steps
            if limit is None:
                raise ValueError(f"horizon must be given: {name} has no time limit of its own")
            self.name, self.horizon = name, int(limit)
            self.observation_size = _observation_size(self._gym, one.observation_space)
            self.actions, self._translate = _actions(self._gym, one.action_space)
            self._drawn = one.metadata.get("render_modes", ())
            self._spec = one.spec  # unlike the name, known in a process that registered nothing
        finally:
            one.close()

    def collect(self, act: Act, num: int, seed: int) -> Trajectories:
        """Episodes side by side.

        Args:
            act: from observations (num, o) and the number of the step to actions.
            num: how many episodes.
            seed: the same seed gives the same episodes.

        Returns:
            The episodes, as arrays of NumPy.

        Raises:
            FloatingPointError: if an observation, reward or action is not finite; it names the
                environment and the step.
        """
        num = checks.whole("num", num)
        seed = checks.whole("seed", seed, at_least=0)
        checks.function("act", act)
        try:
            return self._run(self._environments(num), act, num, seed)
        except BaseException:  # a vector interrupted half-way cannot be used again
            self.close()
            raise

    def film(self, act: Callable[[np.ndarray], Any], path: PathLike, *, seed: int = 0) -> float:
        """Draw one episode as an animated GIF. Needs `pip install 'spos[film]'`.

        Args:
            act: from an observation to an action, such as `trained.policy()`.
            path: of the file.
            seed: the same seed gives the same episode.

        Returns:
            The return of the episode.

        Raises:
            ImportError: if what draws the environment is not installed.
            ValueError: if the environment cannot be drawn.
        """
        checks.function("act", act)
        if "rgb_array" not in self._drawn:
            raise ValueError(f"{self.name} cannot be drawn: it has no render mode 'rgb_array'")
        one = _build(self._spec, self.horizon, render_mode="rgb_array")
        frames, earned = [], 0.0
        try:
            seen, _ = one.reset(seed=checks.whole("seed", seed, at_least=0))
            over = False
            while not over:
                chosen = self._checked_actions(np.asarray(act(seen))[None], 1)
                seen, reward, ended, out_of_time, _ = one.step(self._translate(chosen)[0])
                earned, over = earned + float(reward), ended or out_of_time
                frames.append(one.render())
            rate = one.metadata.get("render_fps", 30)
        except self._gym.error.DependencyNotInstalled as error:
            raise ImportError(f"films need pip install 'spos[film]' ({error})") from None
        finally:
            one.close()
        every = max(1, round(rate / FILM_RATE))
        write_whole(Path(path), gif_of_frames(frames[::every], every / rate))
        return earned

    def close(self) -> None:
        """End the environments and their processes; a later `collect` opens new ones."""
        if self._vector is not None:
            vector, self._vector = self._vector, None
            vector.close(**({"terminate": True} if self._mode == "async" else {}))

    def __enter__(self) -> "GymnasiumEnvironment":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _environments(self, num: int) -> Any:
        if self._vector is not None and self._vector.num_envs != num:
            self.close()
        if self._vector is None:
            vector = self._gym.vector
            kind, more = vector.SyncVectorEnv, {}
            if self._mode == "async":  # spawned: a fork would copy the locks of JAX's threads
                kind, more = vector.AsyncVectorEnv, {"context": "spawn"}
            build = functools.partial(_build, self._spec, self.horizon)
            next_step = vector.AutoresetMode.NEXT_STEP
            self._vector = kind([build] * num, autoreset_mode=next_step, **more)
        return self._vector

    def _run(self, vector: Any, act: Act, num: int, seed: int) -> Trajectories:
        shape = (self.horizon, num)
        observations = np.zeros((*shape, self.observation_size), np.float32)
        actions = self._empty_actions(shape)
        rewards, alive = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        terminated, truncated = np.zeros(num, bool), np.zeros(num, bool)
        last = np.zeros((num, self.observation_size), np.float32)

        running = np.ones(num, bool)
        seeds = np.random.SeedSequence(seed).generate_state(num)
        seen, _ = vector.reset(seed=[int(s) for s in seeds])
        seen = _finite("observation", seen, running, "at the start")
        for t in range(self.horizon):
            when = f"in step {t}"
            chosen = self._checked_actions(act(seen, t), num)
            _finite("action", chosen, running, when)
            after, reward, ended, out_of_time, _ = vector.step(self._translate(chosen))
            after = _finite("observation", after, running, when)
            reward = _finite("reward", reward, running, when)
            observations[t], actions[t] = seen, chosen
            rewards[t], alive[t] = np.where(running, reward, 0.0), running
            terminated |= running & ended
            truncated |= running & out_of_time & ~ended
            last[running] = after[running]
            running &= ~(ended | out_of_time)
            if not running.any():
                break
            seen = after
        truncated |= running
        return Trajectories(observations, actions, rewards, alive, terminated, truncated, last)

    def _empty_actions(self, shape: tuple[int, int]) -> np.ndarray:
        if isinstance(self.actions, Discrete):
            return np.zeros(shape, np.int32)
        return np.zeros((*shape, self.actions.size), np.float32)

    def _checked_actions(self, given: Any, num: int) -> np.ndarray:
        chosen: np.ndarray = np.asarray(given)
        if isinstance(self.actions, Discrete):
            count = self.actions.count
            if chosen.shape != (num,) or chosen.dtype.kind not in "iu":
                raise ValueError(
                    f"act must return {num} integers for {self.name}, got shape {chosen.shape} "
                    f"and type {chosen.dtype}"
                )
            if ((chosen < 0) | (chosen >= count)).any():
                raise ValueError(f"act must return actions in 0 … {count - 1}, got {chosen}")
        elif chosen.shape != (num, self.actions.size):
            raise ValueError(
                f"act must return actions of shape {(num, self.actions.size)} for {self.name}, "
                f"got {chosen.shape}"
            )
        return chosen


def _package() -> Any:
    try:
        import gymnasium
    except ImportError:
        raise ImportError(
            "Gymnasium environments need one more package: pip install 'spos[rl]'"
        ) from None
    return gymnasium


def _open(gym: Any, name: str, options: dict[str, Any]) -> Any:
    # its checker of the first step gives way to ours of every step
    try:
        return gym.make(name, disable_env_checker=True, **options)
    except gym.error.DependencyNotInstalled:
        raise
    except gym.error.Error:  # not registered, out of date, or not a name at all
        known = sorted(gym.registry)
        close = difflib.get_close_matches(name, known, n=5, cutoff=0.5)
        hint = f"close to it are {', '.join(close)}" if close else f"there are {', '.join(known)}"
        raise ValueError(
            f"name must be a registered Gymnasium environment, got {name!r}; {hint}"
        ) from None


def _build(spec: Any, horizon: int, **options: Any) -> Any:
    gym = _package()
    one = gym.make(spec, max_episode_steps=horizon, disable_env_checker=True, **options)
    return gym.wrappers.FlattenObservation(one)


def _observation_size(gym: Any, space: Any) -> int:
    if not space.is_np_flattenable:
        raise TypeError(f"observations must be of a space that can be flattened, got {space}")
    return int(gym.spaces.flatdim(space))


def _actions(gym: Any, space: Any) -> tuple[Actions, Callable[[np.ndarray], np.ndarray]]:
    """What a policy may do, and how that becomes an action of the space."""
    if isinstance(space, gym.spaces.Discrete):
        return Discrete(int(space.n)), lambda chosen: chosen + space.start
    if isinstance(space, gym.spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return Continuous(int(np.prod(space.shape))), functools.partial(_into_box, space)
    raise TypeError(f"actions must be of a Discrete space or a Box of floats, got {space}")


def _into_box(box: Any, chosen: np.ndarray) -> np.ndarray:
    chosen = np.clip(chosen, -1.0, 1.0).reshape(-1, *box.shape)
    bounded = np.isfinite(box.low) & np.isfinite(box.high)
    low, high = np.where(bounded, box.low, -1.0), np.where(bounded, box.high, 1.0)
    scaled = low + 0.5 * (chosen + 1.0) * (high - low)
    inside: np.ndarray = np.clip(scaled, box.low, box.high).astype(box.dtype)
    return inside


def _finite(what: str, given: Any, running: np.ndarray, when: str) -> np.ndarray:
    """The values, if all of those of running episodes are finite."""
    values: np.ndarray = np.asarray(given)
    if values.dtype.kind == "f":
        bad = running & ~np.isfinite(values.reshape(len(running), -1)).all(axis=1)
        if bad.any():
            index = int(np.argmax(bad))
            raise FloatingPointError(
                f"the {what} of environment {index} is not finite {when}: {values[index]}"
            )
    return values if what == "action" else values.astype(np.float32)
