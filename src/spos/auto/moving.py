"""A state that moves: starts, advances in compiled chunks, and a look up after each of them.

Whoever wants to know is told between two chunks: a progress line, a callback, a checkpoint.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from spos.auto import approach, bend, engine, metric, state
from spos.auto.bend import Bend, Points
from spos.auto.budget import Budget, Spent
from spos.auto.chance import RandomNumbers, draw_random
from spos.auto.engine import (
    MOVES,
    Coordinates,
    Problem,
    Records,
    Whitened,
)
from spos.auto.judge import Round
from spos.auto.result import Adapted
from spos.auto.state import FitState
from spos.auto.together import Programs
from spos.auto.watch import Callback, FitProgress, Stopped
from spos.io import progress as progress_line
from spos.io.checkpoint import Checkpoint

# It takes a second more to compile the program such that it runs fast. That pays after so many
# evaluations, or numbers that they computed, or at once where each of them computes so many
LONG, WORK, LARGE = 2_000_000, 4e9, 100_000


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
        self.began, self.dtype = time.monotonic(), programs.problem.dtype
        self.programs, self.names, self.seed = programs, names, seed
        self.budget = budget or Budget()
        self.bend = None
        self.count, self.size = theta.shape
        self.bar: progress_line.Progress | None = None
        self.saver: Checkpoint | None = None
        self.callback: Callback | None = None
        self.latest: FitState | None = None  # after the last whole chunk
        self.numbers = engine.numbers(programs.problem)
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
        self.factor, self.archive = np.eye(self.size), self.y
        self.log_step = np.full(self.count, warm.log_step)
        self.phase = state.ROUNDS
        self.jumps, self.local = warm.jumps, warm.local
        self.stage = 1  # the step is known, and only tuned to the new target
        return True

    @property
    def problem(self) -> Problem:
        """What is sampled."""
        return self.programs.problem

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers that depend on the seed and on how many chunks there were."""
        return np.random.default_rng([self.seed, self.chunks])

    @property
    def _short(self) -> bool:
        """Had the program better be compiled fast than be fast?"""
        return self.numbers <= LARGE and self.evaluations < min(LONG, WORK / (self.numbers + 1))

    def _evaluate(self, theta: np.ndarray) -> Whitened:
        """Density and score in the parameters themselves."""
        self.evaluations += self.count
        frame = self._frame(np.zeros(self.size), np.eye(self.size), None)
        return self._at(frame, theta)

    def _at(self, frame: Coordinates, z: np.ndarray) -> Whitened:
        """Density and score there: one move by nothing, from where they are not known yet."""
        dtype, shape = self.dtype, (MOVES, *z.shape)
        still = RandomNumbers(
            *(np.zeros(s, dtype) for s in (shape, shape[:2], (*shape[:2], 2), shape))
        )
        unknown = Whitened(
            self._array(z), np.full(len(z), -np.inf, dtype), np.zeros(z.shape, dtype)
        )
        plan = engine.plan(unknown.log_prob, dtype)
        there: Whitened = jax.device_get(
            self.programs.look(self._short, frame, still, np.int32(1), unknown, plan)
        )
        return there

    def _log_prob(self, theta: np.ndarray) -> np.ndarray:
        return np.asarray(self._evaluate(theta).log_prob)

    def _look(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Density and score at y."""
        frame = self._frame(self.origin, self.base, self.bend)
        cloud = self._at(frame, y)
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

    def _array(self, values: Any) -> np.ndarray:
        return np.asarray(values, self.dtype)

    def _frame(self, centre: np.ndarray, factor: np.ndarray, given: Bend | None) -> Coordinates:
        arrays = jax.tree.map(self._array, given or bend.unbent(self.size))
        return Coordinates(self._array(centre), self._array(factor), arrays, given is not None)

    def advance(
        self,
        label: str,
        moves: int,
        log_step: Any,
        *,
        thin: int = 1,
        going_on: bool = False,
        **tuning: Any,
    ) -> Round:
        """So many moves from y in the present metric, of which every `thin`-th is recorded; y, its
        density and the steps follow.

        One that was under way when the state was saved goes on where it was. What is `going_on` may
        be asked for more moves later.
        """
        origin, base = self.origin + self.base @ self.middle, self.base @ self.factor
        frame = self._frame(origin, base, self.bend)
        inverse = np.linalg.inv(self.factor).T
        if self.running is None:
            z = (self.y - self.middle) @ inverse
            self.running = Whitened(*map(self._array, (z, self.log_prob, self.score @ self.factor)))
            self.running_step = self._array(np.broadcast_to(log_step, self.count))
        cloud, steps = Whitened(*map(self._array, self.running)), self.running_step
        plan = engine.plan(steps, self.dtype, **tuning)
        # while steps adapt nothing is kept, and jumps may follow a cloud that grows
        places = self.y if self.archive is None or plan.rate else self.archive
        archive = self._array((places - self.middle) @ inverse)
        cost = (int(plan.leaps) + bool(plan.jumps)) * self.count * MOVES
        while self.made < moves:
            if spent := self.budget.spent(self.elapsed, self.evaluations + cost):
                raise Spent(spent)
            rng = np.random.default_rng([self.seed, self.chunks, MOVES])  # not that of `rng`
            random = draw_random(rng, MOVES, archive, plan)
            now = plan._replace(log_step=steps)
            cloud, steps, records = self.programs.chunk(
                self._short, frame, random, np.int32(MOVES), cloud, now
            )
            recorded: Records = jax.device_get(records)
            self.running, self.running_step = jax.device_get((cloud, steps))
            kept = (self.made + np.arange(1, MOVES + 1)) % thin == 0
            self.records = [*self.records, Records(*(part[kept] for part in recorded))]
            self.made += MOVES
            self.chunks += 1
            self.moves += MOVES
            self.evaluations += cost
            self._look_up(label, recorded)
        self.log_step = np.asarray(self.running_step, float)
        seen = self._collect()
        if not going_on:
            self._end_advance()
        return seen

    def _collect(self) -> Round:
        """What the advance that is under way has recorded; y and all that belongs to it follow."""
        parts = [[np.asarray(leaf, float) for leaf in each] for each in self.records]
        z, log_prob, g, acceptance = (np.concatenate(part) for part in zip(*parts, strict=True))
        y = self.middle + z @ self.factor.T
        if not np.isfinite(y).all():
            raise approach.ImproperError(approach.ENDLESS)
        self.y, self.log_prob = y[-1], log_prob[-1]
        self.score = g[-1] @ np.linalg.inv(self.factor)
        return Round(y, log_prob, z, g, acceptance)

    def _end_advance(self) -> None:
        self.records, self.made, self.running, self.running_step = [], 0, None, None

    def _forget_half(self, thin: int) -> None:
        """Drop the first half of what the advance has recorded."""
        joined = [np.concatenate(parts) for parts in zip(*self.records, strict=True)]
        half = len(joined[0]) // 2
        self.records = [Records(*(part[half:] for part in joined))]
        self.made -= half * thin

    def _halve_records(self) -> None:
        """Of what the advance has recorded keep every second: one twice as long needs no more."""
        joined = (np.concatenate(parts) for parts in zip(*self.records, strict=True))
        self.records = [Records(*(part[1::2] for part in joined))]

    @property
    def elapsed(self) -> float:
        """Seconds, those of an earlier part of the run included."""
        return time.monotonic() - self.began

    def _look_up(self, label: str, recorded: Records) -> None:
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
            acceptance = np.asarray(recorded.acceptance, float).mean(0)
            now = np.asarray(recorded.log_prob[-1], float)
            told = FitProgress(label, self.evaluations, now, acceptance, tuple(self.checks))
            if self.callback(told):
                raise Stopped
