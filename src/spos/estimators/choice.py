"""What an estimator leaves open is decided by rows that short runs did not see.

A run of a fifth of the steps on two thirds of the rows gives the other third a log-likelihood, in
the units of y, so that the slope of a bend counts. A choice replaces the one before it only if that
is larger by more than one standard error of the differences. Then the steps are doubled as long as
a short run of twice the steps is better by as much. All runs share one program.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from spos import checks
from spos.networks.looks import clearly_better
from spos.networks.rows import FEWEST_TO_SPLIT, Rows, split

AUTO = "auto"
NOISES = {  # does it vary, and has it heavy tails?
    "student_t": (True, True),
    "constant": (False, False),
    "heteroscedastic": (True, False),
}
TRANSFORMS = ("none", "yeo_johnson")
HELD_OUT, SHORTER, LOOKS = 1 / 3, 5, 10


def asked(name: str, value: str, known: Iterable[str]) -> tuple[str, ...]:
    """The values that are in question: all that are known, or the one that was asked for."""
    checks.one_of(name, value, (AUTO, *known))
    return tuple(known) if value == AUTO else (value,)


def settle(
    model: Any,
    choices: Mapping[str, Sequence[Any]],
    rows: Rows,
    num_steps: int,
    most_steps: int,
    rng: Any,
) -> int:
    """Give an estimator what it left open.

    Args:
        model: which gets an attribute for every choice.
        choices: the names of these attributes, and the values of each: the first one is taken
            unless another is clearly better.
        rows: all of them.
        num_steps: of the run that will follow, unless more are clearly better.
        most_steps: that may be taken.
        rng: splits the rows.

    Returns:
        The number of steps.
    """
    for name, values in choices.items():
        setattr(model, name, values[0])
    is_open = num_steps < most_steps or any(len(values) > 1 for values in choices.values())
    if not is_open or len(rows.y) < FEWEST_TO_SPLIT:
        return num_steps
    training, held_out = split(rows, HELD_OUT, rng)
    assert held_out is not None  # there are rows enough
    seed = int(rng.randint(2**31 - 1))
    best = _terms(model, training, held_out, num_steps, seed)
    for name, values in choices.items():
        for other in values[1:]:
            before = getattr(model, name)
            setattr(model, name, other)
            found = _terms(model, training, held_out, num_steps, seed)
            if clearly_better(found, best, held_out.weights):
                best = found
            else:
                setattr(model, name, before)
    while num_steps < most_steps:
        longer = min(2 * num_steps, most_steps)
        found = _terms(model, training, held_out, longer, seed)
        if not clearly_better(found, best, held_out.weights):
            break
        num_steps, best = longer, found
    return num_steps


def _terms(model: Any, training: Rows, held_out: Rows, num_steps: int, seed: int) -> np.ndarray:
    """The log-density of the rows that are held out, after a run shorter than `num_steps`."""

    def judge() -> np.ndarray:
        found: np.ndarray = model._log_density(held_out.x, held_out.y)
        return found

    return after_short_run(model, training, num_steps, seed, judge, average=LOOKS // 2)


def after_short_run(
    model: Any,
    training: Rows,
    num_steps: int,
    seed: int,
    judge: Callable[[], np.ndarray],
    average: int = LOOKS,
) -> np.ndarray:
    """What `judge` finds after a run shorter than `num_steps`, of which nothing is kept; the last
    `average` of its looks predict, or fewer where the model has fewer."""
    num_steps = max(1, num_steps // SHORTER)
    model.n_iter_ = 0
    model.scaling_ = model._scaling(training)
    average = min(average, model.average)
    run = model._train(training, num_steps, True, seed, last_step=0.1, looks=LOOKS, average=average)
    model.particles_ = run.particles
    found = judge()
    del model.particles_
    return found
