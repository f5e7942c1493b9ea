"""The host's part of an automatic run: approach, then longer and longer rounds until one passes.

Every round first tunes the step and the number of leapfrogs (`spos.auto.length`) and then freezes
everything, so that what is kept of it is exact Markov chain Monte Carlo. A round that fails a check
goes on as it is, to twice its length, or to what is enough where only precision is missing, unless
it has *taught* something: other coordinates (`spos.auto.bend`, `spos.auto.metric`), that particles
stay apart (then the next proposes jumps), or that the scale changes from place to place (then its
steps fit the place). One that gains nothing by its length is begun anew, as long as it was. The
round that passes, or the last one when the budget ends, is the result.

A run is a state machine: `phase`, `number` and `stage` (`spos.auto.state`) say what comes next, and
an advance that was cut short goes on where it was (`spos.auto.moving`).
"""

import math
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.auto import bend, budget, hierarchy, length, metric, state, tails
from spos.auto.approaching import BIRTH_DEATHS, Approaching
from spos.auto.bend import Bend, Points
from spos.auto.budget import Spent
from spos.auto.engine import MOVES
from spos.auto.judge import (
    LOW,
    STUCK,
    Round,
    arviz_checks,
    is_flat,
    measure,
    passed,
    places,
    rough,
    slowed,
)
from spos.auto.result import Adapted, Fit
from spos.auto.state import APPROACH
from spos.auto.verdict import Check, Verdict
from spos.auto.watch import Callback, Stopped
from spos.io import progress as progress_line
from spos.io.checkpoint import Checkpoint
from spos.result import versions

FROZEN = 3  # the stage of a round after its tuning
SHIFT = 0.2  # of a log step, which makes up for the jitter of frozen ones
CHUNKS = 8  # of a long round are recorded as a whole, and more of few parameters:
RECORDED = 2_000_000  # numbers
TAUGHT = 200  # records: more of them teach no more
LONGER, LITTLE_LONGER = 2.0, 1.25  # times
NEAR = 4.0  # times: a round that is so near its end is not begun anew, whatever it taught
STALLED, CLOSE = 0.9, 1.5  # times what was needed before; one that is closer to its end goes on
SAFE = 1.1  # errors have errors
APART = 0.3  # the share of variance between particles that no short round explains
LEAST, MOST = 0.6, 0.95  # acceptance of a step that was tuned well
AVERAGED = 0.5  # times the uncertainty of a draw's log-density has the mean of a round
KNOWN = 0.5  # of the scale of a mode, in a round
ROUND = 1.5  # the ratio of scales up to which coordinates are good enough


class AutomaticRun(Approaching):
    """One call of `spos.fit`."""

    def go(
        self,
        show: bool | None = None,
        callback: Callback | None = None,
        saver: Checkpoint | None = None,
    ) -> Fit:
        """Run to the end, from where the checkpoint has it if there is one."""
        self.callback, self.saver = callback, saver
        if saver is not None and (saved := state.restored(saver)) is not None:
            self.restore(saved)
            self.latest = saved
            self.began = time.monotonic() - saved.seconds
        if progress_line.wanted(show):
            self.bar = progress_line.Progress("fit", self.budget.evaluations, done=self.evaluations)
        interrupted = False
        try:
            if self.phase == APPROACH:
                self._approach()
            self._rounds()
        except (KeyboardInterrupt, Stopped, Spent) as end:
            interrupted = True
            self._cut_short(str(end))
        finally:
            if self.bar is not None:
                self.bar.close()
            if saver is not None and self.latest is not None:
                state.save(saver, self.latest)
        return self._result(interrupted)

    def _rounds(self) -> None:
        for n in range(self.number, self.budget.rounds):
            self.number = n
            moves, thin = self._length(self.asked)
            label = f"round {n + 1}"
            if self.stage == 0:
                # a step that fell in the approach says nothing of the target
                step = max(np.median(self.log_step), np.log(length.TURN / length.LEAPS))
                options = {"local": self.local, "jumps": self.jumps}
                self.advance(label, MOVES, step, rate=0.7, pooled=False, **options)
                self.stage, self.lengths = 1, []
            while self.stage < FROZEN:
                self._tune(label)
            seen = self._move_together(
                label, moves, shift=SHIFT, thin=thin, jumps=self.jumps, going_on=True
            )
            before = self.checks
            independent = self._judge(seen, thin)
            if passed(self.checks):
                return
            # a budget that somebody has named is used to its end
            if self.budget.max_evaluations is None and 2 * self.evaluations > budget.EVALUATIONS:
                return
            needed, seen = self._needed(self.checks), seen.at_most(TAUGHT)
            stalled = needed > max(STALLED * self._needed(before), CLOSE)
            if stalled or (needed > NEAR and self._taught(seen, independent)):
                self._end_advance()
                found = self._points(seen)
                self.left = [*self.left, self._homes(seen, found)]
                self._learn(seen, found, independent)
                self.stage, self.asked = 0, self.asked * (1.0 if stalled else 2.0)
                continue
            if self._trend:
                self._forget_half(thin)
            self.asked *= float(np.clip(needed, LITTLE_LONGER, LONGER))
            if self._length(self.asked)[1] > thin:
                self._halve_records()

    def _taught(self, seen: Round, independent: float) -> bool:
        """Has a round shown how to move better? Else it goes on as it is."""
        if (
            (self._apart and not self.jumps)
            or (not self.local and (rough(seen.g) or slowed(seen.acceptance)))
            or (self._stuck(seen).any() and self.number < BIRTH_DEATHS)
            or (self._trend and not self.checks[0].passed)
            or not LEAST < float(seen.acceptance.mean()) < MOST
        ):
            return True
        rows = seen.z.reshape(-1, self.size), seen.g.reshape(-1, self.size)
        _, factor = metric.learn(*rows, max(independent, self.count))
        lengths = np.linalg.svd(factor, compute_uv=False)
        return bool(lengths[0] > ROUND * lengths[-1]) or self._straight_bend(seen) is not None

    def _straight_bend(self, seen: Round) -> Bend | None:
        """What there is to bend in coordinates that should be straight already."""
        straight = self.origin + seen.y @ self.base.T
        return hierarchy.learn(straight, seen.g @ np.linalg.inv(self.base @ self.factor))

    @property
    def _apart(self) -> bool:
        """Do particles keep to places of their own?"""
        return self.checks[0].value > APART

    @property
    def _trend(self) -> bool:
        """Do the particles still move elsewhere?"""
        return not all(check.passed for check in self.checks if check.name == "trend")

    @staticmethod
    def _homes(seen: Round, found: Points) -> np.ndarray:
        """Where particles stand, and how high: nowhere if they hardly move, which is no home."""
        usual = seen.acceptance.mean(0)
        moves = usual > 0.5 * usual.mean()
        height = np.where(moves, found.log_prob[-1], -np.inf)
        return np.column_stack([found.theta[-1], height])

    @staticmethod
    def _stuck(seen: Round) -> np.ndarray:
        """Which particles reject nearly everything where the density is lower than the others see?
        (Where it is higher they may stand in a mode that is narrow.)"""
        still = seen.acceptance.mean(0) < STUCK
        if still.all():
            return np.zeros_like(still)
        found: np.ndarray = still & (
            seen.log_prob.mean(0) < np.quantile(seen.log_prob[:, ~still], LOW)
        )
        return found

    def _needed(self, found: list[Check]) -> float:
        """How many times as long a round had to be that failed only for being short, by what was
        found of it and the limits of the last one."""
        failed = {check.name: check.value for check in found if not check.passed}
        limits = {check.name: check.limit for check in self.checks}
        powers = {"mixing": 1, "precision": 2}  # of the length they fall with
        if not failed or failed.keys() - powers.keys():
            return math.inf
        each = [(value / limits[name]) ** powers[name] for name, value in failed.items()]
        return SAFE * max(each)

    def _length(self, times: float) -> tuple[int, int]:
        """How many moves a round has that is so many times as long as the first, and how many there
        are from one record to the next."""
        first = max(2, -(-self.budget.records(self.count) // MOVES))
        chunks = math.ceil(first * times)
        whole = RECORDED // (MOVES * self.count * self.size)
        times = max(1, chunks // max(CHUNKS, first, whole))
        return MOVES * chunks, 1 << (int(times).bit_length() - 1)

    def _judge(self, seen: Round, thin: int) -> float:
        """Check a round, and keep it; how many independent points it is worth."""
        straight = self.origin + seen.y @ self.base.T
        theta, log_prob = bend.bend_places(self.bend, straight, seen.log_prob)
        own, some = seen._replace(y=theta, log_prob=log_prob), self._points(seen.at_most(TAUGHT))
        if is_flat(some.theta, some.score).any():  # which mixed directions would hide
            own = own._replace(z=theta, g=self._points(seen).score)
        late = tails.of_few(straight)
        self.checks, independent = measure(own, self.names, self.budget.error, late)
        self.checks.append(places(own, self.left))
        self.finished, self.thin = own, thin
        if passed(self.checks):
            self.checks += arviz_checks(own, self.names)
        return independent

    def _cut_short(self, spent: str) -> None:
        """Judge the part of a frozen round that there is, unless an earlier one was longer."""
        if spent:
            self.notes.append(f"{spent} ended the run in its {self.phase}")
        _, thin = self._length(self.asked)
        before = 0 if self.finished is None else len(self.finished.log_prob) * self.thin
        if self.stage == FROZEN and self.made > before:
            seen = self._collect()
            self._judge(seen, thin)

    def _points(self, seen: Round) -> Points:
        """The records of a round as θ, with the density and the scores there."""
        straight = self.origin + seen.y @ self.base.T
        scores = seen.g @ np.linalg.inv(self.base @ self.factor)
        return bend.bend_points(self.bend, Points(straight, seen.log_prob, scores))

    def _learn(self, seen: Round, found: Points, independent: float) -> None:
        """A bend from a round, over to its coordinates, and a metric there; jumps, and steps that
        fit the place, where they are needed."""
        before, new = self.bend, hierarchy.learn(found.theta, found.score)
        if new is not None or self._straight_bend(seen) is not None:
            self.bend = new  # and else the one there is was not seen to be wrong
        straight = bend.straighten_points(self.bend, found)
        y = (straight.theta - self.origin) @ np.linalg.inv(self.base).T
        scores = straight.score @ self.base
        self.y, self.log_prob, self.score = y[-1], straight.log_prob[-1], scores[-1]
        self.archive = y.mean(0)  # of particles that stay in their modes: how far those are apart
        # and if they know theirs (by Stein's identity), only their own paths tell its scale
        known = -((y - self.archive) * scores).mean((0, 1)) > KNOWN
        rows = (y - self.archive if self._apart and known.all() else y).reshape(-1, self.size)
        slopes = scores.reshape(-1, self.size) @ self.factor
        rows = rows @ np.linalg.inv(self.factor).T
        _, more = metric.learn(rows, slopes, max(independent, self.count))
        self.factor = self.factor @ more
        self.middle = y.mean((0, 1))
        if self.number < BIRTH_DEATHS and self._apart:
            z = (self.y - self.middle) @ np.linalg.inv(self.factor).T
            self._birth_death(z, seen.log_prob.mean(0, keepdims=True), AVERAGED)
        if self.number < BIRTH_DEATHS and (stuck := self._stuck(seen)).any():
            place = np.arange(self.count)
            place[stuck] = self.rng.choice(np.flatnonzero(~stuck), stuck.sum())
            self._put(place)
        self.jumps = self.jumps or self._apart
        same = (before is None) == (self.bend is None)
        slow = same and slowed(seen.acceptance)
        self.local = self.local or slow or rough(scores @ self.factor)

    def _tune(self, label: str) -> None:
        """A chunk to tune the step in, and the number of leapfrogs."""
        if self.lengths:
            self.leaps = length.other(self.lengths[0])
        else:
            self.leaps = length.usual(np.exp(np.median(self.log_step)))
        seen = self._move_together(label, MOVES, rate=0.2, jumps=self.jumps)
        log_step = float(np.median(self.log_step))
        found = length.seen(self.leaps, log_step, seen.z, self.leaps + self.jumps)
        self.lengths = [*self.lengths, found]
        best = min(self.lengths, key=lambda each: each.cost)
        self.leaps, self.log_step = best.leaps, np.full(self.count, best.log_step)
        self.stage += 1

    def _move_together(self, label: str, moves: int, shift: float = 0.0, **tuning: Any) -> Round:
        """Moves with one step for all."""
        log_step = float(np.median(self.log_step))
        tuning = {"leaps": self.leaps, "local": self.local, **tuning}
        seen = self.advance(label, moves, log_step + shift, **tuning)
        self.log_step = self.log_step - shift
        return seen

    @property
    def settings(self) -> dict[str, Any]:
        """What is shown and saved of how the run was made."""
        target, beta = self.problem.target, self.problem.beta
        return {
            "algorithm": "fit",
            "beta": beta,
            "kernel": None if beta is None else "rbf",
            "target": target.settings,
            "seed": self.seed,
        }

    def _result(self, interrupted: bool) -> Fit:
        seen = self.finished
        if seen is None:  # interrupted early: the particles as they are
            nothing = np.zeros((1, self.count))
            y, score = self.y[None], self.score[None]
            seen = Round(y, self.log_prob[None], y, score, nothing)
            seen = seen._replace(y=self._points(seen).theta)
        if self.count < 2 * (self.size + 1):
            self.notes.append(
                f"{self.count} particles for {self.size} parameters: correlations are learnt "
                "slowly (the metric is shrunk to its diagonal); more particles help"
            )
        if self.budget.num_draws is None:
            every = 1
        else:  # evenly, and the last one among them
            every = max(len(seen.y) // self.budget.records(self.count), 1)
            last = every * self.budget.records(self.count)
            seen = Round(*(part[-last:][every - 1 :: every] for part in seen))
        history = self.problem.unflatten(seen.y)
        return Fit(
            particles=jax.tree.map(lambda leaf: jnp.asarray(leaf[-1]), history),
            info={"log_prob": seen.log_prob, "acceptance": seen.acceptance},
            history=history,
            history_every=self.thin * every,
            settings=self.settings,
            versions=versions(),
            num_steps=self.moves,
            seconds=time.monotonic() - self.began,
            interrupted=interrupted,
            draws=jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), history),
            verdict=Verdict(tuple(self.checks), tuple(self.notes), interrupted),
            evaluations=self.evaluations,
            adapted=Adapted(
                self.origin + self.base @ self.middle,
                self.base @ self.factor,
                float(np.median(self.log_step)),
                self.number if self.phase == state.ROUNDS else 0,
                self.jumps,
                self.local,
                self.bend,
            ),
        )
