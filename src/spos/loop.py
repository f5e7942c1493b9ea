"""The loop: one step after another, compiled, watched and resumable.

`run` is the pure form: a whole run as one traceable function, to be jitted, vmapped over seeds,
settings or data sets, or put inside another program. `sample` is the form for people. It advances
in compiled chunks whose length adapts to about a second, and between chunks it looks:
progress, callbacks, checkpoints, Ctrl-C, and whether every particle is still finite.

The random numbers of step k depend on the seed and on k alone, so that neither the chunks nor an
interruption can change a bit of the result. When a chunk ends with a particle that is not finite,
it is replayed from its start with halving lengths to find the step at which that happened: the hot
loop pays nothing for the guard, and the last finite state is at hand.
"""

import functools
import math
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.algorithms.automatic import is_automatic
from spos.auto.host import sample_automatically
from spos.cloud import norm
from spos.io import progress
from spos.io.checkpoint import Checkpoint, fingerprint
from spos.names import entry_name
from spos.result import Result, versions
from spos.types import Info, Particles, PyTree, Sampler, State, Target

CHUNK_SECONDS = 1.0
CHUNK_STEPS = 4096  # at most, which bounds the room for the info of a chunk
HISTORY_BYTES = 2**26  # at most, for the history of a chunk

Callback = Callable[[State, dict[str, np.ndarray]], Any]


class NonFiniteError(FloatingPointError):
    """A particle is not finite. `state` is the last finite one, `result` the run up to it."""

    def __init__(self, message: str, state: State, result: Result) -> None:
        super().__init__(message)
        self.state = state
        self.result = result


def run_key(seed: int) -> jax.Array:
    """The key of a whole run."""
    return jax.random.key(seed)


def advance(sampler: Sampler, key: jax.Array, data: PyTree, state: State) -> tuple[State, Info]:
    """The step that `state` is due for, with the randomness of its number."""
    key = jax.random.fold_in(key, state.step)
    return sampler.step(key, state, draw(sampler, key, data, state))


def draw(sampler: Sampler, key: jax.Array, data: PyTree, state: State) -> PyTree:
    """The minibatch of a step, from the key of that step (which is the key of the noise too)."""
    return sampler.target.draw(jax.random.fold_in(key, 2), state.step, data)


def run(
    sampler: Sampler,
    key: jax.Array,
    particles: Particles,
    num_steps: int,
    *,
    data: PyTree = None,
    observe: Callable[[State, Info], PyTree] = lambda state, info: info,
) -> tuple[State, PyTree]:
    """`num_steps` steps as a pure function: the last state and, stacked, what `observe` saw.

    `data` replaces the target's own (of the same form), so that many data sets can share a program.
    """
    data = sampler.target.data if data is None else data

    def body(state: State, _: None) -> tuple[State, PyTree]:
        state, info = advance(sampler, key, data, state)
        return state, observe(state, info)

    return jax.lax.scan(body, sampler.init(particles), length=num_steps)


def sample(
    sampler: Sampler,
    particles: Particles,
    num_steps: int | None = None,
    *,
    seed: int = 0,
    data: PyTree = None,
    history_every: int | None = None,
    callback: Callback | None = None,
    callback_every: int = 100,
    progress: bool | None = None,
    checkpoint: Any = None,
    checkpoint_every: float = 30.0,
) -> Result:
    """Run a sampler from `particles` for `num_steps` steps.

    A sampler without a step size needs no number of steps either: it finds its coordinates and
    steps, runs until its checks pass or its budget ends, and gives `result.draws`,
    `result.converged` and `result.report()` (see `spos.auto`).

    Args:
        seed: the same seed gives the same bits.
        data: replaces the target's own, in the same form but with as many rows as you like. Runs
            with one sampler and equally many rows share their compiled program.
        history_every: keep the particles of every so many steps, in `result.history`.
        callback: called as `callback(state, info)` every `callback_every` steps, with the info
            arrays of the steps since the last call; a true return value ends the run.
        progress: show a progress line; by default only on a terminal.
        checkpoint: a folder. The run is saved there every `checkpoint_every` seconds and at its
            end, and goes on from there when it is started again.
    """
    if not isinstance(sampler, Sampler):
        raise TypeError(f"sampler must come from spos.spos, spos.svgd, …, got {sampler!r}")
    checks.whole("seed", seed, at_least=0, below=2**32)  # all that a key tells apart
    if is_automatic(sampler):
        unused = {
            "num_steps": num_steps,
            "data": data,
            "history_every": history_every,
            "callback": callback,
            "checkpoint": checkpoint,
        }
        for name, value in unused.items():
            if value is not None:
                raise ValueError(
                    f"{name} must be left out when the sampler has no step_size, got {value!r}"
                )
        return sample_automatically(sampler, particles, seed=seed, progress=progress)
    if num_steps is None:
        raise ValueError("num_steps must be given when the sampler has a step_size, got None")
    checks.whole("num_steps", num_steps, at_least=0)
    if history_every is not None:
        checks.whole("history_every", history_every)
    if callback is not None:
        checks.function("callback", callback)
    checks.whole("callback_every", callback_every)
    checks.positive("checkpoint_every", checkpoint_every)
    if checkpoint is not None:
        checks.folder("checkpoint", checkpoint)
    data = sampler.target.data if data is None else _of_same_form(data, sampler.target)
    state = sampler.init(particles)
    saver = None
    if checkpoint is not None:
        identity = {
            "sampler": sampler.settings,
            "seed": seed,
            "history_every": history_every,
            "start": fingerprint(state.particles),
            "data": fingerprint(data),
            "score at the start": _start_score(sampler, data, state, seed),
        }
        saver = Checkpoint(checkpoint, checkpoint_every, identity)
    return _Run(sampler, data, state, num_steps, seed, history_every, saver).go(
        callback, callback_every, progress
    )


def _of_same_form(data: PyTree, target: Target) -> PyTree:
    """Checked: arrays like those of the target, with rows enough for a batch."""

    def form(tree: PyTree) -> PyTree:
        return jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape[1:])} a row", tree)

    if target.data is None:
        raise ValueError("data must be left out: the target of this sampler has none")
    data = checks.data(data)
    if form(data) != form(target.data):
        raise ValueError(
            f"data must have the form of the target's own, {form(target.data)}, got {form(data)}"
        )
    rows = len(jax.tree.leaves(data)[0])
    batch = getattr(getattr(target, "posterior", target), "batch", None)
    if batch is not None and rows < batch.maximum:
        raise ValueError(f"data must have the {batch.maximum} rows of a batch or more, got {rows}")
    return data


def _start_score(sampler: Sampler, data: PyTree, state: State, seed: int) -> str:
    """The size of the first score, by which another log-density betrays itself. Three digits, so
    that rounding on another machine does not."""
    return f"{float(_score_norm(sampler, run_key(seed), data, state)):.2e}"


@functools.partial(jax.jit, static_argnames=("sampler",))
def _score_norm(sampler, key, data, state):
    return norm(sampler.target.score(state.particles, draw(sampler, key, data, state)))


class _Run:
    """One call of `sample`: the state and everything recorded so far."""

    def __init__(self, sampler, data, state, num_steps, seed, history_every, saver) -> None:
        self.sampler, self.state, self.num_steps, self.seed = sampler, state, num_steps, seed
        self.key, self.data = run_key(seed), data
        self.history_every, self.saver = history_every, saver
        self.info: list[dict[str, np.ndarray]] = []  # one a chunk, a value a step
        self.history: list[list[np.ndarray]] = []  # one list of leaves a chunk
        self.began, self.interrupted = time.monotonic(), False
        self.ended: float | None = None
        slots = 0
        if history_every is not None:
            size = sum(leaf.nbytes for leaf in jax.tree.leaves(state.particles))
            slots = max(1, min(CHUNK_STEPS // history_every + 1, HISTORY_BYTES // size))
        self.slots = slots
        if saver is not None and (found := saver.restore(state)) is not None:
            self._resume(*found)
            if (done := int(self.state.step)) > num_steps:
                raise ValueError(
                    f"num_steps must be at least the {done} steps in {saver.folder}, "
                    f"got {num_steps}"
                )

    def go(self, callback, callback_every, show) -> Result:
        bar = None
        if progress.wanted(show):
            bar = progress.Progress(
                self.sampler.settings["algorithm"], self.num_steps, done=int(self.state.step)
            )
        length, since_callback = min(8, CHUNK_STEPS), len(self.info)
        try:
            while (here := int(self.state.step)) < self.num_steps:
                stop = min(here + length, self.num_steps, self._history_room(here))
                if callback is not None:
                    stop = min(stop, (here // callback_every + 1) * callback_every)
                chunk_began = time.monotonic()
                self._chunk(stop)
                elapsed = time.monotonic() - chunk_began
                growth = min(8.0, CHUNK_SECONDS / max(elapsed, 1e-9))
                length = max(1, min(CHUNK_STEPS, math.ceil((stop - here) * growth)))
                last = {name: float(values[-1]) for name, values in self.info[-1].items()}
                if bar is not None:
                    count = jax.tree.leaves(self.state.particles)[0].shape[0]
                    bar.update(
                        stop,
                        drift=last["drift_norm"],
                        bandwidth=last["bandwidth"],
                        spread=last["epd"] / count,
                    )
                if self.saver is not None and self.saver.due():
                    self.saver.save(self.state, self._records())
                if callback is not None and (stop % callback_every == 0 or stop == self.num_steps):
                    seen = _join(self.info[since_callback:])
                    since_callback = len(self.info)
                    if callback(self.state, seen):
                        break
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            if bar is not None:
                bar.close()
        self.ended = time.monotonic()  # the time that is saved is the time that is told
        if self.saver is not None:
            self.saver.save(self.state, self._records())
        return self._result()

    def _chunk(self, stop: int) -> None:
        start = self.state
        state, info, history, finite = _advance_to(
            self.sampler, self.slots, self.history_every, self.key, self.data, start, stop
        )
        if not finite:
            self._diverged(start, stop)
        self._record(start, state, info, history)

    def _record(self, start: State, state: State, info: Info, history: Particles) -> None:
        first, last = int(start.step), int(state.step)
        seen = {name: np.asarray(rows)[: last - first] for name, rows in info._asdict().items()}
        kept = [np.asarray(leaf) for leaf in jax.tree.leaves(history)]
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

    def _diverged(self, good: State, bad_stop: int) -> None:
        """Find the last finite step, keep it, and say what happened."""
        last_good, first_bad = int(good.step), bad_stop
        while first_bad - last_good > 1:
            middle = (last_good + first_bad) // 2
            state, info, history, finite = _advance_to(
                self.sampler, self.slots, self.history_every, self.key, self.data, good, middle
            )
            if finite:
                self._record(good, state, info, history)
                good, last_good = state, middle
            else:
                first_bad = middle
        if self.saver is not None:
            self.saver.save(good, self._records())
        message = _diagnose(self.sampler, self.key, self.data, good)
        raise NonFiniteError(message, good, self._result())

    def _records(self) -> dict[str, np.ndarray]:
        leaves = _stack(self.history)
        history = {f"history{n}": leaf for n, leaf in enumerate(leaves)}
        return {**_join(self.info), **history, "seconds": np.asarray(self._seconds())}

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
            treedef = jax.tree.structure(self.state.particles)
            leaves = _stack(self.history) or [
                np.empty((0, *leaf.shape), leaf.dtype)
                for leaf in jax.tree.leaves(self.state.particles)
            ]
            history = jax.tree.unflatten(treedef, leaves)
        return Result(
            particles=self.state.particles,
            info=_join(self.info),
            history=history,
            history_every=self.history_every,
            settings={**self.sampler.settings, "num_steps": self.num_steps, "seed": self.seed},
            versions=versions(),
            num_steps=int(self.state.step),
            seconds=self._seconds(),
            interrupted=self.interrupted,
            score_memory=self.state.score_memory,
        )


@functools.partial(jax.jit, static_argnames=("sampler", "slots", "history_every"))
def _advance_to(sampler, slots, history_every, key, data, state, stop):
    """Steps until number `stop`. How many they are is not compiled in; the room for them is."""
    first = state.step
    _, like = jax.eval_shape(functools.partial(advance, sampler), key, data, state)
    info = jax.tree.map(lambda leaf: jnp.zeros((CHUNK_STEPS,), leaf.dtype), like)
    history = jax.tree.map(
        lambda leaf: jnp.zeros((slots, *leaf.shape), leaf.dtype), state.particles
    )

    def body(carry):
        state, info, history = carry
        row = state.step - first
        state, seen = advance(sampler, key, data, state)
        info = jax.tree.map(lambda rows, value: rows.at[row].set(value), info, seen)
        if history_every is not None:
            slot = state.step // history_every - first // history_every - 1
            history = jax.lax.cond(
                state.step % history_every == 0,
                lambda kept: jax.tree.map(lambda h, x: h.at[slot].set(x), kept, state.particles),
                lambda kept: kept,
                history,
            )
        return state, info, history

    state, info, history = jax.lax.while_loop(
        lambda carry: carry[0].step < stop, body, (state, info, history)
    )
    finite = jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state.particles)])
    return state, info, history, finite.all()


def _diagnose(sampler: Sampler, key: jax.Array, data: PyTree, state: State) -> str:
    """Which particle and which parameter broke in the step after `state`, and what to try."""
    step = int(state.step)
    batch = draw(sampler, jax.random.fold_in(key, state.step), data, state)
    scores = sampler.target.score(state.particles, batch)
    where = _first_bad(scores)
    what = "its score is {value}"
    advice = "Check log_prob there, or use a smaller step_size to stay where it is finite."
    if where is None:
        moved, info = advance(sampler, key, data, state)
        where = _first_bad(moved.particles)
        what = "it became {value}"
        advice = "The step overshot: use a smaller step_size, or a preconditioner."
        if info.step_size <= 0:
            advice = f"The step_size of this step is {info.step_size}; it must be above 0."
    if where is None:  # finite when not compiled into one program: on the very edge
        return f"step {step}: a particle is no longer finite. Use a smaller step_size."
    particle, name, value = where
    return (
        f"step {step}: particle {particle}, parameter {name}: {what.format(value=value)}. {advice}"
    )


def _first_bad(tree: PyTree) -> tuple[int, str, float] | None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        array = np.asarray(leaf)
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            index = tuple(bad[0])
            return int(index[0]), entry_name(path, index[1:]), float(array[index])
    return None


def _join(chunks: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    if not chunks:
        return {name: np.empty(0, np.float32) for name in Info._fields}
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in Info._fields}


def _stack(chunks: list[list[np.ndarray]]) -> list[np.ndarray]:
    return [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
