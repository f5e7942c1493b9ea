"""A pilot: the errors of a few short runs, to which `plan` fits its model.

tried = theory.pilot(log_prob, start, error, beta=1.0)
chosen = theory.plan(100_000, tried)
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.algorithms.spos import spos
from spos.interaction.kernels import Kernel, rbf
from spos.loop.run import run
from spos.targets.target import TargetLike
from spos.types import Info, Particles, State

Start = Callable[[jax.Array, int], Particles]  # (key, M): where M particles begin
Error = Callable[[Particles], jax.Array]  # how wrong one cloud is, a number of at least 0


class Trial(NamedTuple):
    """The mean error of some runs at one setting.

    Attributes:
        num_particles: M.
        step_size: h.
        num_steps: T.
        error: the mean.
        se: its standard error.
    """

    num_particles: int
    step_size: float
    num_steps: int
    error: float
    se: float


@dataclass(frozen=True)
class Pilot:
    """Measured errors at several settings.

    Attributes:
        trials: one for each setting. One with an error that is not finite has diverged.
    """

    trials: Sequence[Trial]

    def __post_init__(self) -> None:
        if not isinstance(self.trials, tuple | list):
            raise TypeError(f"trials must be a sequence of Trial, got {self.trials!r}")
        for n, trial in enumerate(self.trials):
            if not isinstance(trial, Trial):
                raise TypeError(f"trials[{n}] must be a spos.theory.Trial, got {trial!r}")
            for name in ("error", "se"):
                checks.real(f"trials[{n}].{name}", getattr(trial, name))
            checks.whole(f"trials[{n}].num_particles", trial.num_particles)
            checks.positive(f"trials[{n}].step_size", trial.step_size)
            checks.whole(f"trials[{n}].num_steps", trial.num_steps)
            sound = trial.error >= 0 and 0 <= trial.se < math.inf
            if math.isfinite(trial.error) and not sound:
                raise ValueError(f"trials[{n}] must have an error and se of at least 0: {trial}")


def pilot(
    target: TargetLike,
    start: Start,
    error: Error,
    *,
    beta: float = 1.0,
    kernel: Kernel | None = rbf(),  # noqa: B008 (immutable)
    particle_counts: Sequence[int] = (5, 20, 80),
    step_sizes: Sequence[float] = (0.02, 0.06, 0.2),
    step_counts: Sequence[int] = (5, 15, 45, 135),
    num_repeats: int = 32,
    seed: int = 0,
) -> Pilot:
    """Measure the error of short runs of SPOS at all these settings.

    Args:
        target: a log-density of one particle, or a target.
        start: `start(key, num_particles)` draws where particles begin.
        error: how wrong a cloud of particles is, against a truth that is known or comes from one
            long run: `|mean of f - truth|`, say, or a distance to a reference sample.
        beta: 1/β is the weight of Langevin drift and noise.
        kernel: of the interaction, or None for none.
        particle_counts: the numbers of particles to try.
        step_sizes: the step sizes to try.
        step_counts: one run is looked at after each of these numbers of steps, so that the largest
            alone sets the cost.
        num_repeats: runs at each setting.
        seed: of all runs.

    Returns:
        The measured errors.

    Example:
        >>> tried = spos.theory.pilot(
        ...     lambda x: -0.5 * x**2,
        ...     lambda key, num_particles: jax.random.normal(key, (num_particles,)),
        ...     lambda cloud: jnp.abs(jnp.mean(cloud)),
        ...     particle_counts=(4,), step_sizes=(0.1,), step_counts=(2, 5), num_repeats=2,
        ... )
        >>> [trial.num_steps for trial in tried.trials]
        [2, 5]
    """
    given = {
        "particle_counts": particle_counts,
        "step_sizes": step_sizes,
        "step_counts": step_counts,
    }
    for name, values in given.items():
        if not isinstance(values, tuple | list | np.ndarray):
            raise TypeError(f"{name} must be a sequence of numbers, got {values!r}")
        if not len(values):
            raise ValueError(f"{name} must hold at least one value, got none")
    checks.function("start", start)
    checks.function("error", error)
    checks.whole("num_repeats", num_repeats, at_least=2)
    checks.seed("seed", seed)
    key, found = jax.random.key(seed), []
    for count in checks.wholes("particle_counts", particle_counts):
        # each size has random numbers of its own; the steps of a size share theirs
        keys = jax.random.split(jax.random.fold_in(key, count), num_repeats)
        seen = _errors(target, start, error, beta, kernel, count, step_sizes, step_counts, keys)
        means, ses = seen.mean(0), seen.std(0, ddof=1) / math.sqrt(num_repeats)
        found += [
            Trial(int(count), float(h), int(t), float(means[i, j]), float(ses[i, j]))
            for i, h in enumerate(step_sizes)
            for j, t in enumerate(step_counts)
        ]
    return Pilot(tuple(found))


def _errors(
    target: TargetLike,
    start: Start,
    error: Error,
    beta: float,
    kernel: Kernel | None,
    num_particles: int,
    step_sizes: Sequence[float],
    step_counts: Sequence[int],
    keys: jax.Array,
) -> np.ndarray:
    """Errors of shape (repeat, step size, number of steps), in one program."""
    when = np.asarray([checks.whole("step_counts", t) for t in step_counts]) - 1

    def one(key: jax.Array, step_size: jax.Array) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        sampler = spos(target, step_size, beta, kernel=kernel)
        _, path = run(
            sampler,
            run_key,
            start(start_key, num_particles),
            int(when.max()) + 1,
            observe=_see_particles,
        )
        return jax.vmap(error)(jax.tree.map(lambda leaf: leaf[when], path))

    sizes = jnp.asarray([checks.positive("step_sizes", h) for h in step_sizes])
    # repeats take turns, so that memory does not grow with their number
    all_sizes = jax.vmap(one, (None, 0))
    program = jax.jit(lambda keys: jax.lax.map(lambda k: all_sizes(k, sizes), keys, batch_size=32))
    return np.asarray(program(keys), np.float64)


def _see_particles(state: State, info: Info) -> Particles:
    return state.particles
