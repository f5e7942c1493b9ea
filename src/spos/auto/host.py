"""The host's part of an automatic run: approach, then rounds of doubling length until one passes.

Every round first tunes the step (and with it the number of leapfrogs) and then freezes everything,
so that what is kept of it is exact Markov chain Monte Carlo. A round that fails a check teaches the
next one its bend and metric; one in which particles stay apart switches on jumps, one in which the
scale of the density changes from place to place steps that fit the place. The round that passes, or
the last one when the budget ends, is the result. y are straight coordinates in the starts' units.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.algorithms.automatic import kernel_weight
from spos.auto import approach, metric
from spos.auto import bend as bends
from spos.auto.engine import RECORDS, Cloud, Frame, Problem, Tuning, chunk, evaluate
from spos.auto.judge import Round, arviz_checks, arviz_stats, measure, passed, uneven
from spos.auto.result import AutomaticResult
from spos.auto.verdict import Check, Verdict
from spos.io import progress as progress_line
from spos.names import parameters
from spos.result import versions
from spos.targets.target import check_target
from spos.types import Particles, Sampler

TRAJECTORY, LEAPS = 1.5, 64  # whitened length between two refreshments of the noise
BIRTH_DEATHS, ROUNDS = 3, 9
BUDGET = 10_000_000  # evaluations of the log-density


class ConvergenceWarning(UserWarning):
    """The draws of an automatic run failed a check; `result.report()` says which."""


def warn(verdict: Verdict, stacklevel: int) -> None:
    message = f"not converged. {'; '.join(verdict.reasons)}. See result.report()"
    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)


def sample_automatically(
    sampler: Sampler,
    particles: Particles,
    *,
    seed: int = 0,
    progress: bool | None = None,
    redraw: Callable[[int], Particles] | None = None,
) -> AutomaticResult:
    """See `spos.sample`. `redraw(n)` gives other particles to start from."""
    arviz_stats()
    particles = checks.particles(particles)
    check_target(sampler.target, particles)
    must_be_exact(sampler)
    return _Run(sampler, particles, seed, redraw).go(progress)


def must_be_exact(sampler: Sampler) -> None:
    """A Metropolis test needs the log-density itself."""
    target = sampler.target
    first = jnp.zeros((), jnp.int32)
    batches = [target.draw(jax.random.key(seed), first, target.data) for seed in (0, 1)]
    pairs = zip(*map(jax.tree.leaves, batches), strict=True)
    if hasattr(target, "estimator") or not all(np.array_equal(a, b) for a, b in pairs):
        raise ValueError(
            "target must be the exact log-density for an automatic step_size, got one that is "
            "estimated from minibatches: use all the data, or give step_size and num_steps"
        )


class _Run:
    """One call: what is fixed by the starts, and the cloud in their coordinates y."""

    def __init__(self, sampler, particles, seed, redraw) -> None:
        self.began = time.monotonic()
        self.sampler, self.seed, self.data = sampler, seed, sampler.target.data
        self.key, self.rng = jax.random.key(seed), np.random.default_rng(seed)
        leaves, structure = jax.tree.flatten(particles)
        self.problem = Problem(
            *(sampler, structure, tuple(leaf.shape[1:] for leaf in leaves)),
            *(tuple(leaf.dtype for leaf in leaves), kernel_weight(sampler)),
        )
        self.names, theta = parameters(particles)
        theta = approach.two_halves(theta)
        self.count, self.size = theta.shape
        self.notes: list[str] = []
        self.bend: bends.Bend | None = None
        self.evaluations = self.chunks = self.moves = 0
        self.bar: progress_line.Progress | None = None
        again = None if redraw is None else lambda n: approach.two_halves(parameters(redraw(n))[1])
        theta, original = approach.finite_starts(theta, self._log_prob, again, self.rng)
        theta = approach.parted(theta, self.rng)
        if copies := int((~original).sum()):
            self.notes.append(f"{copies} starts without a finite density were replaced by others")
        self.origin, self.base = metric.start_frame(theta[original])
        self.y = np.linalg.solve(self.base, (theta - self.origin).T).T
        self._refresh()
        self.log_step = np.full(self.count, -0.25 * np.log(self.size))
        self.finished: tuple[Round, int] | None = None  # the last round and its thinning
        self.checks: list[Check] = []

    def _log_prob(self, theta: np.ndarray) -> np.ndarray:
        self.evaluations += self.count
        frame = self._as_frame(np.zeros(self.size), np.eye(self.size))
        return np.asarray(evaluate(self.problem, self.data, frame, self._array(theta)).log_prob)

    def _look(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Density and score at y."""
        frame = self._as_frame(self.origin, self.base)
        cloud = evaluate(self.problem, self.data, frame, self._array(y))
        self.evaluations += self.count
        log_prob, score = (np.asarray(x, float) for x in cloud[1:])
        return log_prob, score

    def _refresh(self) -> None:
        """Density and score at the present y, and a first metric from the better half."""
        self.log_prob, self.score = self._look(self.y)
        best = np.argsort(self.log_prob)[self.count // 2 :]
        self.middle, self.factor = metric.learn(self.y[best], self.score[best], len(best))
        self.middle = self.y.mean(0)

    def _array(self, values: Any) -> jax.Array:
        return jnp.asarray(values, self.problem.dtype)

    def _as_frame(self, centre: np.ndarray, factor: np.ndarray) -> Frame:
        bend = None if self.bend is None else bends.Bend(*map(self._array, self.bend))
        return Frame(self._array(centre), self._array(factor), bend)

    def advance(self, label: str, chunks: int, log_step: Any, **tuning: Any) -> Round:
        """So many chunks from y in the present metric; y, its density and the steps follow."""
        inverse = np.linalg.inv(self.factor)
        z = (self.y - self.middle) @ inverse.T
        cloud = Cloud(*map(self._array, (z, self.log_prob, self.score @ self.factor)))
        frame = self._as_frame(self.origin + self.base @ self.middle, self.base @ self.factor)
        steps = self._array(np.broadcast_to(log_step, self.count))
        plan = Tuning(steps, **tuning)
        plan = plan._replace(rate=self._array(plan.rate))
        parts = []
        for _ in range(chunks):
            key = jax.random.fold_in(self.key, self.chunks)
            cloud, steps, records = chunk(
                *(self.problem, self.data, frame, key, cloud, plan._replace(log_step=steps))
            )
            parts.append([np.asarray(leaf, float) for leaf in records])
            self.chunks += 1
            self.moves += RECORDS * int(plan.thin)
            per_move = int(plan.leaps) + bool(plan.jumps)
            self.evaluations += RECORDS * int(plan.thin) * per_move * self.count
            self._show(label)
        z, log_prob, g, acceptance = (np.concatenate(part) for part in zip(*parts, strict=True))
        y = self.middle + z @ self.factor.T
        if not np.isfinite(y).all():
            raise approach.ImproperError(approach.ENDLESS)
        self.y, self.log_prob, self.score = y[-1], log_prob[-1], g[-1] @ inverse
        self.log_step = np.asarray(steps, float)
        return Round(y, log_prob, z, g, acceptance)

    def go(self, show: bool | None) -> AutomaticResult:
        if progress_line.wanted(show):
            self.bar = progress_line.Progress(self.sampler.settings["algorithm"], BUDGET)
        interrupted = False
        try:
            self._approach()
            self._rounds()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            if self.bar is not None:
                self.bar.close()
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
        self._climb()
        times = total = 0
        widths = []
        for n in range(approach.APPROACHES):
            seen = self.advance("approach", 1, self.log_step, rate=0.7, pooled=False)
            late = Round(*(part[-10:] for part in seen))
            best = np.argsort(late.log_prob.ravel())[late.log_prob.size // 2 :]
            y, g = (part.reshape(-1, self.size)[best] for part in (late.y, late.g))
            _, self.factor = metric.learn(y, g @ np.linalg.inv(self.factor), self.count)
            self.middle = self.y.mean(0)
            widths.append(approach.widths(self.y))
            approach.must_end(widths)
            if n < 4:
                continue
            moved = self._birth_death(seen.z[-1], late.log_prob) if times < BIRTH_DEATHS else 0
            times, total = times + bool(moved), total + moved
            if not moved and approach.settled(seen.log_prob, self.size, widths):
                break
        else:
            self.notes.append(f"the approach had not settled after {len(widths) * RECORDS} moves")
        if total:
            self.notes.append(f"before sampling, birth-death moved {total} particles")

    def _birth_death(self, z: np.ndarray, path: np.ndarray) -> int:
        place = approach.birth_death(z, path, self.rng)
        self.y, self.log_prob = self.y[place], self.log_prob[place]
        self.score, self.log_step = self.score[place], self.log_step[place]
        return int((place != np.arange(self.count)).sum())

    def _rounds(self) -> None:
        jumps = local = False
        for n in range(ROUNDS):
            chunks, thin = (2 << n, 1) if n < 3 else (8, 1 << (n - 2))
            label = f"round {n + 1}"
            rate = 0.7 if n < 2 else 0.3
            # a step that fell in the approach says nothing of the target
            step = max(np.median(self.log_step), np.log(TRAJECTORY / LEAPS))
            self.advance(label, 1, step, rate=rate, pooled=False, local=local)
            for _ in range(2):
                self._tune(label, 1, rate=0.2, local=local)
            # 0.2 makes up for the shaking of frozen steps
            seen = self._tune(label, chunks, shift=0.2, thin=thin, jumps=jumps, local=local)
            self.log_step = self.log_step - 0.2
            scores = seen.g @ np.linalg.inv(self.base @ self.factor)
            straight = self.origin + seen.y @ self.base.T
            theta, log_prob, scores = bends.as_it_is(self.bend, straight, seen.log_prob, scores)
            own = seen._replace(y=theta, log_prob=log_prob)
            self.checks, independent = measure(own, self.names)
            self.finished = own, thin
            if passed(self.checks):
                self.checks += arviz_checks(own, self.names)
                if passed(self.checks):
                    return
            if 2 * self.evaluations > BUDGET:
                return
            independent = max(independent, self.count)
            self.middle, self.factor = self._straighten(theta, log_prob, scores, independent)
            if n < BIRTH_DEATHS and not self.checks[0].passed:
                self._birth_death(seen.z[-1], seen.log_prob.mean(0, keepdims=True))
            jumps = jumps or not self.checks[0].passed
            local = local or uneven(seen)

    def _straighten(self, theta, log_prob, scores, independent) -> tuple[np.ndarray, np.ndarray]:
        """Learn a bend from a round, go over to its coordinates, and learn a metric there."""
        self.bend = bends.learn(theta, scores)
        if self.bend is not None:
            theta, scores, more = bends.straightened(self.bend, theta, scores)
            log_prob = log_prob + more
        y, scores = (theta - self.origin) @ np.linalg.inv(self.base).T, scores @ self.base
        self.y, self.log_prob, self.score = y[-1], log_prob[-1], scores[-1]
        flat = (part.reshape(-1, self.size) for part in (y, scores))
        return metric.learn(*flat, independent)

    def _tune(self, label: str, chunks: int, shift: float = 0.0, **tuning: Any) -> Round:
        """Moves with one step for all, and as many leapfrogs as make a trajectory of it."""
        log_step = float(np.median(self.log_step))
        leaps = int(np.clip(np.ceil(TRAJECTORY / np.exp(log_step)), 1, LEAPS))
        return self.advance(label, chunks, log_step + shift, leaps=leaps, **tuning)

    def _show(self, label: str) -> None:
        if self.bar is not None:
            self.bar.label = f"{self.sampler.settings['algorithm']} {label}"
            error = {check.name: check.value for check in self.checks}.get("precision", np.nan)
            self.bar.update(min(self.evaluations, BUDGET - 1), error=error)

    def _result(self, interrupted: bool) -> AutomaticResult:
        if self.finished is None:  # interrupted early: the cloud as it is
            nothing = np.zeros((1, self.count))
            y, score = self.y[None], self.score[None]
            early = Round(y, self.log_prob[None], y, score, nothing)
            self.finished = early._replace(y=self.origin + y @ self.base.T), 1
        seen, thin = self.finished
        if self.count < 2 * (self.size + 1):
            self.notes.append(metric.FEW.format(self.count, self.size))
        verdict = Verdict(tuple(self.checks), tuple(self.notes), interrupted)
        history = self.problem.unflatten(seen.y)
        if not verdict.converged:
            warn(verdict, stacklevel=5)
        return AutomaticResult(
            particles=jax.tree.map(lambda leaf: jnp.asarray(leaf[-1]), history),
            info={"log_prob": seen.log_prob, "acceptance": seen.acceptance},
            history=history,
            history_every=thin,
            settings={**self.sampler.settings, "num_steps": None, "seed": self.seed},
            versions=versions(),
            num_steps=self.moves,
            seconds=time.monotonic() - self.began,
            interrupted=interrupted,
            draws=jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), history),
            verdict=verdict,
            evaluations=self.evaluations,
        )
