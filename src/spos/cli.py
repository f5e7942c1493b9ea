"""The command `spos`.

Each command is a row of `COMMANDS`: its name, one line of help, the function that declares its
arguments and the function that runs it. What a command needs is imported when it runs, so that
asking for help does not load plotting libraries. A failure the user can mend is one sentence on
stderr and exit code 1; wrong arguments are exit code 2.
"""

import argparse
import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import spos
from spos.bench import BENCHMARKS
from spos.data.catalogue import NAMES, TABLES
from spos.paper import EXPERIMENTS
from spos.paper.models import MODELS

# what the experiments that take hours can be cut down to: the names that each option takes
PARTS: dict[str, dict[str, Sequence[str]]] = {
    "control": {
        "tasks": ("cartpole", "swing_up", "double_pendulum"),
        "estimators": ("reinforce", "a2c"),
        "methods": ("svpg", "spos", "independent"),
    },
    "accuracy": {"models": tuple(MODELS)},
    "regression": {"datasets": TABLES, "methods": ("sgld", "svgd", "spos")},
    "mnist": {
        "datasets": ("mnist", "digits"),
        "methods": ("spos", "svgd", "sgld", "rmsprop", "sgd", "dropout"),
    },
}
COUNTS = {"control": ("seeds",), "regression": ("splits",), "mnist": ("epochs", "hidden")}
FOLDERS = {"regression": ("data",), "mnist": ("data",)}
SPELLINGS = {"swingup": "swing_up"}


class UsageError(ValueError):
    """Arguments that do not go together."""


class Command(NamedTuple):
    name: str
    help: str
    declare: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has already said what is wrong
        return stop.code if isinstance(stop.code, int) else 2
    try:
        arguments.run(arguments)
    except (ImportError, OSError, UsageError) as error:
        print(f"spos {arguments.command}: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print(f"spos {arguments.command}: interrupted", file=sys.stderr)
        return 130
    return 0


def _demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("spos-demo"),
        metavar="DIR",
        help="folder for the figures and report.html, made if needed (default: %(default)s)",
    )
    _seed_argument(parser)


def _demo(arguments: argparse.Namespace) -> None:
    from spos import demo

    demo.run(arguments.out, arguments.seed)


def _paper_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", choices=("all", *EXPERIMENTS), metavar="NAME", help=f"all, {', '.join(EXPERIMENTS)}"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a tiny form that runs in seconds, to try things out"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="folder for the records and figures, made if needed (default: %(default)s)",
    )
    _seed_argument(parser)
    parts = parser.add_argument_group("for experiments that take long; all of them can be resumed")
    for option in dict.fromkeys(itertools.chain.from_iterable(PARTS.values())):
        told = "; ".join(
            f"{name}: {', '.join(known[option])}"
            for name, known in PARTS.items()
            if option in known
        )
        parts.add_argument(
            *(f"--{option}", f"--{option.removesuffix('s')}"),
            nargs="+",
            type=lambda name: SPELLINGS.get(name, name),
            metavar="NAME",
            help=told,
        )
    parts.add_argument("--seeds", type=int, metavar="N", help="control: independent repeats")
    parts.add_argument("--splits", type=int, metavar="N", help="regression: at most so many splits")
    parts.add_argument("--epochs", type=int, metavar="N", help="mnist: passes over the images")
    parts.add_argument(
        "--hidden", type=int, nargs="+", metavar="N", help="mnist: units of each hidden layer"
    )
    parts.add_argument("--data", metavar="DIR", help="regression, mnist: the folder of the data")


def _paper(arguments: argparse.Namespace) -> None:
    from spos import paper
    from spos.paper import experiment

    changed = _changed(arguments)
    brief = [name for name in paper.available() if name not in paper.ON_REQUEST]
    for name in brief if arguments.name == "all" else (arguments.name,):
        experiment.perform(name, arguments.out, arguments.seed, arguments.quick, changed)


def _changed(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that options of the command line change, checked against the experiment."""
    name = arguments.name
    parts, counts = PARTS.get(name, {}), COUNTS.get(name, ())
    every = itertools.chain(*PARTS.values(), *COUNTS.values(), *FOLDERS.values())
    given = {o: value for o in every if (value := getattr(arguments, o)) is not None}
    if strange := [o for o in given if o not in (*parts, *counts, *FOLDERS.get(name, ()))]:
        raise UsageError(f"--{' and --'.join(strange)} cannot be used with the experiment {name}")
    for option, known in parts.items():
        given[option] = tuple(dict.fromkeys(given.get(option, ())))
        if wrong := [value for value in given[option] if value not in known]:
            raise UsageError(
                f"--{option} must be some of {', '.join(known)}, got {' '.join(wrong)}"
            )
        if not given[option]:
            del given[option]
    for option in counts:
        value = given.get(option, 1)
        if min(value if isinstance(value, list) else [value]) < 1:
            raise UsageError(f"--{option} must be at least 1, got {given[option]}")
    if "hidden" in given:
        given["hidden"] = (tuple(given["hidden"]),)
    return given


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="the folder that `spos paper` wrote (default: %(default)s)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the page (default: DIR/report.html)"
    )


def _report(arguments: argparse.Namespace) -> None:
    from spos.report import page

    out = arguments.out or arguments.results / "report.html"
    print(f"The page is {page.build(arguments.results, out)}.")


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        choices=BENCHMARKS,
        metavar="CASE",
        help=f"one part, measured again: {', '.join(BENCHMARKS)}",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("benchmarks"),
        metavar="DIR",
        help="folder for bench.json and scaling.png, made if needed (default: %(default)s)",
    )


def _bench(arguments: argparse.Namespace) -> None:
    from spos.bench import command

    print(f"The numbers are in {command.perform(arguments.out, arguments.only, arguments.quick)}.")


def _data_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="which data sets there are, and where each was found")
    listing.add_argument("--data", type=Path, metavar="DIR", help="look in this folder only")
    fetching = actions.add_parser("fetch", help="download a data set from OpenML")
    fetching.add_argument("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    fetching.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the file, made if needed (the cache)"
    )


def _data(arguments: argparse.Namespace) -> None:
    from spos.data import fetch, tables

    if arguments.action == "list":
        print("\n".join(tables.listing(arguments.data)))
    else:
        path = fetch.fetch(arguments.name, arguments.out)
        print(f"The data are in {path}.")


COMMANDS = (
    Command(
        "demo",
        "three small experiments, a page with their figures and tables, in half a minute",
        _demo_arguments,
        _demo,
    ),
    Command(
        "paper",
        "run an experiment of the SPOS paper and record what it finds",
        _paper_arguments,
        _paper,
    ),
    Command(
        "report",
        "one self-contained page from the recorded experiments",
        _report_arguments,
        _report,
    ),
    Command(
        "bench",
        "how fast a step is, against other libraries and against what the machine can do",
        _bench_arguments,
        _bench,
    ),
    Command(
        "data",
        "which data sets there are, and getting one",
        _data_arguments,
        _data,
    ),
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spos", description="Bayesian sampling with interacting, noisy particles."
    )
    parser.add_argument("--version", action="version", version=f"spos {spos.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=command.help)
        command.declare(sub)
        sub.set_defaults(run=command.run)
    return parser


def _seed_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seed",
        type=_seed,
        default=0,
        metavar="N",
        help="the same seed gives the same numbers (default: %(default)s)",
    )


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < 2**31:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 2^31 - 1, got {text!r}")
    return seed
