"""The commands that this package adds to `spos`: paper, report, bench and data."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spos.cli import ELSEWHERE, Command, UsageError, folder_argument, seed_argument
from spos_experiments import paper
from spos_experiments.bench import BENCHMARKS
from spos_experiments.data.catalogue import NAMES
from spos_experiments.frame import options, record

ALL = "all"
ABOUT_EXECUTOR = "make the runs side by side: processes:N, dask://HOST:PORT or slurm"


def _paper_arguments(parser: argparse.ArgumentParser) -> None:
    names = (ALL, *paper.EXPERIMENTS)
    chosen = parser.add_subparsers(
        dest="name",
        metavar="NAME",
        required=True,
        parser_class=_ExperimentParser,
        help=f"{', '.join(names)}; `spos paper NAME --help` tells what can be changed",
    )
    for name in names:
        chosen.add_parser(name, experiment=name)
    parser.add_argument("--executor", metavar="WHERE", help=ABOUT_EXECUTOR)
    _shared_arguments(parser)


def _shared_arguments(parser: argparse.ArgumentParser, **changed: Any) -> None:
    """What every experiment takes, before or after its name."""
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a tiny form that runs in seconds, to try things out",
        **changed,
    )
    about = "folder for the records and figures, made if needed"
    folder_argument(parser, "--out", record.FOLDER, about, **changed)
    seed_argument(parser, **changed)


class _ExperimentParser(argparse.ArgumentParser):
    """The options of one experiment, which is loaded only when they are asked for."""

    def __init__(self, *, experiment: str, **given: Any) -> None:
        super().__init__(**given)
        self.experiment = experiment
        _shared_arguments(self, default=argparse.SUPPRESS)  # which leaves what came before the name
        self.add_argument(
            "--executor", metavar="WHERE", help=ABOUT_EXECUTOR, default=argparse.SUPPRESS
        )

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        if self.experiment != ALL:
            try:
                found = paper.find(self.experiment)
            except ImportError as error:
                self.exit(1, f"spos paper: {error}\n")
            self.description = found.ABOUT
            options.declare(self, found.Settings())
        arguments, strange = super().parse_known_args(args, namespace)
        arguments.strange = [word.split("=")[0] for word in strange if word.startswith("--")]
        return arguments, [] if arguments.strange else strange


def _paper(arguments: argparse.Namespace) -> None:
    from spos_experiments.frame.perform import perform

    name = arguments.name
    if arguments.strange:
        strange = " and ".join(arguments.strange)
        raise UsageError(f"{strange} cannot be used with the experiment {name}")
    changed = {} if name == ALL else options.changed(paper.find(name).Settings(), arguments)
    for each in paper.SYNTHETIC if name == ALL else (name,):
        perform(each, arguments.out, arguments.seed, arguments.quick, changed, arguments.executor)


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    folder_argument(parser, "--results", record.FOLDER, "the folder that `spos paper` wrote")
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
    parser.add_argument(
        "--against",
        type=Path,
        metavar="DIR",
        help="only compare with another checkout: the folder that holds its package spos",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    about = "folder for bench.json and scaling.png, made if needed"
    folder_argument(parser, "--out", Path("experiments/benchmarks"), about)


def _bench(arguments: argparse.Namespace) -> None:
    from spos_experiments.bench import command

    done = command.perform(arguments.out, arguments.only, arguments.quick, arguments.against)
    print(f"The numbers are in {done}.")


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


PAPER = Command("paper", ELSEWHERE["paper"], _paper_arguments, _paper)
REPORT = Command("report", ELSEWHERE["report"], _report_arguments, _report)
BENCH = Command("bench", ELSEWHERE["bench"], _bench_arguments, _bench)
DATA = Command("data", ELSEWHERE["data"], _data_arguments, _data)
