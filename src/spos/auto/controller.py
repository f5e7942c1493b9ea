"""The host's part of an automatic run: approach, then rounds of doubling length until one passes.

Every round first tunes the step (and with it the number of leapfrogs) and then freezes everything,
so that what is kept of it is exact Markov chain Monte Carlo. A round that fails a check teaches the
next one its coordinates (`spos.auto.bend`, `spos.auto.metric`); one in which particles stay apart
switches on jumps, and one whose scale changes from place to place steps that fit the place. The
round that passes, or the last one when the budget ends, is the result.

A run is a state machine: `phase`, `number` and `stage` (`spos.auto.state`) say what comes next, and
an advance that was cut short goes on where it was (`spos.auto.moving`).
"""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.auto import approach, bend, budget, metric, state
from spos.auto.bend import Points
from spos.auto.budget import Spent
from spos.auto.engine import RECORDS
from spos.auto.judge import Round, arviz_checks, is_flat, measure, passed, uneven
from spos.auto.moving import Moving
from spos.auto.result import Adapted, Fit
from spos.auto.state import APPROACH
from spos.auto.verdict import Verdict
from spos.auto.watch import Callback, Stopped
from spos.io import progress as progress_line
from spos.io.checkpoint import Checkpoint
from spos.result import versions

TRAJECTORY, LEAPS = 1.5, 64  # whitened length between two refreshments of the noise
BIRTH_DEATHS = 3
FROZEN = 3  # the stage of a round after its tuning


class AutomaticRun(Moving):
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

    def _climb(self) -> None:
        if not approach.is_far(self.score @ self.factor):
            return
        for _ in range(approach.CLIMBS):
            before = self.log_prob
            newton = self.score @ self.factor @ self.factor.T
            self.y = approach.climb(self.y, before, newton, lambda there: self._look(there)[0])
            self._refresh()
            if np.median(self.log_prob - before) < approach.GAIN:
                return

    def _approach(self) -> None:
        if self.chunks == 0:
            self._climb()
        for n in range(self.number, approach.APPROACHES):
            self.number = n
            seen = self.advance("approach", 1, self.log_step, rate=0.7, pooled=False)
            late = Round(*(part[-10:] for part in seen))
            best = np.argsort(late.log_prob.ravel())[late.log_prob.size // 2 :]
            y, g = (part.reshape(-1, self.size)[best] for part in (late.y, late.g))
            _, self.factor = metric.learn(y, g @ np.linalg.inv(self.factor), self.count)
            self.middle = self.y.mean(0)
            self.widths.append(approach.widths(self.y))
            approach.must_end(self.widths)
            if n < 4:
                continue
            moved = 0
            if self.births < BIRTH_DEATHS:
                moved = self._birth_death(seen.z[-1], late.log_prob)
            self.births, self.moved = self.births + bool(moved), self.moved + moved
            if not moved and approach.settled(seen.log_prob, self.size, self.widths):
                self._must_be_proper()
                break
        else:
            self.notes.append(
                f"the approach had not settled after {approach.APPROACHES * RECORDS} moves"
            )
        if self.moved:
            self.notes.append(f"before sampling, birth-death moved {self.moved} particles")
        self.phase, self.number = state.ROUNDS, 0

    def _must_be_proper(self) -> None:
        theta = self.origin + self.y @ self.base.T
        scores = np.asarray(self._evaluate(theta).score, float)
        approach.must_slope(float(self.widths[-1].max()), theta, scores)

    def _birth_death(self, z: np.ndarray, path: np.ndarray) -> int:
        place = approach.birth_death(z, path, self.rng)
        self.y, self.log_prob = self.y[place], self.log_prob[place]
        self.score, self.log_step = self.score[place], self.log_step[place]
        return int((place != np.arange(self.count)).sum())

    def _rounds(self) -> None:
        for n in range(self.number, self.budget.rounds):
            self.number = n
            chunks, thin = self._length(n)
            label = f"round {n + 1}"
            rate = 0.7 if n < 2 else 0.3
            if self.stage == 0:
                # a step that fell in the approach says nothing of the target
                step = max(np.median(self.log_step), np.log(TRAJECTORY / LEAPS))
                self.advance(label, 1, step, rate=rate, pooled=False, local=self.local)
                self.stage = 1
            while self.stage < FROZEN:
                self._tune(label, 1, rate=0.2)
                self.stage += 1
            # 0.2 makes up for the jitter of frozen steps
            seen = self._tune(label, chunks, shift=0.2, thin=thin, jumps=self.jumps)
            self.log_step = self.log_step - 0.2
            self.stage, found = 0, self._points(seen)
            independent = self._judge(seen, found, thin)
            if passed(self.checks):
                return
            # a budget that somebody has named is used to its end
            if self.budget.max_evaluations is None and 2 * self.evaluations > budget.EVALUATIONS:
                return
            self._learn(found, max(independent, self.count))
            mixed = self.checks[0].passed
            if n < BIRTH_DEATHS and not mixed:
                self._birth_death(seen.z[-1], seen.log_prob.mean(0, keepdims=True))
            self.jumps = self.jumps or not mixed
            self.local = self.local or uneven(seen)

    def _length(self, n: int) -> tuple[int, int]:
        """How many chunks a round has, and how many moves there are from one record to the next."""
        chunks, thin = (2 << n, 1) if n < 3 else (8, 1 << (n - 2))
        return max(chunks, -(-self.budget.records(self.count) // RECORDS)), thin

    def _judge(self, seen: Round, found: Points, thin: int) -> float:
        """Check a round, and keep it; how many independent points it is worth."""
        own = seen._replace(y=found.theta, log_prob=found.log_prob)
        if is_flat(found.theta, found.score).any():  # which mixed directions would hide
            own = own._replace(z=found.theta, g=found.score)
        self.checks, independent = measure(own, self.names, self.budget.error)
        self.finished, self.thin = own, thin
        if passed(self.checks):
            self.checks += arviz_checks(own, self.names)
        return independent

    def _cut_short(self, spent: str) -> None:
        """Judge the part of a frozen round that there is, unless an earlier one was longer."""
        if spent:
            self.notes.append(f"{spent} ended the run in its {self.phase}")
        _, thin = self._length(self.number)
        before = 0 if self.finished is None else len(self.finished.log_prob) * self.thin
        if self.stage == FROZEN and RECORDS * len(self.records) * thin > before:
            seen = self._collect()
            self._judge(seen, self._points(seen), thin)

    def _points(self, seen: Round) -> Points:
        """The records of a round as θ, with the density and the scores there."""
        straight = self.origin + seen.y @ self.base.T
        scores = seen.g @ np.linalg.inv(self.base @ self.factor)
        return bend.bend_points(self.bend, Points(straight, seen.log_prob, scores))

    def _learn(self, found: Points, independent: float) -> None:
        """A bend from a round, over to its coordinates, and a metric there."""
        self.bend = bend.learn(found.theta, found.score)
        straight = bend.straighten_points(self.bend, found)
        y = (straight.theta - self.origin) @ np.linalg.inv(self.base).T
        scores = straight.score @ self.base
        self.y, self.log_prob, self.score = y[-1], straight.log_prob[-1], scores[-1]
        y, scores = y.reshape(-1, self.size), scores.reshape(-1, self.size)
        self.middle, self.factor = metric.learn(y, scores, independent)

    def _tune(self, label: str, chunks: int, shift: float = 0.0, **tuning: Any) -> Round:
        """Moves with one step for all, and as many leapfrogs as make a trajectory of it."""
        log_step = float(np.median(self.log_step))
        leaps = int(np.clip(np.ceil(TRAJECTORY / np.exp(log_step)), 1, LEAPS))
        tuning = {"leaps": leaps, "local": self.local, **tuning}
        return self.advance(label, chunks, log_step + shift, **tuning)

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
