"""Which noise, and whether to bend y: decided by rows that short runs did not see.

A run of a fifth of the steps on two thirds of the rows gives the other third a log-likelihood, in
the units of y, so that the slope of a bend counts. A choice replaces the one before it only if that
is larger by more than one standard error of the differences. All runs share one program.
"""

from typing import Any

import numpy as np

from spos import checks
from spos.networks.looks import clearly_better
from spos.networks.rows import FEWEST_TO_SPLIT, Rows, split

NOISES = {  # does it vary, and has it heavy tails?
    "constant": (False, False),
    "heteroscedastic": (True, False),
    "student_t": (True, True),
}
TRANSFORMS = ("none", "yeo_johnson")
AUTO = "auto"
FIRST = {"noise": "student_t", "target_transform": "none"}
OTHERS = {"target_transform": ("yeo_johnson",), "noise": ("constant", "heteroscedastic")}
HELD_OUT, SHORTER, LOOKS = 1 / 3, 5, 10


def settle(model: Any, rows: Rows, num_steps: int, rng: Any) -> None:
    """Give a regressor its `noise_` and its `target_transform_`.

    Args:
        model: with `noise` and `target_transform` as they were asked for.
        rows: all of them.
        num_steps: of the run that will follow.
        rng: splits the rows.
    """
    checks.one_of("noise", model.noise, (AUTO, *NOISES))
    checks.one_of("target_transform", model.target_transform, (AUTO, *TRANSFORMS))
    open_ = [name for name in OTHERS if getattr(model, name) == AUTO]
    for name in FIRST:
        setattr(model, f"{name}_", FIRST[name] if name in open_ else getattr(model, name))
    if not open_ or len(rows.y) < FEWEST_TO_SPLIT:
        return
    training, held_out = split(rows, HELD_OUT, rng)
    assert held_out is not None  # there are rows enough
    seed = int(rng.randint(2**31 - 1))
    num_steps = max(1, num_steps // SHORTER)
    best = _terms(model, training, held_out, num_steps, seed)
    for name in open_:
        for other in OTHERS[name]:
            before = getattr(model, f"{name}_")
            setattr(model, f"{name}_", other)
            found = _terms(model, training, held_out, num_steps, seed)
            if clearly_better(found, best, held_out.weights):
                best = found
            else:
                setattr(model, f"{name}_", before)


def _terms(model: Any, training: Rows, held_out: Rows, num_steps: int, seed: int) -> np.ndarray:
    """The log-density of the rows that are held out, after a short run."""
    model.n_iter_ = 0
    model.scaling_ = model._scaling(training)
    average = min(LOOKS, model.average)
    run = model._train(training, num_steps, True, seed, last_step=0.1, looks=LOOKS, average=average)
    model.particles_ = run.particles
    found: np.ndarray = model._log_density(held_out.x, held_out.y)
    del model.particles_
    return found
