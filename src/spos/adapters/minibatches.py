"""Which models have minibatches, and how they are fitted with them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from spos import checks
from spos.adapters.model import ModelError
from spos.adapters.subject import Subject
from spos.auto.result import Fit
from spos.auto.tall.place import NoModeError
from spos.auto.tall.run import fit_tall
from spos.auto.watch import Callback
from spos.targets.batches import BatchSchedule
from spos.targets.posterior import Posterior
from spos.targets.source import Source
from spos.targets.target import Target
from spos.types import Particles


def with_minibatches(subject: Subject, batch_size: int | None) -> Subject:
    """The subject with minibatches of so many rows.

    Args:
        subject: what is fitted.
        batch_size: None leaves it as it is.

    Returns:
        The subject.

    Raises:
        TypeError, ValueError: it has no rows that could be drawn, or fewer than these.
    """
    if batch_size is None:
        return subject
    size = checks.whole("batch_size", batch_size)
    target: Any = subject.target
    if isinstance(target, Posterior):
        total = target.num_examples
        changed: dict[str, Any] = {"batch": BatchSchedule(size, size)}
    elif plates := getattr(target, "plates", None):
        total = max(rows for _, (rows, _) in plates)
        changed = {"plates": tuple((name, (rows, min(size, rows))) for name, (rows, _) in plates)}
    else:
        raise TypeError(
            f"batch_size must be left out for {subject.name}: minibatches can be drawn from a "
            "spos.posterior, and from a NumPyro model with numpyro.plate(…, subsample_size=…)"
        )
    if size > total:
        raise ValueError(f"batch_size must be at most the {total} rows there are, got {size}")
    return subject._replace(target=dataclasses.replace(target, **changed))


def has_minibatches(target: Target) -> bool:
    """Can its scores be corrected by those at a mode?"""
    if isinstance(target, Posterior):  # the mode is looked for on all rows, so they are in memory
        return target.stochastic and not isinstance(target.data, Source)
    return bool(getattr(target, "plates", ())) and target.stochastic


def must_be_left_out(options: Mapping[str, Any]) -> None:
    """A run with minibatches knows none of these; of a budget it knows `max_seconds`."""
    for name, given in options.items():
        if given is not None and name != "max_seconds":
            raise ValueError(f"{name} must be left out with minibatches, got {given!r:.80}")


def fit_minibatches(
    subject: Subject,
    first: Particles,
    seed: int,
    progress: bool | None,
    callback: Callback | None,
    max_seconds: float | None,
) -> Fit:
    """See `spos.fit`."""
    target: Any = subject.target
    if isinstance(target, Posterior):
        total, size = target.num_examples, target.batch.maximum
    else:
        total, size = (max(sizes) for sizes in zip(*dict(target.plates).values(), strict=True))
    try:
        return fit_tall(target, first, total, size, seed, progress, callback, max_seconds)
    except NoModeError as error:
        words = "; ".join([f"{subject.name}: {error}", *checks.broken(dict(subject.inputs))])
        raise (ModelError if subject.model is not None else NoModeError)(words) from error
