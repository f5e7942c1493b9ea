"""Values: frozen dataclasses that are pytrees.

A sampler, a target, a kernel, a schedule or a preconditioner is a value. Its numbers (step size, β,
bandwidth, data) are leaves; its structure (functions, counts, choices) is static. Hence

* samplers of one structure share one compiled program, whatever their numbers are;
* `jax.tree.map(jnp.stack, …)` makes a stack of samplers, and `jax.vmap` sweeps over it;
* two values are equal when their structures and numbers are.

A class of one's own becomes one with `@spos.value`; fields are leaves (or pytrees of leaves) unless
they are declared as `spos.static()`:

    @spos.value
    class Shifted(spos.Target):
        shift: jax.Array
        power: int = spos.static(default=2)

        def log_prob(self, theta, batch=None):
            return -jnp.sum((theta - self.shift) ** self.power)

Nothing is checked when a value is built, since JAX builds them too, with tracers and placeholders
for their leaves. The functions that people call (`spos.spos`, `spos.rbf`, …) check.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

import jax
import numpy as np

C = TypeVar("C", bound=type)


def static(**options: Any) -> Any:
    """A field that is part of a value's structure: a function, a count, a choice.

    It must be hashable. Values that differ in it do not share a compiled program.

    Args:
        **options: those of `dataclasses.field`, such as `default`.

    Returns:
        The field.

    Example:
        >>> @spos.value
        ... class Power(spos.Target):
        ...     scale: float
        ...     power: int = spos.static(default=2)
        ...
        ...     def log_prob(self, theta, batch=None):
        ...         return -jnp.sum(jnp.abs(theta / self.scale) ** self.power)
        >>> jax.tree.leaves(Power(3.0, power=4))
        [3.0]
    """
    return dataclasses.field(metadata={"static": True}, **options)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(static,))
def value(cls: C) -> C:
    """Make a class a value: a frozen dataclass that is a pytree.

    Args:
        cls: a class with annotated fields, derived from `spos.Sampler`, `spos.Target`, …

    Returns:
        The class.

    Example:
        >>> @spos.value
        ... class Climb(spos.Sampler):
        ...     strength: float = 1.0
        ...
        ...     def drift(self, key, state, scores):
        ...         return spos.Drift(jax.tree.map(lambda s: self.strength * s, scores))
        >>> sampler = Climb.of(lambda x: -0.5 * (x**2).sum(), step_size=0.1, strength=2.0)
        >>> spos.check_sampler(sampler).passed
        True
    """
    dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)  # in place
    _register(cls)
    return cls


def _register(cls: type) -> None:
    """As a pytree whose structure knows its class.

    Not by `jax.tree_util.register_dataclass`: JAX takes structures of two such classes with equal
    fields for equal, and then `jax.jit` sometimes runs the program of one for the other, an RBF
    kernel where an IMQ was given.
    """
    named = dataclasses.fields(cls)
    fixed = tuple(field.name for field in named if field.metadata.get("static"))
    free = tuple(field.name for field in named if not field.metadata.get("static"))
    keys = tuple(map(jax.tree_util.GetAttrKey, free))

    def flatten(one: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(getattr(one, name) for name in free), tuple(getattr(one, n) for n in fixed)

    def flatten_with_keys(one: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        leaves, structure = flatten(one)
        return tuple(zip(keys, leaves, strict=True)), structure

    def unflatten(structure: tuple[Any, ...], leaves: Any) -> Any:
        return cls(
            **dict(zip(fixed, structure, strict=True)), **dict(zip(free, leaves, strict=True))
        )

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


class Value:
    """What all values share: equality by structure and numbers, and a short `repr`."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, form = jax.tree.flatten(self)
        theirs, other_form = jax.tree.flatten(other)
        return bool(form == other_form) and all(map(_same, mine, theirs))  # type: ignore[operator]

    def __hash__(self) -> int:
        return hash(jax.tree.structure(self))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={_short(field)}" for name, field in fields(self).items())
        return f"{type(self).__name__}({inside})"


def fields(one: Any) -> dict[str, Any]:
    """The fields of a value by name."""
    return {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}


def as_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as a part of a value.

    A function that carries numbers as a pytree (`jax.tree_util.Partial(f, data)`, a module of
    Equinox) keeps them as leaves. Any other is structure.
    """
    leaves = jax.tree.leaves(function)
    if leaves != [function] and all(isinstance(x, np.ndarray | jax.Array | float) for x in leaves):
        return function
    return jax.tree_util.Partial(function)


def described(one: Any) -> Any:
    """A value as plain data that people can read: numbers, names, and dicts of them."""
    if isinstance(one, jax.tree_util.Partial):
        return described(one.func) if not one.args and not one.keywords else _name(one.func)
    if isinstance(one, Value):
        own = getattr(one, "described", None)
        if own is not None:
            return own()
        return {"type": type(one).__name__.lower()} | {
            name: described(field) for name, field in fields(one).items()
        }
    if isinstance(one, jax.core.Tracer):
        return "traced"
    if isinstance(one, np.ndarray | np.generic | jax.Array):
        return one.item() if one.ndim == 0 else f"{one.dtype}{list(one.shape)}"
    if isinstance(one, dict):
        return {str(key): described(item) for key, item in one.items()}
    if isinstance(one, tuple) and hasattr(one, "_fields") and not callable(one[0]):
        return {name: described(item) for name, item in zip(one._fields, one, strict=True)}
    if type(one) in (list, tuple):
        return [described(item) for item in one]
    return one if one is None or isinstance(one, bool | int | float | str) else _name(one)


def _name(one: Any) -> str:
    return getattr(one, "__qualname__", type(one).__name__)


def _same(one: Any, other: Any) -> bool:
    return one is other or bool(np.array_equal(one, other))


def _short(field: Any) -> str:
    shown = described(field) if not isinstance(field, Value) else field
    text = repr(shown)
    return text if len(text) <= 60 else f"{text[:57]}…"
