"""A short form of the other attacks, and that each of them would see a fault."""

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attack import arguments, floats, interruptions, soak, surroundings, work
from attack.__main__ import NAMES, rooms
from attack.haste import sharing_programs
from attack.interruptions import End
from attack.table import Score, summary

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
VICTIMS = {victim.name: victim for victim in arguments.victims()}


CHEAP = [name for name in VICTIMS if name not in arguments.COSTLY]
# a file that is not there, a run without a history, a model that is none: good for nothing else
REFUSED = {"spos.load", "spos.rl.load", "spos.diagnostics.mixing", "spos.from_pymc"}
REFUSED |= {"spos.prior_predictive", "spos.plot_forces", "spos.rl.deployed.load"}


@pytest.mark.parametrize("name", CHEAP)
def test_a_strange_argument_is_named(name):
    assert arguments.attack(VICTIMS[name], 4).broken == []


@pytest.mark.parametrize("name", [name for name in CHEAP if name not in REFUSED])
def test_good_arguments_are_good(name):
    """Else nothing would be tried but the first complaint."""
    assert arguments.call(VICTIMS[name], {}) == (None, True)


@pytest.mark.parametrize("name", ["spos.run", "spos.sample", "spos.diagnostics.mmd"])
def test_a_strange_argument_of_a_run_is_named(name):
    assert arguments.attack(VICTIMS[name], 4).broken == []


def test_an_argument_that_is_not_named_is_seen():
    def careless(size, shape=1):
        return {}[size]

    def silent(size, shape=1):
        raise ValueError("no")

    def kind(size, shape=1):
        raise ValueError(f"size must be another, got {size!r}")

    def tried(call):
        return arguments.attack(arguments.Victim("x", call, {"size": 1}, ("size", "shape")), 5)

    assert len(tried(careless).broken) == len(tried(silent).broken) == 5
    assert "KeyError" in tried(careless).broken[0]
    assert tried(kind) == Score("x", "arguments", 5, 5, 0, [])


def test_work_that_is_ended_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    """A run while it saves, by a kill, and while it runs, by Ctrl-C; and the writer of a file."""
    rng = random.Random(0)
    ends = [End("int", interruptions.RUNNING), End("kill", interruptions.SAVING)]
    for name, value in sharing_programs(tmp_path / "programs").items():
        monkeypatch.setenv(name, value)
    scores = [
        *interruptions.attack_run("sample, sgld", ends, tmp_path / "run", rng),
        *interruptions.attack_file("record", ends[:1], tmp_path / "file", rng),
    ]
    assert [score.broken for score in scores] == [[]] * 3
    assert scores[0].kind == "kill, saving"


def test_other_bits_are_seen():
    one = {"x": np.arange(3.0)}
    assert work.same(one, {"x": np.arange(3.0)})
    assert not work.same(one, {"x": np.nextafter(np.arange(3.0), 9.0)})
    assert not work.same(one, {})


def test_strange_surroundings_change_nothing(monkeypatch):
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # as here
    here: dict[str, Any] = {}
    exec(surroundings.RUN, here)
    bits = here["run"]()
    assert surroundings.attack(surroundings.ALL_AT_ONCE, bits).broken == []
    assert surroundings.attack(surroundings.Case("other", "print(1)"), bits).broken != []


@pytest.mark.parametrize("method", ["svgd", "gfsf"])  # the second factors a matrix
def test_numbers_of_few_bits_end_in_numbers_or_a_reason(method):
    assert floats.attack(method, "bfloat16", ("normal", "stiff, 1e30")).broken == []


def test_memory_that_grows_is_seen():
    assert soak.judged("flat", [100.0] * 60, soak.WARM).broken == []
    assert soak.judged("growing", list(np.arange(60.0)), soak.WARM).broken != []


def test_the_page_has_a_table_of_every_attack_or_says_which_are_not_in_it():
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (.+?) \| [\d,]+ \|", page, re.MULTILINE)
    missing = re.search(r"^Not in it.*?$", page, re.MULTILINE)
    assert {name for name, _ in rows} | set(
        re.findall(r"`(\w+)`", missing[0] if missing else "")
    ) == set(NAMES)
    assert {rooms(Score(name, "", 0, 0, 0, [])) for name in VICTIMS} == {
        group for name, group in rows if name == "arguments"
    }


def test_the_table_adds_up():
    scores = [Score("a", "k", 3, 1, 1, ["x"]), Score("b", "k", 1000, 1000, 0, [])]
    assert summary({"files": {"all": scores}}).splitlines()[-1] == (
        "| files | all | 1,003 | 1,001 | 1 | 1 |"
    )
