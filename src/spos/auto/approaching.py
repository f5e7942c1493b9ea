"""The host's part of the approach: what `spos.auto.approach` computes, one chunk after another."""

import numpy as np

from spos.auto import approach, metric, state
from spos.auto.engine import MOVES
from spos.auto.judge import Round
from spos.auto.moving import Moving

BIRTH_DEATHS = 3


class Approaching(Moving):
    """A state that finds where the density is."""

    def _climb(self) -> None:
        if not approach.is_far(self.score @ self.factor):
            return
        for _ in range(approach.CLIMBS):
            before = self.log_prob
            newton = self.score @ self.factor @ self.factor.T
            self.y = approach.climb(self.y, before, newton, lambda there: self._look(there)[0])
            self._refresh()
            near = not approach.is_far(self.score @ self.factor, approach.NEAR)
            if near or np.median(self.log_prob - before) < approach.GAIN:
                return

    def _approach(self) -> None:
        if self.chunks == 0:
            self._climb()
        for n in range(self.number, approach.APPROACHES):
            self.number = n
            # differences of particles reach out faster than steps
            jumps = n > 4 and approach.grows(self.widths)
            seen = self.advance(
                "approach", MOVES, self.log_step, rate=0.7, pooled=False, jumps=jumps
            )
            late = Round(*(part[-10:] for part in seen))
            best = np.argsort(late.log_prob.ravel())[late.log_prob.size // 2 :]
            z, g = (part.reshape(-1, self.size)[best] for part in (late.z, late.g))
            _, more = metric.learn(z, g, self.count)
            self.factor = self.factor @ more
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
                f"the approach had not settled after {approach.APPROACHES * MOVES} moves"
            )
        if self.moved:
            self.notes.append(f"before sampling, birth-death moved {self.moved} particles")
        self.phase, self.number = state.ROUNDS, 0

    def _must_be_proper(self) -> None:
        theta = self.origin + self.y @ self.base.T
        scores = np.asarray(self._evaluate(theta).score, float)
        starts = np.linalg.norm(self.base, axis=1)  # their standard deviations
        approach.must_slope(theta.std(0) / starts, theta, scores)

    def _birth_death(self, z: np.ndarray, path: np.ndarray, unsure: float = 1.0) -> int:
        place = approach.birth_death(z, path, self.rng, unsure)
        self._put(place)
        return int((place != np.arange(self.count)).sum())

    def _put(self, place: np.ndarray) -> None:
        """Every particle to where another one stands."""
        self.y, self.log_prob = self.y[place], self.log_prob[place]
        self.score, self.log_step = self.score[place], self.log_step[place]
