"""`spos paper control` with runs of two iterations, and its findings from runs made up."""

import dataclasses
import importlib
import io
import json
from pathlib import Path

import numpy as np
import pytest

from spos import rl
from spos.io import figures
from spos_experiments.frame import page, record
from spos_experiments.frame.perform import perform as perform_experiment
from spos_experiments.paper import control
from spos_experiments.paper.control import protocol
from spos_experiments.paper.control.findings import findings

TINY = {
    "tasks": ("swing_up",),
    "gradients": ("a2c",),
    "methods": ("spos",),  # each one is a program to compile
    "seeds": 2,
    "num_iterations": (("swing_up", 2),),
    "num_particles": 2,
    "num_episodes": 2,
    "hidden": (2,),
    "ablation_iterations": 0,
}
NAMES = [f"swing_up-a2c-spos-seed{n}" for n in (0, 1)]


def perform(out):
    return perform_experiment("control", out, changed=TINY)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    perform(out)
    return out


def test_a_row_says_what_was_run_and_what_came_of_it(ran):
    made = json.loads((ran / "control" / "record.json").read_text())
    assert made["numbers"]["missing"] == []
    rows = made["numbers"]["rows"]
    assert [(row["task"], row["gradient"], row["method"]) for row in rows] == [
        ("swing_up", "a2c", "spos")
    ]
    for row in rows:
        assert row["seeds"] == 2
        assert row["seconds"] > 0
        assert row["settings"]["num_particles"] == 2
        for name in ("final_return", "best_return", "auc", "spread", "coverage"):
            assert np.isfinite(row[name])
            assert row[f"{name}_se"] >= 0
        assert row["best_return"] >= row["final_return"]


def test_the_runs_are_kept_whole_and_nothing_else(ran):
    kept = sorted(path.name for path in (ran / "control" / "runs").iterdir())
    assert kept == sorted(f"{name}.npz" for name in NAMES)
    run = rl.load(ran / "control" / "runs" / kept[0])
    assert run.returns.shape == (2, 2)
    assert run.policy(particle=0)(np.zeros(4)).shape == (1,)


def test_the_best_particle_is_filmed_and_the_report_shows_it(ran, tmp_path):
    from PIL import Image

    content = (ran / "control" / "swing_up.gif").read_bytes()
    assert content.startswith(b"GIF8")
    assert len(content) < 700_000
    made = record.read(ran / "control" / "record.json")
    [film] = made.numbers["films"]
    with Image.open(io.BytesIO(content)) as picture:
        assert picture.n_frames == len(film["positions"]) > 5
        assert picture.info["duration"] == 50
    assert (film["method"], film["gradient"], film["seed"]) == ("spos", "a2c", 0)
    assert "swing_up.gif" in [figure.file for figure in made.figures]
    html = page.build(ran, tmp_path / "report.html").read_text()
    assert html.count("data:image/gif;base64,") == 1


def test_a_record_can_be_drawn_again_from_its_file(ran):
    made = record.read(ran / "control" / "record.json")
    with figures.style():
        drawings = control.draw(made)
    assert [drawing.file for drawing in drawings] == [figure.file for figure in made.figures]


def test_only_what_is_missing_is_run_again(ran, monkeypatch):
    lost, (began, train) = ran / "control" / "runs" / f"{NAMES[1]}.npz", ([], protocol.train)
    before = json.loads((ran / "control" / "record.json").read_text())

    def watched(job, *others):
        began.append(job.name(control.Settings(**TINY)))
        return train(job, *others)

    monkeypatch.setattr(protocol, "train", watched)
    perform(ran)
    assert began == []
    lost.unlink()
    perform(ran)
    assert began == [NAMES[1]]
    after = json.loads((ran / "control" / "record.json").read_text())
    for one, two in zip(before["numbers"]["rows"], after["numbers"]["rows"], strict=True):
        assert {**one, "seconds": 0} == {**two, "seconds": 0}


SETTINGS = control.Settings(ablation_iterations=0)


def made_up(shift, done=lambda job: True, settings=SETTINGS):
    """Findings from runs whose returns are near 0, and near `shift` for SPOS-PG."""
    random = np.random.default_rng(0)
    todo = protocol.jobs(settings, 0)
    found = {}
    for job in filter(done, todo):
        level = shift if job.method == "spos" else 0.0
        found[job] = rl.Trained(
            particles={}, returns=level + random.normal(size=(40, 16)),
            coverage=np.full(40, 0.5), settings={"seed": job.seed}, versions={}, seconds=1.0,
            interrupted=False,
        )  # fmt: skip
    return findings(settings, 0, todo, found)


@pytest.fixture
def no_films(monkeypatch):
    """Runs that are made up have no policies to film."""
    # by its name, since the package has a function of the same name as the module
    module = importlib.import_module("spos_experiments.paper.control.findings")
    monkeypatch.setattr(module, "PACE", {})


@pytest.mark.usefixtures("no_films")
@pytest.mark.parametrize(("shift", "verdict"), [(5.0, "holds"), (-5.0, "not seen")])
def test_claims_follow_the_numbers(shift, verdict):
    larger, steadier, faster, wider, peaks = made_up(shift).claims
    assert (larger.verdict, faster.verdict) == (verdict, verdict)
    assert steadier.verdict != "holds"
    assert wider.verdict == "not seen"
    assert peaks.verdict.startswith("holds only when")  # -341 is passed, 405 is not
    turned = "double_pendulum with a2c" in larger.measured.split("other way round for")[1]
    assert turned == (shift < 0)


@pytest.mark.usefixtures("no_films")
def test_all_panels_and_the_ablation_are_drawn(ran):
    settings = control.Settings()
    found = made_up(5.0, settings=settings)
    assert len(found.numbers["ablation"]) == 11
    made = dataclasses.replace(
        record.read(ran / "control" / "record.json"),
        numbers=found.numbers,
        settings=dataclasses.asdict(settings),
    )
    with figures.style():
        returns, coverage, ablation = control.draw(made)
    assert (len(returns.figure.axes), len(coverage.figure.axes)) == (6, 6)
    assert len(ablation.figure.axes) == 2


@pytest.mark.usefixtures("no_films")
def test_runs_that_are_missing_are_named_and_one_seed_is_not_judged():
    found = made_up(5.0, lambda job: job.seed == 0)
    assert len(found.numbers["missing"]) == 48
    assert "swing_up-a2c-spos-seed3" in found.numbers["missing"]
    assert "48 of 60 runs are not done yet" in found.table.caption
    assert [claim.claim[:15] for claim in found.claims] == ["The best policy"]


def test_the_ablation_comes_after_the_first_seed():
    todo = protocol.jobs(control.Settings(), 0)
    assert len(set(todo)) == len(todo) == 60 + 11
    assert {job.num_iterations for job in todo[12:23]} == {100}


HERE = Path(__file__).parents[3]
RECORDED = HERE / "experiments" / "results" / "control" / "record.json"


def test_the_page_quotes_the_record():
    table = record.read(RECORDED).table.markdown()
    assert table in (HERE / "docs" / "policies.md").read_text()


def test_the_table_of_the_page_has_a_line_for_each_row(ran):
    made = record.read(ran / "control" / "record.json")
    lines = made.table.markdown().splitlines()
    assert len(lines) == 2 + len(made.numbers["rows"])
    assert lines[2].startswith("| swing_up, a2c, SPOS-PG | 2 | ")
