"""How many particles, which step and how many steps, for a budget of gradients.

The overall bound has three terms. Measured errors have the same three parts, with constants that
the bound knows only up to large factors, so they are fitted to a few short runs, the pilot:

    error(M, h, T) = a/√M + b exp(-c T h) + e h

a is what finitely many particles cost, b and c how far off the start is and how fast it is
forgotten, e what the step costs. For a budget M T ≤ G and a given M the best step is

    h = log(b c T/e) / (c T),        T = G/M,

cut off at the largest step that the pilot has tried; the best M is found by trying them all.

    from spos import theory

    tried = theory.pilot(log_prob, start, error, beta=1.0)
    chosen = theory.plan(100_000, tried)
    chosen.particles, chosen.step_size, chosen.steps        # or None, and chosen.why

The model is a sketch: errors do not add up exactly, and a start is forgotten at more than one rate.
Each measured error is therefore believed to `DOUBT` of itself at best, and where the fit misses the
pilot by more than `MISFIT`, or leaves a parameter open, there is no recommendation, but a reason.
A budget counts gradients. The kernel sums, M² a step, come on top.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.algorithms.spos import spos
from spos.interaction.kernels import Kernel, rbf
from spos.loop import run
from spos.types import Particles

DOUBT = 0.05  # of a measured error: how far the model itself is believed
MISFIT = 0.25  # root mean square of the relative residuals, at most
LOOSE = 0.5  # relative standard error of a, b or c, at most
_PARAMETERS = ("a", "b", "c", "e")
_ADVICE = {
    "a": "more particles did not clearly help in the pilot; add trials with fewer",
    "b": "hardly a trial still felt its start; add trials with fewer steps",
    "c": "too few trials saw the start being forgotten; add trials with fewer steps",
}

Start = Callable[[jax.Array, int], Particles]  # (key, M): where M particles begin
Error = Callable[[Particles], jax.Array]  # how wrong one cloud is, a number of at least 0


class Trial(NamedTuple):
    """The mean error of some runs at one setting, and its standard error."""

    particles: int
    step_size: float
    steps: int
    error: float
    se: float


@dataclass(frozen=True)
class Pilot:
    """Measured errors at several settings. One with an error that is not finite has diverged."""

    trials: Sequence[Trial]

    def __post_init__(self) -> None:
        for n, trial in enumerate(self.trials):
            checks.whole(f"trials[{n}].particles", trial.particles)
            checks.positive(f"trials[{n}].step_size", trial.step_size)
            checks.whole(f"trials[{n}].steps", trial.steps)
            sound = trial.error >= 0 and 0 <= trial.se < math.inf
            if math.isfinite(trial.error) and not sound:
                raise ValueError(f"trials[{n}] must have an error and se of at least 0: {trial}")


@dataclass(frozen=True)
class ErrorModel:
    """a/√M + b exp(-c T h) + e h, and how well it is known.

    se: standard errors by name; nan for one that the fit puts at 0, the edge of what is allowed.
    misfit: root mean square of (model - measured)/measured over the pilot.
    residuals: those numbers, one for each trial that did not diverge.
    """

    a: float
    b: float
    c: float
    e: float
    se: dict[str, float]
    misfit: float
    residuals: tuple[float, ...]

    def __call__(self, particles: Any, step_size: Any, steps: Any) -> Any:
        tau = np.multiply(steps, step_size)
        return self.a / np.sqrt(particles) + self.b * np.exp(-self.c * tau) + self.e * step_size


@dataclass(frozen=True)
class Plan:
    """What to run, and the error to expect; or none of it, and why."""

    particles: int | None
    step_size: float | None
    steps: int | None
    expected: float | None
    model: ErrorModel | None
    why: str

    @property
    def trusted(self) -> bool:
        return not self.why


def pilot(
    log_prob: Any,
    start: Start,
    error: Error,
    *,
    beta: float = 1.0,
    kernel: Kernel | None = rbf(),  # noqa: B008 (immutable)
    particles: Sequence[int] = (5, 20, 80),
    step_sizes: Sequence[float] = (0.02, 0.06, 0.2),
    steps: Sequence[int] = (5, 15, 45, 135),
    repeats: int = 32,
    seed: int = 0,
) -> Pilot:
    """Measure the error of short runs of SPOS at all these settings.

    start: `start(key, M)` draws M particles.
    error: how wrong a cloud of particles is, against a truth that is known or comes from one long
        run: |mean of f - truth|, say, or a distance to a reference sample.
    steps: one run is looked at after each of these, so the longest alone sets the cost.
    """
    for name, values in (("particles", particles), ("step_sizes", step_sizes), ("steps", steps)):
        if not len(values):
            raise ValueError(f"{name} must hold at least one value, got none")
    checks.whole("repeats", repeats, at_least=2)
    key, found = jax.random.key(seed), []
    for count in particles:
        # each size has random numbers of its own; the steps of a size share theirs
        keys = jax.random.split(jax.random.fold_in(key, count), repeats)
        seen = _errors(log_prob, start, error, beta, kernel, count, step_sizes, steps, keys)
        means, ses = seen.mean(0), seen.std(0, ddof=1) / math.sqrt(repeats)
        found += [
            Trial(int(count), float(h), int(t), float(means[i, j]), float(ses[i, j]))
            for i, h in enumerate(step_sizes)
            for j, t in enumerate(steps)
        ]
    return Pilot(tuple(found))


def _errors(log_prob, start, error, beta, kernel, count, step_sizes, steps, keys) -> np.ndarray:
    """Errors of shape (repeat, step size, number of steps), in one program."""
    when = np.asarray([checks.whole("steps", t) for t in steps]) - 1

    def one(key: jax.Array, step_size: jax.Array) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        sampler = spos(log_prob, step_size, beta, kernel=kernel)
        _, path = run(
            sampler,
            run_key,
            start(start_key, count),
            int(when.max()) + 1,
            observe=lambda state, info: state.particles,
        )
        return jax.vmap(error)(jax.tree.map(lambda leaf: leaf[when], path))

    sizes = jnp.asarray([checks.positive("step_sizes", h) for h in step_sizes])
    # repeats take turns, so that memory does not grow with their number
    program = jax.jit(lambda all_keys: jax.lax.map(lambda k: jax.vmap(one, (None, 0))(k, sizes),
                                                   all_keys, batch_size=32))  # fmt: skip
    return np.asarray(program(keys), np.float64)


def plan(budget: int, pilot: Pilot) -> Plan:
    """The M, h and T with the least error that M T ≤ budget allows, by a model fitted to a pilot.

    `why` says what is missing where the pilot does not support a recommendation.
    """
    budget = checks.whole("budget", budget)
    usable = [t for t in pilot.trials if math.isfinite(t.error)]
    diverged = {t.step_size for t in pilot.trials if not math.isfinite(t.error)}
    if why := _too_little(usable):
        return Plan(None, None, None, None, None, why)
    model = fit(usable)
    if why := _open_questions(model):
        return Plan(None, None, None, None, model, why)
    # a step that diverged at one setting is trusted at none, nor is any that is larger
    stable = [t.step_size for t in usable if t.step_size < min(diverged, default=math.inf)]
    if not stable:
        why = "the smallest step diverged in the pilot; add trials with smaller ones"
        return Plan(None, None, None, None, model, why)
    particles, step_size, steps = _best(model, budget, max(stable))
    expected = float(model(particles, step_size, steps))
    return Plan(particles, step_size, steps, expected, model, "")


def fit(trials: Sequence[Trial]) -> ErrorModel:
    """Least squares with a, b, c, e ≥ 0. For a given c the rest is linear, so c is searched for."""
    count, h, steps, error, se = (np.asarray(column, float) for column in zip(*trials, strict=True))
    tau = steps * h
    sigma = np.maximum(np.hypot(se, DOUBT * error), np.finfo(float).tiny)

    def columns(c: float) -> np.ndarray:
        return np.stack([count**-0.5, np.exp(-c * tau), h], axis=1) / sigma[:, None]

    def cost(c: float) -> tuple[float, np.ndarray]:
        return _non_negative(columns(c), error / sigma)

    low, high = 0.1 / tau.max(), 10 / tau.min()
    for _ in range(6):  # each round looks more closely around the best
        grid = np.geomspace(low, high, 60)
        best = int(np.argmin([cost(c)[0] for c in grid]))
        c, (low, high) = float(grid[best]), grid[[max(best - 1, 0), min(best + 1, 59)]]
    misfit, (a, b, e) = cost(c)
    # what the residuals say of the parameters, by the slope of the model in each that is not at 0
    slopes = dict(zip("abe", columns(c).T, strict=True))
    slopes["c"] = -b * tau * slopes["b"]
    values = {"a": float(a), "b": float(b), "c": c, "e": float(e)}
    free = [name for name in _PARAMETERS if values[name] > 0 and (name != "c" or b > 0)]
    jacobian = np.stack([slopes[name] for name in free], axis=1)
    spread = max(1.0, misfit / max(len(trials) - len(free), 1))
    deviations = np.sqrt(np.diag(np.linalg.pinv(jacobian.T @ jacobian)) * spread)
    known = dict(zip(free, deviations.tolist(), strict=True))
    made = ErrorModel(**values, se={n: known.get(n, math.nan) for n in _PARAMETERS},
                      misfit=0.0, residuals=())  # fmt: skip
    residuals = (made(count, h, steps) - error) / np.maximum(error, np.finfo(float).tiny)
    rms = float(np.sqrt(np.mean(residuals**2)))
    return ErrorModel(**values, se=made.se, misfit=rms, residuals=tuple(residuals.tolist()))


def _non_negative(matrix: np.ndarray, values: np.ndarray) -> tuple[float, np.ndarray]:
    """Least squares without negative coefficients, by trying which of the three are zero."""
    best, found = float(values @ values), np.zeros(matrix.shape[1])
    for size in range(1, matrix.shape[1] + 1):
        for chosen in map(list, itertools.combinations(range(matrix.shape[1]), size)):
            weights = np.linalg.lstsq(matrix[:, chosen], values, rcond=None)[0]
            left = values - matrix[:, chosen] @ weights
            if (weights >= 0).all() and left @ left < best:
                best, found = float(left @ left), np.zeros(matrix.shape[1])
                found[chosen] = weights
    return best, found


def _too_little(trials: Sequence[Trial]) -> str:
    """What a pilot lacks for four parameters to be told apart, or nothing."""
    if len(trials) < 6:
        return f"the pilot has {len(trials)} trials with a finite error; the fit needs 6"
    for name, values, least in (
        ("numbers of particles", {t.particles for t in trials}, 2),
        ("step sizes", {t.step_size for t in trials}, 2),
        ("times T h", {round(t.steps * t.step_size, 12) for t in trials}, 3),
    ):
        if len(values) < least:
            return f"the pilot has {len(values)} different {name}; the fit needs {least}"
    return ""


def _open_questions(model: ErrorModel) -> str:
    """Why a fitted model should not be followed, or nothing."""
    if model.misfit > MISFIT:
        return (
            f"the model misses the pilot's errors by {model.misfit:.0%}, more than {MISFIT:.0%}: "
            "they do not follow a/sqrt(M) + b exp(-c T h) + e h"
        )
    for name, advice in _ADVICE.items():
        value, se = getattr(model, name), model.se[name]
        if not se <= LOOSE * value:  # also where the fit puts it at 0 and there is no se
            return f"{name} = {value:.2g} is known only to ± {se:.1g}: {advice}"
    return ""


def _best(model: ErrorModel, budget: int, largest_step: float) -> tuple[int, float, int]:
    """The minimum over all M, each with its best step."""
    particles = np.unique(np.geomspace(1, budget, 2000).astype(np.int64))
    steps = budget // particles
    rate = model.c * steps
    free = np.full(len(rate), np.inf)  # a step that costs nothing can be as large as any tried
    if model.e > 0:
        free = np.log(model.b * rate / model.e) / rate
    # where no step is worth its error, a budget is too small for so many particles: not chosen
    step_size = np.where(free > 0, np.minimum(free, largest_step), largest_step)
    best = int(np.argmin(model(particles, step_size, steps)))
    return int(particles[best]), float(step_size[best]), int(steps[best])
