"""Settings that the command line can change.

A field of an experiment's `Settings` made by `option` is an option of `spos paper NAME`:

    methods: tuple[str, ...] = option(("spos",), "which methods", choices=("spos", "svgd"))
    seeds: int = option(5, "independent repeats", at_least=1)
    data: str | None = option(None, "the folder of the data")

It takes names if it has `choices`, whole numbers if it has `at_least`, and else a folder; several
of them where the default is a tuple, and then it may also be spelt in the singular. Where the
default holds tuples itself, what is given is one of those.
"""

import argparse
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from spos.cli import UsageError
from spos_experiments.frame.experiment import Adjustable

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """What `option` says of a field."""

    help: str
    choices: Sequence[str]
    at_least: int | None
    one: bool
    spellings: Mapping[str, str]
    several: bool
    nested: bool


def option(
    default: T,
    help: str,
    *,
    choices: Sequence[str] = (),
    at_least: int | None = None,
    one: bool = False,
    spellings: Mapping[str, str] = MappingProxyType({}),
) -> T:
    """A field of a dataclass that is an option of the command line as well.

    Args:
        default: The setting where the option is not given.
        help: What it is, in a few words.
        choices: The names that it takes.
        at_least: The least number that it takes.
        one: It takes only one of several names.
        spellings: Other spellings of names.

    Returns:
        The field, which is typed as the value that it will have.
    """
    several = isinstance(default, tuple)
    nested = isinstance(default, tuple) and any(isinstance(one, tuple) for one in default)
    about = Option(help, tuple(choices), at_least, one, spellings, several, nested)
    return dataclasses.field(default=default, metadata={Option: about})


def declared(settings: Adjustable) -> dict[str, Option]:
    """The options among the fields."""
    return {f.name: f.metadata[Option] for f in dataclasses.fields(settings) if f.metadata}


def declare(parser: argparse.ArgumentParser, settings: Adjustable) -> None:
    """Add the options to the parser of a command line."""
    for name, about in declared(settings).items():
        flags = (f"--{name}", f"--{name.removesuffix('s')}") if about.several else (f"--{name}",)
        kind: dict[str, Any] = {"metavar": "DIR", "help": about.help}
        if about.choices:
            kind = {"metavar": "NAME", "help": f"{about.help}: {', '.join(about.choices)}"}
        elif about.at_least is not None:
            kind |= {"metavar": "N", "type": int}
        nargs = "+" if about.several else None
        parser.add_argument(*dict.fromkeys(flags), dest=name, nargs=nargs, **kind)


def changed(settings: Adjustable, arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that a command line changes, checked.

    Raises:
        UsageError: An option has a value that it does not take.
    """
    given = {name: getattr(arguments, name) for name in declared(settings)}
    return {
        name: _checked(name, about, given[name])
        for name, about in declared(settings).items()
        if given[name] is not None
    }


def _checked(name: str, about: Option, value: Any) -> Any:
    values = tuple(
        about.spellings.get(each, each) for each in (value if about.several else [value])
    )
    if about.choices:
        values = tuple(dict.fromkeys(values))
        if wrong := [each for each in values if each not in about.choices]:
            raise UsageError(
                f"--{name} must be some of {', '.join(about.choices)}, got {' '.join(wrong)}"
            )
    if about.at_least is not None and min(values) < about.at_least:
        raise UsageError(f"--{name} must be at least {about.at_least}, got {min(values)}")
    if about.one and len(values) > 1:
        raise UsageError(f"--{name} takes one name, got {' '.join(values)}")
    if about.nested:
        return (values,)
    return values if about.several else values[0]


def words(changed: Mapping[str, Any]) -> Iterator[str]:
    """The command line that changes these settings."""
    for name, value in changed.items():
        yield f"--{name}"
        yield from _flat(value)


def _flat(value: Any) -> Iterator[str]:
    if not isinstance(value, tuple):
        yield str(value)
        return
    for part in value:
        yield from _flat(part)
