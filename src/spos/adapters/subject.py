"""What `spos.fit` was given, whatever it was: a target, and a model's words for it if it is one."""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from spos import adapters
from spos.adapters.model import Model, ModelError
from spos.targets.posterior import Posterior
from spos.targets.target import Target, as_target
from spos.types import PyTree


class Subject(NamedTuple):
    """Attributes:
    name: in words.
    target: the density on unconstrained parameters.
    model: the way back to a model's own parameters; None for a plain density.
    inputs: the data or arguments by name, to be searched where the density is not finite.
    """

    name: str
    target: Target
    model: Model | None
    inputs: Mapping[str, Any]


def read_subject(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    started: bool,
    data: PyTree,
    reserved: tuple[str, ...],
) -> Subject:
    """See the arguments of `spos.fit`.

    Args:
        model: whatever is to be fitted.
        args: for a NumPyro function.
        kwargs: for a NumPyro function.
        started: whether there are particles to start from, so that a function is a log-density.
        data: to replace a posterior's own.
        reserved: the names that `spos.fit` keeps for itself.

    Returns:
        The target, and the model if there is one.

    Raises:
        TypeError, ValueError: it is nothing that can be fitted, or arguments do not go together.
    """
    if isinstance(model, Target):
        _no_arguments("a target", args, kwargs)
        target = _with_data(model, data)
        own = getattr(target, "data", None)
        return Subject(f"the {type(target).__name__.lower()}", target, None, {"data": own})
    if data is not None:
        raise TypeError(
            f"data must be left out unless the model is a spos.posterior, got data for {model!r}; "
            "the data of a NumPyro model are its arguments: "
            "spos.fit(spos.from_numpyro(model, …, data=…))"
        )
    if started and callable(model) and not isinstance(model, type) and not _is_model(model):
        if args or kwargs:
            raise TypeError(
                "with start, a function is a log-density of one particle and takes no arguments, "
                f"got {len(args) + len(kwargs)}; a NumPyro model with starts of its own is "
                "spos.fit(spos.from_numpyro(model, …), start=…)"
            )
        return Subject("the log-density", as_target(model), None, {})
    found = read_model(model, args, kwargs, reserved)
    return Subject(found.name, found.target, found, found.inputs)


def read_model(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    reserved: tuple[str, ...],
    verb: str = "fit",
) -> Model:
    """The model of whichever library.

    Args:
        model: a NumPyro function, a PyMC model or a `spos.Model`.
        args: for a NumPyro function.
        kwargs: for a NumPyro function.
        reserved: the names that the caller keeps for itself.
        verb: the caller's own name.

    Returns:
        The model.

    Raises:
        TypeError, ValueError: it is none, or cannot be read.
    """
    if isinstance(model, Model):
        _no_arguments("a spos.Model", args, kwargs)
        return model
    if _is_model(model):
        _no_arguments("a PyMC model", args, kwargs)
        return adapters.from_pymc(model)
    if not callable(model) or isinstance(model, type):
        raise TypeError(
            "model must be a NumPyro function, a pymc.Model, a spos.Model, or with start a "
            f"spos.Target or a log-density, got {model!r}"
        )
    _must_not_collide(model, len(args), reserved, verb)
    try:
        return adapters.from_numpyro(model, *args, **kwargs)
    except ModelError as error:
        error.add_note(
            "without start= a function is taken for a NumPyro model; a log-density is fitted by "
            "spos.fit(log_prob, start=particles)"
        )
        raise


def _is_model(model: Any) -> bool:
    """Is it a model by itself, rather than a function?"""
    return isinstance(model, Model) or type(model).__module__.partition(".")[0] == "pymc"


def _with_data(target: Target, data: PyTree) -> Target:
    if data is None:
        return target
    if not isinstance(target, Posterior):
        raise TypeError(
            f"data must be left out unless the model is a spos.posterior, got data for {target!r}"
        )
    return target.with_data(data)


def _no_arguments(what: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    if args or kwargs:
        raise TypeError(f"{what} takes no arguments here, got {len(args) + len(kwargs)}")


def _must_not_collide(model: Any, positional: int, reserved: tuple[str, ...], verb: str) -> None:
    """An argument of the model under one of our names could not be told from ours."""
    try:
        own = list(inspect.signature(model).parameters)
    except (TypeError, ValueError):  # not for every callable
        return
    if taken := [name for name in own[positional:] if name in reserved]:
        name = getattr(model, "__name__", "model")
        raise TypeError(
            f"{taken[0]} is an argument of {name} and of spos.{verb}: write "
            f"spos.{verb}(spos.from_numpyro({name}, …, {taken[0]}=…))"
        )
