"""A state that moves: starts, advances in compiled chunks, and a look up after each of them.

Whoever wants to know is told between two chunks: a progress line, a callback, a checkpoint.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.auto import approach, bend, metric, state
from spos.auto.bend import Bend, Points
from spos.auto.budget import Budget, Spent
from spos.auto.engine import (
    RECORDS,
    Coordinates,
    Problem,
    Records,
    Tuning,
    Whitened,
)
from spos.auto.judge import Round
from spos.auto.result import Adapted
from spos.auto.state import FitState
from spos.auto.together import Programs
from spos.auto.watch import Callback, FitProgress, Stopped
from spos.io import progress as progress_line
from spos.io.checkpoint import Checkpoint


class Moving(FitState):
    """A state, what is fixed while it changes, and the advance from one state to the next."""

    def __init__(
        self,
        programs: Programs,
        names: list[str],
        theta: np.ndarray,
        seed: int,
        redraw: Callable[[int], np.ndarray] | None = None,
        warm: Adapted | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.began = time.monotonic()
        self.programs, self.names, self.seed = programs, names, seed
        self.budget = budget or Budget()
        self.bend = None
        self.key = jax.random.key(seed)
        self.count, self.size = theta.shape
        self.bar: progress_line.Progress | None = None
        self.saver: Checkpoint | None = None
        self.callback: Callback | None = None
        self.latest: FitState | None = None  # after the last whole chunk
        self.evaluations, rng = 0, np.random.default_rng(seed)
        theta, original = approach.finite_starts(theta, self._log_prob, redraw, rng)
        theta = approach.parted(theta, rng)
        new, steps = np.empty(0), np.full(self.count, -0.25 * np.log(self.size))
        super().__init__(new, new, new, new, new, new, new, steps, evaluations=self.evaluations)
        if copies := int((~original).sum()):
            self.notes.append(f"{copies} starts without a finite density were replaced by others")
        if warm is None or not self._warm_up(theta, warm):
            self._place(theta, *metric.start_coordinates(theta[original]))

    def _place(
        self, theta: np.ndarray, origin: np.ndarray, base: np.ndarray, given: Bend | None = None
    ) -> None:
        """Stand at θ, in these coordinates."""
        self.origin, self.base, self.bend = origin, base, given
        nothing = Points(theta, np.zeros(self.count), np.zeros(theta.shape))
        straight = bend.straighten_points(given, nothing).theta
        self.y = np.linalg.solve(base, (straight - origin).T).T
        self.factor = np.eye(self.size)
        self._refresh()

    def _warm_up(self, theta: np.ndarray, warm: Adapted) -> bool:
        """Go on with what another run has learnt, unless its points are far out for this target."""
        self._place(theta, warm.centre, warm.factor, warm.bend)
        if approach.is_far(self.score):
            self.notes.append("the points of warm_start are far from this target: approached anew")
            return False
        self.factor = np.eye(self.size)
        self.log_step = np.full(self.count, warm.log_step)
        self.phase, self.number = state.ROUNDS, warm.number
        self.jumps, self.local = warm.jumps, warm.local
        self.stage = 2  # the step is known, and is tuned to the new target for one chunk
        return True

    @property
    def problem(self) -> Problem:
        """What is sampled."""
        return self.programs.problem

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers that depend on the seed and on how many chunks there were."""
        return np.random.default_rng([self.seed, self.chunks])

    def _evaluate(self, theta: np.ndarray) -> Whitened:
        """Density and score in the parameters themselves."""
        self.evaluations += self.count
        frame = self._frame(np.zeros(self.size), np.eye(self.size))
        frame = frame._replace(bent=jnp.asarray(False))
        return self.programs.evaluate(frame, self._array(theta))

    def _log_prob(self, theta: np.ndarray) -> np.ndarray:
        return np.asarray(self._evaluate(theta).log_prob)

    def _look(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Density and score at y."""
        frame = self._frame(self.origin, self.base)
        cloud = self.programs.evaluate(frame, self._array(y))
        self.evaluations += self.count
        log_prob, score = (np.asarray(x, float) for x in cloud[1:])
        return log_prob, score

    def _refresh(self) -> None:
        """Density and score at the present y, and a first metric from the better half."""
        self.log_prob, self.score = self._look(self.y)
        best = np.argsort(self.log_prob)[self.count // 2 :]
        if self.score[best].any():  # else all stand on the very mode, which tells no scale
            _, self.factor = metric.learn(self.y[best], self.score[best], len(best))
        self.middle = self.y.mean(0)

    def _array(self, values: Any) -> jax.Array:
        return jnp.asarray(values, self.problem.dtype)

    def _frame(self, centre: np.ndarray, factor: np.ndarray) -> Coordinates:
        given = bend.unbent(self.size) if self.bend is None else self.bend
        arrays = Bend(*map(self._array, given))
        return Coordinates(
            self._array(centre), self._array(factor), arrays, jnp.asarray(self.bend is not None)
        )

    def advance(self, label: str, chunks: int, log_step: Any, **tuning: Any) -> Round:
        """So many chunks from y in the present metric; y, its density and the steps follow.

        One that was under way when the state was saved goes on where it was.
        """
        frame = self._frame(self.origin + self.base @ self.middle, self.base @ self.factor)
        if self.running is None:
            z = (self.y - self.middle) @ np.linalg.inv(self.factor).T
            self.running = Whitened(*map(self._array, (z, self.log_prob, self.score @ self.factor)))
            self.running_step = np.asarray(self._array(np.broadcast_to(log_step, self.count)))
        cloud = Whitened(*map(self._array, self.running))
        steps = self._array(self.running_step)
        plan = Tuning(steps, **tuning)
        plan = plan._replace(rate=self._array(plan.rate))
        per_move = int(plan.leaps) + bool(plan.jumps)
        cost = RECORDS * int(plan.thin) * per_move * self.count
        for _ in range(len(self.records), chunks):
            if spent := self.budget.spent(self.elapsed, self.evaluations + cost):
                raise Spent(spent)
            key = jax.random.fold_in(self.key, self.chunks)
            now = plan._replace(log_step=steps)
            cloud, steps, records = self.programs.chunk(frame, key, cloud, now)
            recorded: Records = jax.device_get(records)
            self.running, self.running_step = jax.device_get((cloud, steps))
            self.records = [*self.records, recorded]
            self.chunks += 1
            self.moves += RECORDS * int(plan.thin)
            self.evaluations += cost
            self._look_up(label)
        self.log_step = np.asarray(steps, float)
        return self._collect()

    def _collect(self) -> Round:
        """End the advance that is under way, however far it is."""
        parts = [[np.asarray(leaf, float) for leaf in each] for each in self.records]
        z, log_prob, g, acceptance = (np.concatenate(part) for part in zip(*parts, strict=True))
        y = self.middle + z @ self.factor.T
        if not np.isfinite(y).all():
            raise approach.ImproperError(approach.ENDLESS)
        self.y, self.log_prob = y[-1], log_prob[-1]
        self.score = g[-1] @ np.linalg.inv(self.factor)
        self.records, self.running, self.running_step = [], None, None
        return Round(y, log_prob, z, g, acceptance)

    @property
    def elapsed(self) -> float:
        """Seconds, those of an earlier part of the run included."""
        return time.monotonic() - self.began

    def _look_up(self, label: str) -> None:
        """After a whole chunk: keep the state, and tell whoever wants to know."""
        self.seconds = self.elapsed
        self.latest = self.snapshot()
        if self.bar is not None:
            self.bar.label = f"fit {label}"
            error = {check.name: check.value for check in self.checks}.get("precision", np.nan)
            self.bar.update(min(self.evaluations, self.budget.evaluations - 1), error=error)
        if self.saver is not None and self.saver.due():
            state.save(self.saver, self.latest)
        if self.callback is not None:
            seen = self.records[-1]
            acceptance = np.asarray(seen.acceptance, float).mean(0)
            now = np.asarray(seen.log_prob[-1], float)
            told = FitProgress(label, self.evaluations, now, acceptance, tuple(self.checks))
            if self.callback(told):
                raise Stopped
