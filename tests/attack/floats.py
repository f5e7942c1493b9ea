"""Attacks by numbers: every kind of float, scales of 1e±30, targets that are stiff, unbounded or
improper. A run must end in finite particles of the kind it began with, or in an error or a warning
that says why not.

    PYTHONPATH=tests python -m attack.floats
"""

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from attack.table import Job, Score, report

START = np.linspace(-1.0, 1.0, 16).reshape(8, 2)
KINDS = ("float16", "bfloat16", "float32", "float64")
METHODS: dict[str, Callable[[Any], spos.Sampler]] = {
    "spos": lambda target: spos.spos(target, 0.05),
    "svgd": lambda target: spos.svgd(target, 0.05),
    "svgd, adagrad": lambda target: spos.svgd(target, 0.05, preconditioner=spos.adagrad()),
    "psgld": lambda target: spos.psgld(target, 0.01),
    "sgld, ensemble": lambda target: spos.sgld(target, 0.05, preconditioner=spos.ensemble()),
    "sghmc": lambda target: spos.sghmc(target, 0.05),
    "gfsf": lambda target: spos.gfsf(target, 0.02),
}
# (scale of the log-density, its power): numbers are leaves, so that all share a program
TARGETS = {
    "normal": (0.5, 2.0),
    "stiff, 1e30": (1e30, 2.0),
    "flat, 1e-30": (1e-30, 2.0),
    "unbounded": (-0.5, 2.0),
    "fourth power": (1.0, 4.0),
    "steep, 1e20": (1e20, 1.0),
}


def log_density(scale: Any, power: Any, theta: Any) -> Any:
    return -scale.astype(theta.dtype) * jnp.sum(jnp.abs(theta) ** power.astype(theta.dtype))


def attack(method: str, kind: str, targets: tuple[str, ...] = tuple(TARGETS)) -> Score:
    """Runs of a method in a kind of float on all targets, near and far."""
    refused, done, broken = 0, 0, []
    wide = kind == "float64"
    with jax.enable_x64(wide):
        dtype = jnp.dtype(kind)
        for target in targets:
            for far in (1.0, 1e30, 1e-30):
                with np.errstate(over="ignore", under="ignore"):
                    start = jnp.asarray(far * START, dtype)
                if not np.isfinite(np.asarray(start, np.float64)).all() or not start.any():
                    continue  # no number of this kind
                name = f"{method}, {kind}, {target}, start {far:g}"
                numbers = (jnp.asarray(each, jnp.result_type(float)) for each in TARGETS[target])
                density = jax.tree_util.Partial(log_density, *numbers)
                outcome, fault = _run(METHODS[method](density), start, dtype)
                refused, done = refused + (outcome == "refused"), done + (outcome == "done")
                if fault:
                    broken.append(f"{name}: {fault}")
    cases = refused + done + len(broken)
    return Score(method, kind, cases, refused, done, broken)


def _run(sampler: spos.Sampler, start: Any, dtype: Any) -> tuple[str, str | None]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = spos.sample(sampler, start, 25, seed=1, progress=False)
        except (spos.NonFiniteError, ValueError) as error:
            return "refused", None if str(error) else "refused without a word"
        except Exception as error:
            return "broken", f"{type(error).__name__}: {str(error)[:150]}"
    if result.particles.dtype != dtype:
        return "broken", f"ended as {result.particles.dtype}"
    if not np.isfinite(np.asarray(result.particles, np.float64)).all():
        return "broken", "ended in particles that are not finite"
    norms = np.stack([result.info[name] for name in ("drift_norm", "score_norm", "epd")])
    still = np.array_equal(np.asarray(result.particles), np.asarray(start))
    if (still or not np.isfinite(norms.astype(np.float64)).all()) and not told:
        return "broken", "said nothing of particles that stand still, or norms that overflow"
    return "done", None


def jobs() -> Iterator[Job]:
    for method, kind in itertools.product(METHODS, KINDS):
        yield Job(f"{method}, {kind}", lambda each=(method, kind): [attack(*each)])


if __name__ == "__main__":
    sys.exit(report(jobs()))
