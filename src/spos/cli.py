"""The command `spos`.

A command is a `Command`: its name, one line of help, the function that declares its arguments and
the function that runs it. `spos demo`, `spos playground` and `spos doctor` are here; other packages
offer theirs as entry points of the group `spos.commands`, as the experiments of this repository do.
What a command needs is imported when it runs, so that asking for help does not load plotting
libraries.
A failure the user can mend is one sentence on stderr and exit code 1; wrong arguments are exit
code 2.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import spos
from spos.io.archive import DamagedFileError

GROUP = "spos.commands"  # the entry points under which another package offers commands
ELSEWHERE = {  # commands of the second package of this repository, known even where it is missing
    "paper": "run an experiment of the SPOS paper and record what it finds",
    "report": "one self-contained page from the recorded experiments",
    "bench": "how fast a step is, against other libraries and against what the machine can do",
    "data": "which data sets there are, and getting one",
}


class UsageError(ValueError):
    """Arguments that do not go together."""


class Command(NamedTuple):
    name: str
    help: str
    declare: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    parser = _parser()
    try:
        arguments, strange = parser.parse_known_args(argv)
        if strange and arguments.run is not _missing:
            parser.error(f"unrecognized arguments: {' '.join(strange)}")
    except SystemExit as stop:  # argparse has already said what is wrong
        return stop.code if isinstance(stop.code, int) else 2
    try:
        arguments.run(arguments)
    except (ImportError, OSError, UsageError, DamagedFileError) as error:
        print(f"spos {arguments.command}: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print(f"spos {arguments.command}: interrupted", file=sys.stderr)
        return 130
    return 0


def _demo_arguments(parser: argparse.ArgumentParser) -> None:
    about = "folder for the figures and report.html, made if needed"
    folder_argument(parser, "--out", Path("spos-demo"), about)
    seed_argument(parser)


def _demo(arguments: argparse.Namespace) -> None:
    from spos import demo

    demo.run(arguments.out, arguments.seed)


DEMO = Command(
    "demo",
    "three small experiments, a page with their figures and tables, in half a minute",
    _demo_arguments,
    _demo,
)


def _playground_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-browser", action="store_true", help="only print where the page is, and open nothing"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where to put the page (default: a temporary folder)",
    )


def _playground(arguments: argparse.Namespace) -> None:
    from spos import playground

    playground.open_page(arguments.out, browser=not arguments.no_browser)


PLAYGROUND = Command(
    "playground",
    "a page on which to watch the methods move particles",
    _playground_arguments,
    _playground,
)


def _doctor(arguments: argparse.Namespace) -> None:
    from spos import doctor

    doctor.run()


DOCTOR = Command(
    "doctor",
    "versions, devices, which extras are there, and a self-test of two seconds",
    lambda parser: None,
    _doctor,
)


def commands() -> Iterator[Command]:
    """The commands of this package, those that others offer, and a hint for those missing."""
    yield DEMO
    yield PLAYGROUND
    yield DOCTOR
    offered = {point.name: point for point in entry_points(group=GROUP)}
    for point in offered.values():
        yield point.load()
    for name, about in ELSEWHERE.items():
        if name not in offered:
            yield Command(name, about, lambda parser: None, _missing)


def _missing(arguments: argparse.Namespace) -> None:
    raise ImportError(
        "this command is in the package spos-experiments, get it from the repository with: "
        "pip install ./experiments"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spos", description="Bayesian sampling with interacting, noisy particles."
    )
    parser.add_argument("--version", action="version", version=f"spos {spos.__version__}")
    chosen = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in commands():
        sub = chosen.add_parser(command.name, help=command.help, description=command.help)
        command.declare(sub)
        sub.set_defaults(run=command.run)
    return parser


def folder_argument(
    parser: argparse.ArgumentParser, flag: str, usual: Path, about: str, **changed: Any
) -> None:
    """An option that is a folder; `changed` goes to `add_argument`."""
    about = f"{about} (default: {usual})"
    kind: dict[str, Any] = {"type": Path, "default": usual, "metavar": "DIR", "help": about}
    parser.add_argument(flag, **kind | changed)


def seed_argument(parser: argparse.ArgumentParser, **changed: Any) -> None:
    """The option `--seed`; `changed` goes to `add_argument`."""
    about = "the same seed gives the same numbers (default: 0)"
    kind: dict[str, Any] = {"type": _seed, "default": 0, "metavar": "N", "help": about}
    parser.add_argument("--seed", **kind | changed)


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < 2**31:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 2^31 - 1, got {text!r}")
    return seed
