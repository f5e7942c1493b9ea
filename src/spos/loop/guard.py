"""What went wrong with a run: the step, the particle, the parameter, and what to try.

A run ends with an error where it cannot go on: a particle is not finite, a step size is not above
0, or the drift is so large that its square overflows and no particle moves. Where it can go on, but
perhaps not to where people think, it warns once: a norm overflowed, a particle is where the
log-density is -inf or NaN, or no particle moved at all.
"""

import warnings

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.dynamics.sampler import Sampler
from spos.loop.chunk import Look, batch_of
from spos.loop.feed import Block
from spos.loop.run import advance, draw
from spos.mesh import shards
from spos.mesh.processes import fetch
from spos.names import entry_name, parameters
from spos.result import Result
from spos.types import PyTree, State

NORMS = ("drift_norm", "score_norm", "epd")
LARGER_NUMBERS = (
    "Measure the parameters in other units, or take 64 bits: "
    'jax.config.update("jax_enable_x64", True) and particles of float64.'
)


class NonFiniteError(FloatingPointError):
    """A run cannot go on: a particle is no longer finite, or a step size is not above 0.

    Attributes:
        message: which particle and parameter, at which step, and what to try.
        state: the last good one.
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


class Watch:
    """What a run has seen between its chunks, and what people were told of it."""

    def __init__(self, sampler: Sampler, key: jax.Array) -> None:
        self.sampler, self.key = sampler, key
        self.moved, self.chunks, self.steps, self.told = False, 0, 0, set[str]()

    def asks(self, last: bool) -> bool:
        """Are the log-densities looked at after this chunk? More and more rarely, and at the end:
        in a long run the looks cost nothing."""
        self.chunks += 1
        return last or self.chunks & (self.chunks - 1) == 0

    def bad_step(self, first: int, info: dict[str, np.ndarray], look: Look) -> int | None:
        """The first step of a chunk that is not one, though the particles are finite."""
        bad = info["step_size"] <= 0
        if not look.moved:
            bad = bad | ~np.isfinite(info["drift_norm"])
        return first + int(np.argmax(bad)) if bad.any() else None

    def see(
        self,
        first: int,
        info: dict[str, np.ndarray],
        state: State,
        look: Look,
        block: Block | None = None,
    ) -> None:
        """Warn of what a chunk has shown, once of each kind."""
        self.moved = self.moved or bool(look.moved)
        self.steps += len(info["drift_norm"])
        for name in NORMS:
            over = ~np.isfinite(info[name])
            if over.any():
                kind = state.bandwidth.dtype
                self._tell(
                    "norms",
                    f"step {first + int(np.argmax(over))}: {name} is too large for {kind}, whose "
                    f"numbers end at {float(jax.numpy.finfo(kind).max):.0e}; what squares it "
                    f"(kernels, preconditioners) cannot be trusted. {LARGER_NUMBERS}",
                )
        outside = np.flatnonzero(look.outside)
        if len(outside):
            self._tell("outside", self._where(int(outside[0]), len(outside), state, block))

    def end(self, info: dict[str, np.ndarray]) -> None:
        """Warn at the end of a run in which nothing happened."""
        if self.moved or not self.steps:
            return
        why = "every move is lost to rounding. Use a larger step_size."
        if not np.any(info["drift_norm"]) and self.sampler.noise is None:
            why = "the drift is 0 at all of them. Start elsewhere, or check log_prob."
        self._tell("moved", f"no particle moved in {self.steps} steps: {why}")

    def _where(self, particle: int, count: int, state: State, block: Block | None) -> str:
        batch = batch_of(self.sampler, self.key, block, state.step - 1)
        theta = jax.tree.map(lambda leaf: jax.numpy.asarray(fetch(leaf[particle])), state.particles)
        found = float(self.sampler.target.log_prob(theta, batch))
        names, values = parameters(jax.tree.map(lambda leaf: leaf[None], theta))
        shown = ", ".join(f"{n} = {v:.4g}" for n, v in zip(names[:4], values[0], strict=False))
        more = ", …" if len(names) > 4 else ""
        total = len(jax.tree.leaves(state.particles)[0])
        return (
            f"step {int(state.step)}: log_prob is {found} at {count} of {total} particles, first "
            f"at particle {particle} ({shown}{more}). The score is finite there, so that the run "
            "goes on where the target has no mass. Write the model in parameters that may take "
            "any value, or use spos.fit, which takes no step to such a place."
        )

    def _tell(self, kind: str, message: str) -> None:
        if kind not in self.told:
            self.told.add(kind)
            warnings.warn(message, RuntimeWarning, stacklevel=5)


def diagnose(sampler: Sampler, key: jax.Array, state: State, batch: PyTree = None) -> str:
    """Which particle and which parameter broke in the step after `state`, and what to try."""
    step = int(state.step)
    if batch is None:
        batch = draw(sampler, jax.random.fold_in(key, state.step), state.step)
    # over devices, one operation at a time would be compiled and sent by itself
    whole = jax.jit if shards.ambient() is not None else (lambda function: function)
    scores = whole(sampler.target.score)(state.particles, batch)
    where = _first_bad(scores)
    what = "its score is {value}"
    advice = "Check log_prob there, or use a smaller step_size to stay where it is finite."
    if guilty := checks.broken(sampler.target) or checks.broken(batch):
        advice = f"{guilty[0]}, which may be why: leave such rows out, or fill them. Else check "
        advice += "log_prob there, or use a smaller step_size."
    if where is None:
        moved, info = whole(advance)(sampler, key, state, batch)
        if info.step_size <= 0:
            return f"step {step}: step_size({step}) is {info.step_size}; it must be above 0."
        where = _first_bad(moved.particles)
        what = "it became {value}"
        advice = "The step overshot: use a smaller step_size, or a preconditioner."
        if where is None and not np.isfinite(info.drift_norm):
            return (
                f"step {step}: the drift is so large that its square overflows, and no particle "
                f"moves. {LARGER_NUMBERS}"
            )
    if where is None:  # finite when not compiled into one program: on the very edge
        return f"step {step}: a particle is no longer finite. Use a smaller step_size."
    particle, name, value = where
    return (
        f"step {step}: particle {particle}, parameter {name}: {what.format(value=value)}. {advice}"
    )


def _first_bad(tree: PyTree) -> tuple[int, str, float] | None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        bad = ~jnp.isfinite(leaf)
        if bad.any():  # one number at a time: most of the leaf may be in other processes
            index = tuple(int(n) for n in np.unravel_index(int(jnp.argmax(bad)), leaf.shape))
            return index[0], entry_name(path, index[1:]), float(leaf[index])
    return None
