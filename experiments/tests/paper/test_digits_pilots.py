"""`spos paper digits`: short runs that differ in one thing, judged by validation images."""

import dataclasses

import pytest

from spos_experiments.frame.perform import perform
from spos_experiments.paper import digits
from spos_experiments.paper.mnist import settings as mnist

BOTH = dataclasses.replace(digits.Settings(), networks=("dense", "lenet"))


def told(plans):
    """By network and method."""
    made = {}
    for label, plan in plans:
        made.setdefault((plan.network, plan.method), {})[label] = plan
    return made


def test_a_line_changes_what_it_says():
    """And nothing else, but that cycles tell which networks are averaged; the temperature stays,
    whatever the number of networks, unless β is changed."""
    usual, apart = mnist.Settings(), {"averaged", "beta"}
    for (network, method), lines in told(BOTH.plans()).items():
        base, changes = lines["as chosen"], digits.CHANGES[network][method]
        assert next(iter(lines)) == "as chosen"
        assert list(lines) == list(changes)
        for label, plan in lines.items():
            pairs = zip(plan._fields, plan, base, strict=True)
            changed = {name for name, a, b in pairs if a != b and name not in apart}
            assert changed == set(changes[label]) - apart
            beta = changes[label].get("beta", usual.beta)
            many = usual.plan(method, network, plan.hidden).particles
            assert plan.beta / plan.particles == pytest.approx(beta / many)
            told_of = len(set(changes[label]) - {"averaged"})
            assert told_of == (0 if label == "as chosen" else 1 + label.count(","))


def test_what_was_chosen_is_what_the_digits_are_run_with():
    """At the same temperature M / (M + β)."""
    for (network, method), lines in told(BOTH.plans()).items():
        base = lines["as chosen"]
        hidden = mnist.Settings().channels if network == "lenet" else (400, 400)
        full = mnist.Settings().plan(method, network, hidden)
        same = dict.fromkeys(("particles", "epochs", "averaged", "beta"))
        assert base._replace(**same) == full._replace(**same)
        assert base.beta / base.particles == full.beta / full.particles


@pytest.mark.parametrize(
    ("network", "methods"), [("dense", ("svgd", "dropout")), ("lenet", ("spos",))]
)
def test_a_record(tmp_path, network, methods):
    changed = {"networks": (network,), "methods": methods}
    made = perform("digits", tmp_path, quick=True, changed=changed)
    rows = made.numbers["rows"]
    expected = [(method, label) for method in methods for label in digits.CHANGES[network][method]]
    assert [(row["method"], row["change"]) for row in rows] == expected
    for row in rows:
        assert 0 <= row["error"] < 0.95
        assert row["nll"] > 0
        like = [row[name] for name in ("method", "particles", "epochs")]
        first = next(
            one for one in rows if [one[n] for n in ("method", "particles", "epochs")] == like
        )
        more = row["error"] - first["error"]
        assert row["more"]["mean"] == pytest.approx(more, abs=1e-4)
    with_seed = perform("digits", tmp_path, quick=True, changed=changed)
    errors = [[row["error"] for row in each.numbers["rows"]] for each in (made, with_seed)]
    assert errors[0] == errors[1]
    assert dataclasses.asdict(made.table) == dataclasses.asdict(with_seed.table)


def test_svgd_is_set_beside_spos_with_the_same_change(tmp_path, monkeypatch):
    half = {"half the step": {"step_size": 1e-3}}
    changes = {"spos": {"as chosen": {}, **half}, "svgd": {"as chosen": {}, "3 cycles": {}, **half}}
    monkeypatch.setitem(digits.CHANGES, "dense", changes)
    made = perform("digits", tmp_path, quick=True, changed={"methods": ("spos", "svgd")})
    ours, theirs = made.numbers["rows"][:2], made.numbers["rows"][2:]
    beside = [row.get("more_than_spos", {}).get("mean") for row in theirs]
    assert beside[1] is None
    for n, one in zip((0, 2), ours, strict=True):
        assert beside[n] == pytest.approx(theirs[n]["error"] - one["error"], abs=1e-4)
    assert not any("more_than_spos" in row for row in ours)
