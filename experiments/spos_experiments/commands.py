"""The commands that this package adds to `spos`: paper, report, bench and data."""

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spos.cli import Command, UsageError, seed_argument
from spos_experiments.bench import BENCHMARKS
from spos_experiments.data.catalogue import NAMES, TABLES
from spos_experiments.paper import EXPERIMENTS
from spos_experiments.paper.accuracy.models import MODELS

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
        default=Path("experiments/results"),
        metavar="DIR",
        help="folder for the records and figures, made if needed (default: %(default)s)",
    )
    seed_argument(parser)
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
    from spos_experiments import paper
    from spos_experiments.frame import experiment

    changed = _changed(arguments)
    brief = [name for name in paper.EXPERIMENTS if name not in paper.ON_REQUEST]
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
        default=Path("experiments/results"),
        metavar="DIR",
        help="the folder that `spos paper` wrote (default: %(default)s)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the page (default: DIR/report.html)"
    )


def _report(arguments: argparse.Namespace) -> None:
    from spos_experiments.frame import page

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
        default=Path("experiments/benchmarks"),
        metavar="DIR",
        help="folder for bench.json and scaling.png, made if needed (default: %(default)s)",
    )


def _bench(arguments: argparse.Namespace) -> None:
    from spos_experiments.bench import command

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
    from spos_experiments.data import fetch, tables

    if arguments.action == "list":
        print("\n".join(tables.listing(arguments.data)))
    else:
        path = fetch.fetch(arguments.name, arguments.out)
        print(f"The data are in {path}.")


PAPER = Command(
    "paper",
    "run an experiment of the SPOS paper and record what it finds",
    _paper_arguments,
    _paper,
)
REPORT = Command(
    "report",
    "one self-contained page from the recorded experiments",
    _report_arguments,
    _report,
)
BENCH = Command(
    "bench",
    "how fast a step is, against other libraries and against what the machine can do",
    _bench_arguments,
    _bench,
)
DATA = Command(
    "data",
    "which data sets there are, and getting one",
    _data_arguments,
    _data,
)
