"""A run with minibatches: find the mode, measure the noise, walk, judge, and if need be again.

Particles begin as draws of the normal law at the mode. Two clouds walk (`spos.sgld`), one with a
step and, in the same time, one with twice as many of its half; the first part of each is dropped.
Time is counted in relaxations of that normal law, of which a step h takes h. A round whose bias is
too large is repeated with half the step, one whose errors are too large is followed by one twice as
long.
"""

import math
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.algorithms.sgld import sgld
from spos.auto.result import Adapted, Fit
from spos.auto.tall.judge import checks_of
from spos.auto.tall.noise import Centred, centred, largest_noise, step_size
from spos.auto.tall.place import NoModeError, look
from spos.auto.verdict import Check, Verdict
from spos.auto.watch import Callback, FitProgress, Stopped
from spos.io import progress as progress_line
from spos.loop.run import run
from spos.programs import compiled
from spos.result import versions
from spos.targets.target import Target
from spos.types import Info, Particles, State

BURN_IN, LENGTH = 5.0, 60.0  # relaxations of the normal law at the mode
RECORDS, CHUNKS, ROUNDS = 100, 10, 4


def fit_tall(
    target: Target,
    first: Particles,
    num_examples: int,
    batch_size: int,
    seed: int,
    show: bool | None = None,
    callback: Callback | None = None,
    max_seconds: float | None = None,
) -> Fit:
    """Draws of a posterior from minibatches, with a verdict.

    Args:
        target: one with minibatches.
        first: particles; as many are returned, and some are starts of the search for the mode.
        num_examples: N.
        batch_size: B.
        seed: the same seed gives the same bits.
        show: a progress line.
        callback: called after every chunk of steps.
        max_seconds: ends the run, after the chunk of steps in which they have passed.

    Returns:
        The draws, those of the half step.

    Raises:
        NoModeError: there is no mode to work around.
    """
    began = time.monotonic()
    place = look(target, first, num_examples, batch_size, seed)
    like = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), first)
    around = centred(target, like, place)
    count, size = len(jax.tree.leaves(first)[0]), len(place.centre)
    z = np.random.default_rng(seed).normal(size=(count, size))
    noise = largest_noise(around, z, seed)
    ends = math.inf if max_seconds is None else began + max_seconds
    walk = _Walk(around, z, step_size(noise), seed, show, callback, ends)
    checks: list[Check] = []
    interrupted, length = False, LENGTH
    try:
        for number in range(ROUNDS):
            coarse, kept = walk.round(number, length)
            noise = largest_noise(around, kept[-1], seed + 1)
            checks = checks_of(kept, coarse, noise, walk.step / 2, place)
            walk.checks = checks
            failed = {check.name for check in checks if not check.passed}
            if not failed - {"one mode", "mode"} or not np.isfinite(kept).all():
                break
            if failed & {"bias by step", "bias by noise"} and number < 2:
                walk.step /= 2
            else:
                length *= 2
    except (KeyboardInterrupt, Stopped):
        interrupted = True
    finally:
        walk.close()
    history = around.unflatten(jnp.asarray(walk.kept.reshape(-1, size)))
    records = len(walk.kept)
    history = jax.tree.map(
        lambda leaf: np.asarray(leaf).reshape(records, count, *leaf.shape[1:]), history
    )
    rows = (count + 1) * batch_size * (walk.steps + walk.steps // 2)
    passes = place.passes + -(-rows // num_examples)
    note = (
        f"minibatches of {batch_size:,} of {num_examples:,} rows, step {walk.step / 2:.2g} "
        f"(and its double beside it), {count} particles: gradients of as many rows as "
        f"{passes:,} of the whole log-density"
    )
    return Fit(
        particles=jax.tree.map(lambda leaf: jnp.asarray(leaf[-1]), history),
        info={},
        history=history,
        history_every=walk.every,
        settings={
            "algorithm": "fit with minibatches",
            "target": target.settings,
            "step_size": walk.step / 2,
            "batch_size": batch_size,
            "seed": seed,
        },
        versions=versions(),
        num_steps=walk.steps,
        seconds=time.monotonic() - began,
        interrupted=interrupted,
        draws=jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), history),
        verdict=Verdict(tuple(checks), (note,), interrupted),
        evaluations=passes,
        adapted=Adapted(place.centre, place.factor, float(np.log(walk.step)), 0, False),
    )


class _Walk:
    """Two clouds, with a step and its half, that go on from round to round."""

    def __init__(
        self,
        target: Centred,
        z: np.ndarray,
        step: float,
        seed: int,
        show: bool | None,
        callback: Callback | None,
        ends: float,
    ) -> None:
        self.target, self.step, self.key = target, step, jax.random.key(seed)
        self.callback, self.ends = callback, ends
        self.checks: list[Check] = []
        start = jnp.asarray(z, jnp.float32)
        self.coarse, self.fine = (_begin(target, h, start) for h in self.both_steps)
        self.kept = np.asarray(start)[None]
        self.steps, self.every = 0, 1
        self.bar = None
        if progress_line.wanted(show):
            most = round((LENGTH + BURN_IN) / self.step * 2)  # of the first round
            self.bar = progress_line.Progress("fit with minibatches", most)

    @property
    def both_steps(self) -> np.ndarray:
        """The step and its half."""
        return np.asarray([self.step, self.step / 2], np.float32)

    def round(self, number: int, length: float) -> tuple[np.ndarray, np.ndarray]:
        """Records of the run with the step, and of that with its half."""
        steps = self.both_steps
        self.every = 2 * max(1, round(length / float(steps[0]) / RECORDS))
        lost = round(BURN_IN / float(steps[1]) / self.every) + 1
        for _ in range(-(-lost * CHUNKS // RECORDS)):  # in chunks, which share one program
            self._advance(f"burn-in {number + 1}", steps)
        parts = [self._advance(f"round {number + 1}", steps) for _ in range(CHUNKS)]
        coarse, self.kept = (np.concatenate(each) for each in zip(*parts, strict=True))
        return coarse, self.kept

    def _advance(self, phase: str, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Records of both, that many steps of the half one apart."""
        records = RECORDS // CHUNKS
        num_steps = records * self.every
        fixed = self.target, self.key
        self.coarse, rough = _walk(records, self.every // 2, *fixed, steps[0], self.coarse)
        self.fine, smooth = _walk(records, self.every, *fixed, steps[1], self.fine)
        found = np.asarray(rough), np.asarray(smooth)
        if not all(np.isfinite(each[-1]).all() for each in found):
            raise NoModeError(
                "a particle left all finite numbers: the posterior is far from a normal law around "
                "its mode; leave out batch_size"
            )
        self.steps += num_steps
        if self.bar is not None:
            self.bar.update(self.steps)
        if self.callback is not None:
            nothing = np.full(found[0].shape[1], np.nan)
            told = FitProgress(phase, self.steps, nothing, nothing, tuple(self.checks))
            if self.callback(told):
                raise Stopped
        if time.monotonic() > self.ends:
            raise Stopped
        return found

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


@compiled()
def _begin(target: Centred, step: Any, start: jax.Array) -> State:
    return sgld(target, step).init(start)


@compiled(2)
def _walk(
    records: int, every: int, target: Centred, key: jax.Array, step: Any, state: State
) -> tuple[State, jax.Array]:
    """A cloud goes on, and where it was every so many steps."""

    def seen(state: State, info: Info) -> jax.Array:
        return state.particles

    sampler = sgld(target, step)
    return run(sampler, key, None, records * every, state=state, every=every, observe=seen)
