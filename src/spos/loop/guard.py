"""What went wrong with a run: the step, the particle, the parameter, and what to try."""

import jax
import numpy as np

from spos.dynamics.sampler import Sampler
from spos.loop.run import advance, draw
from spos.names import entry_name
from spos.result import Result
from spos.types import PyTree, State


class NonFiniteError(FloatingPointError):
    """A particle is not finite.

    Attributes:
        message: which particle and parameter, at which step, and what to try.
        state: the last finite one.
        result: the run up to it.
    """

    def __init__(self, message: str, state: State, result: Result) -> None:
        super().__init__(message)
        self.state = state
        self.result = result


class SourceError(RuntimeError):
    """The data of a run cannot be read any further.

    Attributes:
        message: at which step, and why.
        state: the last one that was reached.
        result: the run up to it.
    """

    def __init__(self, message: str, state: State, result: Result) -> None:
        super().__init__(message)
        self.state = state
        self.result = result


def diagnose(sampler: Sampler, key: jax.Array, state: State, batch: PyTree = None) -> str:
    """Which particle and which parameter broke in the step after `state`, and what to try."""
    step = int(state.step)
    if batch is None:
        batch = draw(sampler, jax.random.fold_in(key, state.step), state.step)
    scores = sampler.target.score(state.particles, batch)
    where = _first_bad(scores)
    what = "its score is {value}"
    advice = "Check log_prob there, or use a smaller step_size to stay where it is finite."
    if where is None:
        moved, info = advance(sampler, key, state, batch)
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
