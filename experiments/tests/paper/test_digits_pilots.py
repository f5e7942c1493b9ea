"""`spos paper digits`: short runs that differ in one thing, judged by validation images."""

import dataclasses

import pytest

from spos_experiments.frame.perform import perform
from spos_experiments.paper import digits
from spos_experiments.paper.mnist import settings as mnist

BOTH = dataclasses.replace(digits.Settings(), networks=("dense", "lenet"))


def test_a_line_changes_one_thing():
    plans = list(BOTH.plans())
    for network in ("dense", "lenet"):
        (first, base), *others = [each for each in plans if each[1].network == network]
        assert first == "as chosen"
        for _, plan in others:
            changed = [a != b for a, b in zip(plan, base, strict=True)]
            assert sum(changed) == 1


def test_what_was_chosen_is_what_the_digits_are_run_with():
    for network, hidden in (("dense", (400, 400)), ("lenet", mnist.Settings().channels)):
        base = next(p for _, p in BOTH.plans() if p.network == network)
        full = mnist.Settings().plan("spos", network, hidden)
        same = dict.fromkeys(("particles", "epochs", "averaged"))
        assert base._replace(**same) == full._replace(**same)


@pytest.mark.parametrize("network", ["dense", "lenet"])
def test_a_record(tmp_path, network):
    made = perform("digits", tmp_path, quick=True, changed={"networks": (network,)})
    rows = made.numbers["rows"]
    assert [row["change"] for row in rows] == list(digits.CHANGES[network])
    for row in rows:
        assert 0 <= row["error"] < 0.95
        assert row["nll"] > 0
    with_seed = perform("digits", tmp_path, quick=True, changed={"networks": (network,)})
    errors = [[row["error"] for row in each.numbers["rows"]] for each in (made, with_seed)]
    assert errors[0] == errors[1]
    assert dataclasses.asdict(made.table) == dataclasses.asdict(with_seed.table)
