"""A run for people: compiled, watched and resumable.

`sample` advances in compiled chunks whose length adapts to about a second, and between chunks it
looks: progress, callbacks, checkpoints, Ctrl-C, and whether every particle is still finite. When a
chunk ends with one that is not, it is replayed from its start with halving lengths to find the step
at which that happened: the hot loop pays nothing for the guard, and the last finite state is at
hand.
"""

import contextlib
import math
import time
from functools import partial
from typing import Any, NoReturn

import jax
import numpy as np

from spos.dynamics.sampler import Sampler
from spos.io import progress as progress_line
from spos.io.checkpoint import Checkpoint
from spos.io.sharded_checkpoint import open_checkpoint
from spos.loop.arguments import Callback, checked
from spos.loop.chunk import Look, advance_to
from spos.loop.feed import feed_of
from spos.loop.guard import NonFiniteError, SourceError, Watch, diagnose
from spos.loop.identity import PROBE, identity_of, must_agree, probe
from spos.loop.records import arrays_between, join, stack, whole_history
from spos.loop.run import Seed, begin, run_key, shown_seed
from spos.mesh import shards
from spos.mesh.processes import Team, losing_touch, own_part, signals
from spos.mesh.shards import RECORDS
from spos.result import Result, versions
from spos.types import Info, Particles, PathLike, State

CHUNK_SECONDS = 1.0
CHUNK_STEPS = 4096  # at most, which bounds the room for the info of a chunk
HISTORY_BYTES = 2**26  # at most, for the history of a chunk


def sample(
    sampler: Sampler,
    particles: Particles,
    num_steps: int,
    *,
    seed: Seed = 0,
    history_every: int | None = None,
    callback: Callback | None = None,
    callback_every: int = 100,
    progress: bool | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_every: float = 30.0,
) -> Result:
    """Run a sampler from `particles` for `num_steps` steps.

    Args:
        sampler: what `spos.spos`, `spos.svgd`, … give.
        particles: where to begin, a pytree whose leaves share a leading axis of length M.
        num_steps: how many steps to take.
        seed: the same seed gives the same bits; a number, or a key of JAX.
        history_every: keep the particles of every so many steps, in `result.history`.
        callback: called as `callback(state, info)` every `callback_every` steps, with the info
            arrays of the steps since the last call; a true return value ends the run.
        callback_every: the number of steps between two calls.
        progress: show a progress line; by default only on a terminal.
        checkpoint: a folder. The run is saved there and goes on from there, to the same bits, when
            it is started again.
        checkpoint_every: the number of seconds between two saves.

    Returns:
        The particles, their history, what each step saw, and how the run was made.

    Raises:
        NonFiniteError: if a particle leaves the finite numbers, a step size is not above 0, or the
            drift overflows; it has the run up to there.
        SourceError: if data that are read meanwhile cannot be; it has the run up to there, too.

    Example:
        >>> sampler = spos.spos(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> result = spos.sample(sampler, jnp.zeros((50, 2)), num_steps=200, seed=1)
        >>> result.particles.shape
        (50, 2)
    """
    with shards.over(particles) as mesh:
        team = Team(mesh)
        options = (history_every, callback, callback_every, checkpoint, checkpoint_every)
        team.agree(lambda: checked(sampler, particles, num_steps, seed, *options))
        with losing_touch():
            key, shown = run_key(seed), shown_seed(seed)
            state = begin(sampler, particles)
            saver = None
            if checkpoint is not None:
                identity = partial(identity_of, sampler, state, key, shown, history_every)
                saver = open_checkpoint(checkpoint, checkpoint_every, identity, team)
            with contextlib.nullcontext() if saver is None else saver:
                running = Run(sampler, state, num_steps, key, shown, history_every, saver, team)
                return running.go(callback, callback_every, progress)


class Run:
    """One call of `sample`: the state and everything recorded so far."""

    def __init__(
        self,
        sampler: Sampler,
        state: State,
        num_steps: int,
        key: jax.Array,
        seed: Any,  # as it is shown
        history_every: int | None,
        saver: Checkpoint | None,
        team: Team,
    ) -> None:
        self.sampler, self.state, self.num_steps = sampler, state, num_steps
        self.key, self.seed = key, seed
        self.history_every, self.saver, self.team = history_every, saver, team
        self.info: list[dict[str, np.ndarray]] = []  # one a chunk, a value a step
        self.history: list[list[np.ndarray]] = []  # one list of leaves a chunk
        self.began, self.interrupted = time.monotonic(), False
        self.watch, self.ended = Watch(sampler, key), None  # type: Watch, float | None
        slots = 0
        if history_every is not None:
            size = sum(leaf.nbytes for leaf in jax.tree.leaves(state.particles))
            slots = max(1, min(CHUNK_STEPS // history_every + 1, HISTORY_BYTES // size))
        self.slots = slots
        records: dict[str, np.ndarray] = {}
        if saver is not None and (found := saver.restore(state, (*Info._fields, "seconds", PROBE))):
            records = found[1]
            self._resume(*found)
            must_agree(saver.folder, found[1][PROBE], probe(sampler, self.key, self.state))
            if (done := int(self.state.step)) > num_steps:
                raise ValueError(
                    f"num_steps must be at least the {done} steps in {saver.folder}, "
                    f"got {num_steps}"
                )
        self.feed = feed_of(sampler, key, self.state, num_steps, records)

    def go(self, callback: Callback | None, callback_every: int, show: bool | None) -> Result:
        bar = None
        if self.team.leads and progress_line.wanted(show):
            bar = progress_line.Progress(
                self.sampler.algorithm, self.num_steps, done=int(self.state.step)
            )
        length, since_callback = min(8, CHUNK_STEPS), len(self.info)
        listening = contextlib.ExitStack()
        noted = listening.enter_context(signals(self.team))
        try:
            while (here := int(self.state.step)) < self.num_steps:
                stop = min(here + length, self.num_steps, self._history_room(here), self._fed())
                if callback is not None:
                    stop = min(stop, (here // callback_every + 1) * callback_every)
                chunk_began = time.monotonic()
                self._chunk(stop)
                elapsed = time.monotonic() - chunk_began
                growth = min(8.0, CHUNK_SECONDS / max(elapsed, 1e-9))
                length = max(1, min(CHUNK_STEPS, math.ceil((stop - here) * growth)))
                due = self.saver is not None and self.saver.due()
                reports = self.team.meet(length=length, due=due, stop=noted.heard)
                length, due = reports[0]["length"], reports[0]["due"]
                last = {name: float(values[-1]) for name, values in self.info[-1].items()}
                if bar is not None:
                    count = jax.tree.leaves(self.state.particles)[0].shape[0]
                    bar.update(
                        stop,
                        drift=last["drift_norm"],
                        bandwidth=last["bandwidth"],
                        spread=last["epd"] / count,
                    )
                if self.saver is not None and due:
                    self.saver.save(self.state, self._records())
                if callback is not None and (stop % callback_every == 0 or stop == self.num_steps):
                    seen = join(self.info[since_callback:])
                    since_callback = len(self.info)
                    if self.team.says_yes(callback, self.state, seen):
                        break
                if any(report["stop"] for report in reports):
                    self.interrupted = True
                    break
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            listening.close()
            if bar is not None:
                bar.close()
            self.feed.close()
        self.ended = time.monotonic()  # the time that is saved is the time that is told
        self.watch.end(join(self.info))
        if self.saver is not None:
            self.saver.save(self.state, self._records())
        return self._result()

    def _fed(self) -> int:
        """The step up to which minibatches are at hand; waits for those of the next."""
        try:
            self.state, stop = self.feed.ready(self.state)
        except Exception as error:
            if self.saver is not None and not self.team.several:  # others do not know of it
                self.saver.save(self.state, self._records())
            step = int(self.state.step)
            message = f"step {step}: the data cannot be read: {error}"
            raise SourceError(message, self.state, self._result()) from error
        return stop

    def _advance(
        self, start: State, stop: int, ask: bool = False
    ) -> tuple[State, Info, Particles, Look]:
        room, feed = (CHUNK_STEPS, self.slots, self.history_every), self.feed
        return advance_to(*room, feed.program, self.key, start, ask, feed.block, stop)

    def _chunk(self, stop: int) -> None:
        start, ask = self.state, self.watch.asks(stop == self.num_steps)
        state, info, history, look = self._advance(start, stop, ask)
        if not look.finite:
            self._diverged(start, stop)
        first, seen = int(start.step), arrays_between(start, state, info)
        if (bad := self.watch.bad_step(first, seen, look)) is not None:
            state, info, history, _ = self._advance(start, bad)
            self._record(start, state, arrays_between(start, state, info), history)
            self._stop(state)
        self._record(start, state, seen, history)
        self.watch.see(first, seen, state, look, self.feed.block)

    def _record(
        self, start: State, state: State, seen: dict[str, np.ndarray], history: Particles
    ) -> None:
        first, last = int(start.step), int(state.step)
        kept = [own_part(leaf, RECORDS) for leaf in jax.tree.leaves(history)]
        # nothing slow from here on: Ctrl-C must not leave a chunk half recorded
        self.info.append(seen)
        if self.history_every is not None:
            count = last // self.history_every - first // self.history_every
            self.history.append([leaf[:count] for leaf in kept])
        self.state = state

    def _history_room(self, here: int) -> int:
        if self.history_every is None:
            return here + CHUNK_STEPS
        return (here // self.history_every + self.slots + 1) * self.history_every - 1

    def _diverged(self, good: State, bad_stop: int) -> NoReturn:
        """Find the last finite step."""
        last_good, first_bad = int(good.step), bad_stop
        while first_bad - last_good > 1:
            middle = (last_good + first_bad) // 2
            state, info, history, look = self._advance(good, middle)
            if look.finite:
                self._record(good, state, arrays_between(good, state, info), history)
                good, last_good = state, middle
            else:
                first_bad = middle
        self._stop(good)

    def _stop(self, good: State) -> NoReturn:
        """Keep the last good state, and say why the next one is not."""
        if self.saver is not None:
            self.saver.save(good, self._records())
        batch = None if self.feed.block is None else self.feed.block.batch(good.step)
        message = diagnose(self.feed.program, self.key, good, batch)
        raise NonFiniteError(message, good, self._result())

    def _records(self) -> dict[str, np.ndarray]:
        leaves = stack(self.history)
        history = {f"history{n}": leaf for n, leaf in enumerate(leaves)}
        seen = probe(self.sampler, self.key, self.state)
        return {
            **join(self.info),
            **history,
            **self.feed.records,
            "seconds": np.asarray(self._seconds()),
            PROBE: seen,
        }

    def _seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.began

    def _resume(self, state: State, records: dict[str, np.ndarray]) -> None:
        self.state = state
        self.began -= float(records["seconds"])
        self.info = [{name: records[name] for name in Info._fields}]
        count = len(jax.tree.leaves(state.particles))
        if self.history_every is not None and "history0" in records:
            self.history = [[records[f"history{n}"] for n in range(count)]]

    def _result(self) -> Result:
        history = None
        if self.history_every is not None:
            history = whole_history(self.history, self.state.particles, self.team)
        return Result(
            particles=self.state.particles,
            info=join(self.info),
            history=history,
            history_every=self.history_every,
            settings={**self.sampler.settings, "num_steps": self.num_steps, "seed": self.seed},
            versions=versions(),
            num_steps=int(self.state.step),
            seconds=self._seconds(),
            interrupted=self.interrupted,
            score_memory=self.state.score_memory,
        )
