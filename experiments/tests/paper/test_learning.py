"""`spos paper learning` and `committee` with tiny runs, and claims from runs made up."""

import dataclasses
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos import rl
from spos.cli import UsageError
from spos.targets.target import as_target
from spos_experiments.frame import record
from spos_experiments.frame.bootstrap import interquartile_mean, interval, median
from spos_experiments.frame.perform import perform
from spos_experiments.paper.committee.findings import findings as committee_findings
from spos_experiments.paper.committee.measure import Outcome
from spos_experiments.paper.committee.settings import Settings as CommitteeSettings
from spos_experiments.paper.gymnasium import learn
from spos_experiments.paper.gymnasium.findings import (
    exploration_claims,
    left_valley,
    solved_claim,
)
from spos_experiments.paper.gymnasium.settings import METHODS, SOLVED, SPARSE
from spos_experiments.paper.gymnasium.settings import Settings as Tasks
from spos_experiments.paper.learning import protocol
from spos_experiments.paper.learning.findings import claims, measures
from spos_experiments.paper.learning.settings import GRADIENTS, TASKS, Settings


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    perform("learning", out, quick=True)
    return out


def test_a_record_has_the_pilot_and_the_judged_seeds(ran):
    made = json.loads((ran / "learning" / "record.json").read_text())["numbers"]
    assert [row["method"] for row in made["rows"]] == ["spos", "svpg", "independent"]
    for pilot, row in zip(made["pilots"], made["rows"], strict=True):
        assert len(pilot["tries"]) == len(pilot["returns"]) == 2
        best = pilot["tries"][int(np.argmax(pilot["returns"]))]
        assert pilot["chosen"] == row["settings"] == best
        assert row["seeds"] == [0, 1]
    assert made["missing"] == []
    assert {path.name for path in (ran / "learning").glob("*.png")} == {"curves.png", "pilots.png"}


def test_what_has_ended_is_not_run_again(ran, monkeypatch):
    before = json.loads((ran / "learning" / "record.json").read_text())["numbers"]
    monkeypatch.setattr(protocol, "pilot", None)
    monkeypatch.setattr(protocol, "judge", None)
    perform("learning", ran, quick=True)
    assert json.loads((ran / "learning" / "record.json").read_text())["numbers"] == before


def test_the_policies_that_are_kept_go_to_work_together(ran):
    perform("committee", ran, quick=True)
    made = json.loads((ran / "committee" / "record.json").read_text())["numbers"]
    assert [row["method"] for row in made["rows"]] == ["spos", "svpg", "independent"]
    for row in made["rows"]:
        assert (row["seeds"], len(made["worlds"])) == ([0, 1], 4)
        assert np.isfinite(row["worst"]["mean"]).all()
    assert (ran / "committee" / "committee.gif").read_bytes().startswith(b"GIF8")
    with pytest.raises(UsageError, match="make them with `spos paper learning`"):
        perform("committee", ran / "elsewhere", quick=True)


def test_a_task_of_gymnasium_is_learned_judged_and_kept(tmp_path, monkeypatch):
    pytest.importorskip("gymnasium")
    made = perform("gymnasium", tmp_path, quick=True)
    [row] = made.numbers["rows"]
    assert (row["task"], len(row["curve"]), len(row["alone"])) == ("CartPole-v1", 2, 2)
    assert row["together"] >= 1
    [kept] = (tmp_path / "gymnasium" / "runs").iterdir()
    assert kept.suffix == ".npz"
    monkeypatch.setattr(learn, "outcome", None)
    assert perform("gymnasium", tmp_path, quick=True).numbers == made.numbers
    for earned, told in ((500.0, "holds"), (400.0, "not seen")):
        assert solved_claim([{**row, "together": earned}]).verdict == told


def test_the_task_with_a_sparse_reward_is_learned_by_all_methods():
    settings = Tasks(seeds=2)
    jobs = settings.jobs(0)
    assert len(jobs) == len(set(jobs)) == 2 * 4 + 5 * 3 - 2
    sparse = [job for job in jobs if job.task == SPARSE]
    assert {job.method for job in sparse} == set(METHODS)
    assert {job.seed for job in sparse} == set(range(5))


def test_a_rival_learns_every_task_once_and_says_what_it_needs(monkeypatch):
    every = Tasks(tasks=tuple(SOLVED), rivals=("stable-baselines3",))
    theirs = [job for job in every.jobs(0) if job.method == "stable-baselines3"]
    assert [job.task for job in theirs] == list(Tasks().tasks)  # the small ones
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(UsageError, match="experiments\\[control\\]"):
        learn.by_stable_baselines(theirs[0], 10, 0.99, 1)


@pytest.mark.parametrize(("ours", "told"), [(1.0, "holds"), (0.5, "not seen")])
def test_a_sparse_reward_that_is_found_more_often_is_seen(ours, told):
    shares = {"spos": ours, "svpg": 0.25, "independent": 0.5}
    rows = [
        {
            "task": SPARSE,
            "method": m,
            "alone": [95.0] * int(4 * s) + [0.0] * int(4 - 4 * s),
        }
        for m, s in shares.items()
        for _ in range(5)
    ]
    [claim] = exploration_claims(rows)
    assert claim.verdict.startswith("holds only" if told == "not seen" else told)
    assert exploration_claims(rows[1:]) == []


@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize("task", TASKS)
def test_steps_fade_where_the_lesson_says_so(task, gradient):
    settings = dataclasses.replace(Settings(), gradient=gradient)
    row = protocol.USUAL[gradient]
    made = protocol.learner(settings, protocol.Part(task, protocol.JUDGED, 0), row)
    assert (made.gradient, made.num_iterations) == (gradient, settings.lesson(task).num_iterations)
    first, last = (float(made.sampler.step_size(n)) for n in (0, made.num_steps))
    assert first == pytest.approx(row["step_size"])
    assert last == pytest.approx((0.05 if task == "double_pendulum" else 1.0) * first)


def test_all_methods_have_as_many_tries_over_the_same_ranges():
    settings = Settings()
    spos, svpg, alone = (protocol.tries(settings, name) for name in ("spos", "svpg", "independent"))
    assert len(spos) == len(svpg) == len(alone) == settings.tries
    assert [row["step_size"] for row in spos] == [row["step_size"] for row in alone]
    assert [{**row, "beta": protocol.INFINITE} for row in spos] == svpg
    for name, (low, high) in (("beta", settings.betas), ("alpha", settings.alphas)):
        shares = np.log([row[name] / low for row in spos[1:]]) / np.log(high / low)
        cells = np.floor(shares * (settings.tries - 1)).astype(int)
        assert sorted(cells) == list(range(settings.tries - 1))


@pytest.mark.parametrize("method", ["svpg", "independent"])
def test_the_numbers_of_a_method_make_spos_that_method(method):
    """Steps of SPOS with these numbers, and of the method itself, on made-up scores."""
    row = protocol.tries(Settings(), method)[1]
    ours, theirs = (
        rl.learner("cartpole", name, num_particles=3, **row) for name in ("spos", method)
    )
    points = 4.0 * jax.random.normal(jax.random.key(0), (3, 5))  # as far apart as policies
    target = as_target(lambda x: -jnp.sum(x**4))
    ends = []
    for learner in (ours, theirs):
        sampler = dataclasses.replace(learner.sampler, target=target)
        ends.append(spos.run(sampler, jax.random.key(1), points, 5)[0].particles)
    np.testing.assert_allclose(*ends, rtol=1e-5)
    assert not np.allclose(ends[0], points, rtol=1e-3)


def test_pilot_seeds_are_not_judged():
    settings = Settings()
    judged = [p for p in protocol.parts(settings) if p.kind == protocol.JUDGED]
    numbers = [part.number for part in judged if part.task == settings.tasks[0]]
    seeds = [n for k in numbers for n in protocol.block(settings.seeds, settings.block, k)]
    assert seeds == list(range(20))
    assert settings.pilot_seed not in seeds


def made_up(shift, seeds=8, goal=400.0):
    random = np.random.default_rng(0)

    def some(level, spread):
        return measures(level + spread * random.normal(size=(seeds, 20, 16)))

    return {
        ("swing_up_sines", "spos"): some(goal + shift, 1.0),
        ("swing_up_sines", "svpg"): some(goal, 1.0 + shift / 10),
        ("swing_up_sines", "independent"): some(goal, 1.0),
    }


@pytest.mark.parametrize(("shift", "verdict"), [(9.0, "holds"), (-9.0, "not seen")])
def test_claims_follow_the_numbers(shift, verdict):
    solved, larger, steadier, faster, alone = claims(made_up(shift), "ppo")
    assert solved.verdict == "holds"
    assert [c.verdict for c in (larger, steadier, faster, alone)] == [verdict] * 4
    assert ("round on swing_up_sines" in larger.measured) == (shift < 0)


def test_a_task_below_its_goal_is_not_solved_and_few_seeds_are_not_judged():
    assert claims(made_up(0.0, goal=300.0), "ppo")[0].verdict == "not seen"
    assert claims(made_up(9.0, seeds=3), "ppo") == []


def test_averages_of_known_numbers():
    runs = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1000.0])
    assert interquartile_mean(runs) == pytest.approx(3.5)
    assert interquartile_mean(np.array([0.0, 1.0, 2.0])) == pytest.approx(1.0)
    found = interval(runs, median)
    assert (found.value, found.low <= 3.5 <= found.high) == (3.5, True)
    assert np.isnan(interval([1.0]).low)


def test_an_interval_has_the_truth_about_as_often_as_it_says():
    """20 normal draws, 200 times: the bootstrap's 95 % are about 92 there, give or take 2. Fails
    once in ten thousand seeds; intervals of half the width hold it 7 times of 10."""
    random = np.random.default_rng(1)
    found = [interval(random.normal(size=20)) for _ in range(200)]
    share = np.mean([one.low < 0 < one.high for one in found])
    assert 0.84 < share < 0.99


def outcomes(gain, order):
    """Committees that earn `gain` more than their best, in worlds of growing loss and doubt."""
    random = np.random.default_rng(0)
    settings = CommitteeSettings()
    loss = np.arange(len(settings.worlds), dtype=float)
    made = {}
    for method, more in (("spos", gain), ("independent", 0.0)):
        for seed in range(6):
            alone = 300.0 - loss[:, None] + 0.1 * random.normal(size=(len(loss), 4))
            best = alone[:, 0] + more
            made[method, seed] = Outcome(0, alone, best, best, order * loss)
    return committee_findings(settings, made, {})


@pytest.mark.parametrize(("gain", "order"), [(5.0, 1.0), (-5.0, -1.0)])
def test_claims_of_committees_follow_the_numbers(gain, order):
    usual, worst, doubt, ours = outcomes(gain, order).claims
    assert [c.verdict for c in (usual, worst)] == (
        ["holds only when the method is SPOS-PG"] * 2 if gain > 0 else ["not seen"] * 2
    )
    assert doubt.verdict == ("holds" if order > 0 else "not seen")
    assert ours.verdict == ("holds" if gain > 0 else "not seen")


HERE = Path(__file__).parents[3]


def test_the_page_quotes_the_record_of_the_committee():
    made = record.read(HERE / "experiments" / "results" / "committee" / "record.json")
    assert made.table.markdown() in (HERE / "docs" / "policies.md").read_text()


def test_the_page_quotes_the_record_of_gymnasium():
    made = record.read(HERE / "experiments" / "results" / "gymnasium" / "record.json")
    page = " ".join((HERE / "docs" / "policies.md").read_text().split())
    rows = made.numbers["rows"]
    first = [row for row in rows if (row["method"], row["seed"]) == ("spos", 0)]
    shown = [row for row in made.table.rows if tuple(row[1:3]) == ("SPOS-PG", "0")]
    assert [row[0] for row in shown] == [row["task"] for row in first]
    for task, _, _, solved, together, alone, _ in shown:  # rounded once, as the numbers are not
        assert f"| {task} | {solved} | {together} | {alone} |" in page
    ours = {row["task"]: row["together"] for row in first}
    rivals = [row for row in rows if row["method"] == "stable-baselines3"]
    assert rivals
    for row in rivals:
        assert f"| {row['task']} | {ours[row['task']]:.1f} | {row['together']:.1f} |" in page
    found = {name: f"{np.mean(some):.0%}" for name, some in left_valley(rows).items()}
    shares = [found[name].replace("%", " %") for name in METHODS]
    assert "{} of SPOS-PG do, {} of SVPG and {} of those that learn alone".format(*shares) in page


RECORDS = {
    "learning": ("swing_up_sines", "double_pendulum"),
    "gradients/a2c/learning": ("cartpole", "swing_up", "double_pendulum"),
    "gradients/reinforce/learning": ("cartpole", "swing_up", "double_pendulum"),
}


@pytest.mark.parametrize("place", RECORDS)
def test_the_page_quotes_the_record(place):
    made = record.read(HERE / "experiments" / "results" / place / "record.json")
    page = (HERE / "docs" / "policies.md").read_text()
    column = made.table.headings.index("mean")
    for task in RECORDS[place]:
        means = [row[column] for row in made.table.rows if row[0].startswith(f"{task},")]
        assert len(means) == 3
        assert f"| {' | '.join(means)} |" in page
