"""Every experiment, in its quick form, through the command line; then the page made from them."""

import json
import re

import pytest

from spos.cli import main
from spos.io import figures
from spos_experiments import paper
from spos_experiments.frame import record
from spos_experiments.frame.perform import summary
from spos_experiments.paper.multimode import protocol

FIELDS = {
    *("format", "experiment", "title", "about", "command", "quick", "seed", "seconds"),
    *("settings", "versions", "claims", "table", "figures", "numbers", "cpu_seconds"),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A function that gives the folder of an experiment's quick run, which is done only once."""
    out, done = tmp_path_factory.mktemp("results"), set()

    def folder(name):
        if name not in done:
            assert main(["paper", name, "--quick", "--out", str(out), "--seed", "3"]) == 0
            done.add(name)
        return out / name

    return folder


# `theory` takes longest and has tests of its own; the others keep runs in the folder
APART = (
    *("theory", "control", "learning", "committee", "gymnasium"),
    *("accuracy", "tall", "interaction", "functions", "regression"),
    *("grades", "tables", "bde", "digits", "mnist"),
)
every = pytest.mark.parametrize("name", [n for n in paper.EXPERIMENTS if n not in APART])


@every
def test_an_experiment_leaves_a_complete_record_and_its_figures(name, ran):
    folder = ran(name)
    found = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    assert set(found) == FIELDS
    assert (found["format"], found["experiment"], found["seed"]) == (1, name, 3)
    assert found["quick"] is True
    assert found["seconds"] >= 0
    assert found["cpu_seconds"] >= 0
    assert found["command"] == f"spos paper {name} --quick --out {folder.parent} --seed 3"
    assert {"spos", "jax", "numpy", "python"} <= set(found["versions"])
    assert found["settings"]
    assert found["numbers"]
    files = {figure["file"] for figure in found["figures"]}
    assert files
    assert files | {"record.json"} == {path.name for path in folder.iterdir()}
    for file in files:
        assert (folder / file).read_bytes().startswith(b"\x89PNG")


@every
def test_a_claim_has_words_numbers_a_rule_and_a_verdict(name, ran):
    made = record.read(ran(name) / "record.json")
    assert made.claims
    for claim in made.claims:
        assert re.search(r"\d", claim.measured), claim
        assert claim.rule
        assert claim.claim.endswith(".")


@every
def test_a_record_can_be_drawn_again_from_its_file(name, ran):
    made = record.read(ran(name) / "record.json")
    with figures.style():
        drawings = paper.find(name).draw(made)
    assert [drawing.file for drawing in drawings] == [figure.file for figure in made.figures]


def test_the_seed_decides_the_numbers():
    tiny = protocol.Settings(particles=5, num_steps=20, repeats=2, hasty=True)
    first, same, other = (protocol.simulate(tiny, n, "exp(−V)", "SGLD").end for n in (3, 3, 4))
    assert (first == same).all()
    assert (first != other).any()


def test_the_table_and_the_claims_are_printed(ran, tmp_path, capsys):
    made = record.read(ran("collapse") / "record.json")
    printed = summary(made, tmp_path)
    for row in made.table.rows:
        assert re.search(r"\s+".join(map(re.escape, row)), printed)
    for claim in made.claims:
        assert claim.claim in printed
        assert f"→ {claim.verdict}" in printed


def test_the_page_shows_every_claim_and_links_it_to_its_command(ran, tmp_path, capsys):
    names = ("gaussian", "collapse")
    folders = [ran(name) for name in names]
    page = tmp_path / "new" / "page.html"
    assert main(["report", "--results", str(folders[0].parent), "--out", str(page)]) == 0
    assert str(page) in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    for name, folder in zip(names, folders, strict=True):
        made = record.read(folder / "record.json")
        assert text.count(f'id="command-{name}"') == 1
        assert text.count(f'href="#command-{name}"') == len(made.claims)  # a link from each
