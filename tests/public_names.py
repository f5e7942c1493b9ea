"""Everything a user can reach: public functions, classes and their public methods."""

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import spos

ROOMS = ("adapters", "auto", "estimators", "rl")  # beside `spos.__all__`: classes of their own


def public_names() -> dict[str, Any]:
    """Functions, classes and methods by the name that a user would write."""
    found: dict[str, Any] = {}
    for name, one in members(spos, "spos"):
        if not any(one is other for other in found.values()):
            found[name] = one
    for name, one in list(found.items()):
        if inspect.isclass(one):
            found |= {f"{name}.{own}": method for own, method in methods(one)}
    return found


def members(module: ModuleType, name: str, seen: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The public functions and classes of a module and of the public modules in it."""
    inside = []
    listed = [*getattr(module, "__all__", ())]
    if module is spos:
        listed += ["SPOSClassifier", "SPOSRegressor"]
    for own in listed or [each for each in vars(module) if not each.startswith("_")]:
        one = getattr(module, own)
        if inspect.ismodule(one):
            if listed and one.__name__.startswith("spos."):
                inside.append((one, f"{name}.{own}"))
            continue
        at_home = listed or getattr(one, "__module__", None) == module.__name__
        if at_home and (inspect.isclass(one) or inspect.isfunction(one)):
            yield f"{name}.{own}", one
    for one, own in inside:
        if one.__name__ not in seen:
            yield from members(one, own, (*seen, one.__name__))


def methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public methods and properties that the class itself defines and says something about.

    A method that only does what that of its base promises is documented there.
    """
    for name, own in vars(kind).items():
        if name.startswith("_"):
            continue
        one = own.__func__ if isinstance(own, classmethod | staticmethod) else own
        if inspect.isfunction(one) and not overrides(kind, name):
            yield name, one


def overrides(kind: type, name: str) -> bool:
    return any(name in vars(base) for base in kind.__mro__[1:-1])


def parameters(one: Any) -> list[inspect.Parameter]:
    """What a caller gives, without `self` and `cls`."""
    try:
        given = inspect.signature(one).parameters.values()
    except ValueError:  # a class written in C, such as a warning
        return []
    hidden = ("self", "cls") if "." in one.__qualname__ else ()
    return [each for each in given if each.name not in hidden]


def room(one: Any) -> str:
    """Where it is written: `spos.rl.train` is in `rl`."""
    return one.__module__.removeprefix("spos.").split(".")[0]
