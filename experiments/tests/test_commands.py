"""The commands that this package adds to `spos`, as they are found, declared and refused."""

import dataclasses
import importlib
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import spos
from spos import cli
from spos.cli import main
from spos_experiments import paper
from spos_experiments.frame import perform

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
POINTS = PROJECT["entry-points"][cli.GROUP]


def test_no_other_project_of_the_name_is_taken_for_the_library():
    (library,) = (need for need in map(Requirement, PROJECT["dependencies"]) if need.name == "spos")
    assert library.specifier.contains(spos.__version__, prereleases=True)
    for others in ("1.0.0a1", "1.6.0b0"):  # the first and the last on PyPI
        assert not library.specifier.contains(others, prereleases=True)


def test_every_command_is_offered_and_loads():
    assert list(POINTS) == list(cli.ELSEWHERE)
    for name, place in POINTS.items():
        module, attribute = place.split(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, cli.Command)
        assert (command.name, command.help) == (name, cli.ELSEWHERE[name])


@pytest.mark.parametrize("name", POINTS)
def test_every_command_has_help(name, capsys):
    assert main([name, "--help"]) == 0
    assert cli.ELSEWHERE[name] in capsys.readouterr().out.replace("\n", " ")


ROOT = Path(__file__).parents[2]
BLOCKS = [
    (page, line)
    for page in sorted(
        [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("experiments/*.md")]
    )
    for line in re.findall(r"^(?:[A-Z_]+=\S+ )*spos ([a-z][^#\n]*)", page.read_text("utf-8"), re.M)
    if page.name != "CHANGELOG.md"
]


@pytest.mark.parametrize(
    ("page", "line"), BLOCKS, ids=lambda each: str(getattr(each, "name", each))
)
def test_a_command_that_a_page_shows_is_understood(page, line):
    arguments, strange = cli._parser().parse_known_args(shlex.split(line))
    assert callable(arguments.run)
    assert strange == []


@pytest.mark.parametrize("name", paper.EXPERIMENTS)
def test_every_experiment_has_the_shape_of_one(name):
    found = paper.find(name)
    assert found.TITLE
    assert found.ABOUT.endswith(".")
    assert f"`spos paper {name}`" in found.__doc__
    given = ["settings", "seed", "tick", "folder"]
    unwrapped = inspect.signature(found.results, follow_wrapped=False)
    assert list(unwrapped.parameters) == given
    assert list(inspect.signature(found.draw).parameters) == ["record"]
    settings = found.Settings()
    assert settings.quick() != settings
    assert hash(settings) == hash(found.Settings())  # frozen


def test_help_loads_no_experiment_and_no_plotting():
    code = (
        "import sys; from spos.cli import main; main(['paper', '--help']); "
        "loaded = [n for n in sys.modules if n.startswith('spos_experiments.paper.')]; "
        "sys.exit(bool(loaded or {'matplotlib', 'sklearn'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


@pytest.fixture
def asked(monkeypatch):
    """What the command line hands to the experiments."""
    calls = []
    monkeypatch.setattr(perform, "perform", lambda *given: calls.append(given))
    return calls


def test_all_runs_the_synthetic_part_of_the_paper(asked, tmp_path):
    assert main(["paper", "all", "--quick", "--out", str(tmp_path), "--seed", "5"]) == 0
    assert asked == [(name, tmp_path, 5, True, {}, None) for name in paper.SYNTHETIC]


def test_what_every_experiment_takes_may_stand_before_its_name(asked, tmp_path):
    for words in (
        "--quick --seed 5 gaussian",
        "gaussian --seed 5 --quick",
        "--seed 5 gaussian --q",
    ):
        assert main(["paper", "--out", str(tmp_path), *words.split()]) == 0
    assert main(["paper", "--seed", "4", "--out", "x", "gaussian", "--seed", "5"]) == 0
    *first, last = asked
    assert first == [("gaussian", tmp_path, 5, True, {}, None)] * 3
    assert last == ("gaussian", Path("x"), 5, False, {}, None)


@pytest.mark.parametrize(
    "words",
    [
        "--tasks swing_up --gradients a2c --methods svpg spos --seeds 3",
        "--task swingup --gradient a2c --methods svpg spos --seeds 3",
        "--task swingup swing_up --gradient a2c --method svpg spos --seeds 3 --executor slurm",
    ],
)
def test_an_option_takes_both_spellings(words, asked):
    assert main(["paper", "control", *words.split()]) == 0
    [(name, _, seed, quick, changed, executor)] = asked
    assert (name, seed, quick) == ("control", 0, False)
    assert executor == ("slurm" if "slurm" in words else None)
    assert changed == {
        "tasks": ("swing_up",),
        "gradients": ("a2c",),
        "methods": ("svpg", "spos"),
        "seeds": 3,
    }
    dataclasses.replace(paper.find("control").Settings(), **changed)


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        ("accuracy --models radon funnel", {"models": ("radon", "funnel")}),
        ("regression --splits 2 --data here", {"splits": 2, "data": "here"}),
        ("mnist --hidden 800 700 --epochs 5", {"hidden": ((800, 700),), "epochs": 5}),
        ("mnist --dataset digits", {"datasets": ("digits",)}),
    ],
)
def test_an_option_changes_a_setting_and_the_record_tells_the_command(words, changed, asked):
    assert main(["paper", *words.split()]) == 0
    name, out, seed, quick, found, _ = asked[0]
    assert found == changed
    again = perform.command(name, out, seed, quick, found)
    assert main(again.split()[1:]) == 0
    assert asked[0] == asked[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("control --task chess", "cartpole, swing_up, double_pendulum, got chess"),
        ("control --gradient guess", "reinforce, a2c"),
        ("control --methods magic", "svpg, spos, independent"),
        ("control --seeds 0", "--seeds must be at least 1, got 0"),
        ("accuracy --models guess", "--models must be some of linear"),
        ("regression --datasets chess", "--datasets must be some of boston"),
        ("regression --methods svpg", "--methods must be some of sgld, svgd, spos"),
        ("regression --splits 0", "at least 1"),
        ("mnist --hidden 10 0", "at least 1"),
        ("mnist --datasets mnist digits", "--datasets takes one name, got mnist digits"),
        ("gaussian --seeds 2", "--seeds cannot be used with the experiment gaussian"),
        ("gaussian --data=here", "--data cannot be used with the experiment gaussian"),
        ("all --tasks cartpole", "--tasks cannot be used with the experiment all"),
    ],
)
def test_a_wrong_option_is_one_sentence(words, told, asked, capsys):
    assert main(["paper", *words.split()]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("spos paper: ")
    assert told in line
    assert asked == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("gaussian extra", "unrecognized arguments: extra"),
        ("control --seeds many", "argument --seeds: invalid int value: 'many'"),
        ("--seed 1", "required: NAME"),
        ("gaussian --seed -1", "must be a whole number"),
    ],
)
def test_wrong_words_are_exit_code_2(words, told, asked, capsys):
    assert main(["paper", *words.split()]) == 2
    assert told in capsys.readouterr().err
    assert asked == []


def test_an_unknown_name_lists_the_names(capsys):
    assert main(["paper", "dance"]) == 2
    said = capsys.readouterr().err
    for name in ("all", *paper.EXPERIMENTS):
        assert name in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("regression --datasets boston", "spos data fetch boston"),
        ("mnist", "spos data fetch mnist"),
        ("gaussian --quick --out {}/file", "cannot write to the folder "),
    ],
)
def test_what_cannot_be_done_is_one_sentence(words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("SPOS_DATA", raising=False)
    monkeypatch.setenv("SPOS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "file").write_text("here first")
    given = words.format(tmp_path).split()
    assert main(["paper", "--out", str(tmp_path), *given]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("spos paper: ")
    assert told in line


def test_a_library_that_is_missing_is_one_sentence(monkeypatch, capsys):
    def absent(name):
        raise ImportError("this needs SciPy: pip install scipy")

    monkeypatch.setattr(paper, "find", absent)
    assert main(["paper", "mnist", "--quick"]) == 1
    assert capsys.readouterr().err == "spos paper: this needs SciPy: pip install scipy\n"
