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
    chosen.num_particles, chosen.step_size, chosen.num_steps        # or None, and chosen.why

The model is a sketch: errors do not add up exactly, and a start is forgotten at more than one rate.
Each measured error is therefore believed to `DOUBT` of itself at best, and where the fit misses the
pilot by more than `MISFIT`, or leaves a parameter open, there is no recommendation, but a reason.
A budget counts gradients. The kernel sums, M² a step, come on top.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spos import checks
from spos.theory.arguments import of_kind
from spos.theory.pilot import Pilot, Trial

DOUBT = 0.05  # of a measured error: how far the model itself is believed
MISFIT = 0.25  # root mean square of the relative residuals, at most
LOOSE = 0.5  # relative standard error of a, b or c, at most
_PARAMETERS = ("a", "b", "c", "e")
_ADVICE = {
    "a": "more particles did not clearly help in the pilot; add trials with fewer",
    "b": "hardly a trial still felt its start; add trials with fewer steps",
    "c": "too few trials saw the start being forgotten; add trials with fewer steps",
}


@dataclass(frozen=True)
class ErrorModel:
    """a/√M + b exp(-c T h) + e h, and how well it is known.

    Attributes:
        a: what finitely many particles cost.
        b: how far off the start is.
        c: how fast it is forgotten.
        e: what the step costs.
        se: standard errors by name; nan for one that the fit puts at 0, the edge of what is
            allowed.
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

    def __call__(self, num_particles: Any, step_size: Any, num_steps: Any) -> Any:
        tau = np.multiply(num_steps, step_size)
        return self.a / np.sqrt(num_particles) + self.b * np.exp(-self.c * tau) + self.e * step_size


@dataclass(frozen=True)
class Plan:
    """What to run, and the error to expect; or none of it, and why.

    Attributes:
        num_particles: M.
        step_size: h.
        num_steps: T.
        expected: the error that the model expects.
        model: what was fitted to the pilot.
        why: what is missing; empty for a plan that can be followed.
    """

    num_particles: int | None
    step_size: float | None
    num_steps: int | None
    expected: float | None
    model: ErrorModel | None
    why: str

    @property
    def trusted(self) -> bool:
        """Does the pilot support the plan?"""
        return not self.why


def plan(budget: int, pilot: Pilot) -> Plan:
    """The M, h and T with the least error that M T ≤ budget allows, by a model fitted to a pilot.

    Args:
        budget: of gradients.
        pilot: measured errors.

    Returns:
        The plan; its `why` says what is missing where the pilot does not support one.

    Example:
        >>> spos.theory.plan(1000, spos.theory.Pilot(())).why
        'the pilot has 0 trials with a finite error; the fit needs 6'
    """
    budget = checks.whole("budget", budget)
    of_kind("pilot", pilot, Pilot)
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
        ("numbers of particles", {t.num_particles for t in trials}, 2),
        ("step sizes", {t.step_size for t in trials}, 2),
        ("times T h", {round(t.num_steps * t.step_size, 12) for t in trials}, 3),
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
