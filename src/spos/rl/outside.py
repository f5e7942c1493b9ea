"""The run of a task that lives outside the compiled program, such as one of Gymnasium.

`spos.sample` for such a task: the episodes of an iteration are played on the host and handed to the
compiled steps on them as their batch. All randomness of a step, the seed of the environment
included, depends on the key of the run and on the step's number alone, so that an interrupted run
ends in the same bits.
"""

import contextlib
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.dynamics.sampler import Sampler
from spos.io.checkpoint import Checkpoint, fingerprint
from spos.io.progress import Progress, wanted
from spos.loop.arguments import Callback
from spos.loop.code import LABEL, code_of
from spos.loop.guard import NonFiniteError
from spos.loop.run import run_key
from spos.programs import compiled
from spos.result import Result, versions
from spos.targets.policy import PolicyPosterior
from spos.types import Info, Particles, PathLike, State

Play = Callable[[State, jax.Array], Any]  # (state, key) -> episodes


def sample_outside(
    sampler: Sampler,
    particles: Particles,
    num_steps: int,
    play: Play,
    *,
    seed: int = 0,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_every: float = 30.0,
) -> Result:
    """Run a sampler whose batches are played on the host.

    Args:
        sampler: of a `PolicyPosterior`.
        particles: where to begin.
        num_steps: how many steps to do, a multiple of those on one set of episodes.
        play: `play(state, key)` gives the episodes of an iteration.
        seed: the same seed gives the same bits.
        callback: called as `callback(state, info)` after each iteration; a true return value ends
            the run.
        progress: show a progress line; by default only on a terminal.
        checkpoint: a folder to save the run in and to go on from.
        checkpoint_every: the number of seconds between two saves.

    Returns:
        The run, as `spos.sample` gives it.

    Raises:
        NonFiniteError: if a particle, or what an environment gives, leaves the finite numbers. Like
            any other error, it leaves the last good state in the checkpoint.
    """
    if callback is not None:
        checks.function("callback", callback)
    checks.positive("checkpoint_every", checkpoint_every)
    if checkpoint is not None:
        checks.folder("checkpoint", checkpoint)
    run = _Run(sampler, sampler.init(particles), num_steps, seed)
    with contextlib.ExitStack() as stack:
        saver = None
        if checkpoint is not None:
            saver = stack.enter_context(Checkpoint(checkpoint, checkpoint_every, run.identity()))
            run.resume(saver)
            stack.callback(lambda: saver.save(run.state, run.records()))  # however it ends
        bar = None
        if wanted(progress):
            bar = Progress(sampler.algorithm, num_steps, done=run.done)
            stack.callback(bar.close)
        try:
            while run.done < num_steps:
                run.iterate(play)
                if bar is not None:
                    memory = run.state.score_memory
                    returns = memory.returns[memory.iteration - 1]
                    bar.update(run.done, mean=float(returns.mean()))
                if saver is not None and saver.due():
                    saver.save(run.state, run.records())
                if callback is not None and callback(run.state, run.info[-1]):
                    break
        except KeyboardInterrupt:
            run.interrupted = True
        run.ended = time.monotonic()
    return run.result()


class _Run:
    """The last good state, and everything recorded up to it."""

    def __init__(self, sampler: Sampler, state: State, num_steps: int, seed: int) -> None:
        self.sampler, self.state, self.num_steps, self.seed = sampler, state, num_steps, seed
        self.key = run_key(seed)
        self.info: list[dict[str, np.ndarray]] = []
        self.began, self.interrupted = time.monotonic(), False
        self.ended: float | None = None
        assert isinstance(sampler.target, PolicyPosterior)
        self.num_updates = sampler.target.num_updates

    @property
    def done(self) -> int:
        return int(self.state.step)

    def identity(self) -> dict[str, Any]:
        return {
            "sampler": self.sampler.settings,
            "seed": self.seed,
            "start": fingerprint(self.state.particles),
            "numbers": fingerprint(self.sampler),
            LABEL: code_of(self.sampler),
        }

    def resume(self, saver: Checkpoint) -> None:
        found = saver.restore(self.state, needed=(*Info._fields, "seconds"))
        if found is not None:
            self.state, records = found
            self.began -= float(records["seconds"])
            self.info = [{name: records[name] for name in Info._fields}]

    def iterate(self, play: Play) -> None:
        key = jax.random.fold_in(self.key, self.state.step)
        try:
            # folded in like the batches of all other targets, apart from the noise of the step
            episodes = play(self.state, jax.random.fold_in(key, 2))
        except FloatingPointError as error:
            raise self._failed(str(error)) from error
        state, info, finite = _steps(self.num_updates, self.sampler, self.key, self.state, episodes)
        if not finite:
            raise self._failed("a particle is no longer finite. Use a smaller step_size")
        self.info.append({name: np.asarray(one) for name, one in info._asdict().items()})
        self.state = state

    def records(self) -> dict[str, np.ndarray]:
        return {**self._joined(), "seconds": np.asarray(self._seconds())}

    def result(self) -> Result:
        return Result(
            particles=self.state.particles,
            info=self._joined(),
            history=None,
            history_every=None,
            settings={**self.sampler.settings, "num_steps": self.num_steps, "seed": self.seed},
            versions=versions(),
            num_steps=self.done,
            seconds=self._seconds(),
            interrupted=self.interrupted,
            score_memory=self.state.score_memory,
        )

    def _failed(self, what: str) -> NonFiniteError:
        iteration = self.done // self.num_updates
        return NonFiniteError(f"iteration {iteration}: {what}.", self.state, self.result())

    def _joined(self) -> dict[str, np.ndarray]:
        return {
            name: np.concatenate([np.empty(0, np.float32), *(seen[name] for seen in self.info)])
            for name in Info._fields
        }

    def _seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.began


@compiled(1)
def _steps(
    num_updates: int, sampler: Sampler, key: jax.Array, state: State, episodes: Any
) -> tuple[State, Info, jax.Array]:
    """All steps on these episodes; from the second on they are in the memory."""

    def step(state: State, _: None) -> tuple[State, Info]:
        return sampler.step(jax.random.fold_in(key, state.step), state, episodes)

    state, info = jax.lax.scan(step, state, None, length=num_updates)
    finite = [jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state.particles)]
    return state, info, jnp.stack(finite).all()
