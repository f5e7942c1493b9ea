"""`docs/tables.md` says what the records say."""

from pathlib import Path

from spos_experiments.frame import record
from spos_experiments.paper.mnist.findings import percent
from spos_experiments.paper.regression.findings import LABELS, regression_table

HERE = Path(__file__).parents[3]
PAGE = (HERE / "docs" / "tables.md").read_text()
WORDS = " ".join(PAGE.split())


def recorded(name):
    return record.read(HERE / "experiments" / "results" / name / "record.json")


def test_the_page_quotes_the_regressions():
    made = recorded("regression")
    assert regression_table(made) in PAGE
    rmse, ll = made.numbers["ranks"]["rmse"], made.numbers["ranks"]["ll"]
    assert f"{rmse['spos']:.1f} of 3 by error and {ll['spos']:.1f} by log-likelihood" in WORDS
    for method in ("sgld", "svgd"):
        assert f"{rmse[method]:.1f} and {ll[method]:.1f} for {LABELS[method]}" in WORDS
    for cost in made.numbers["cost"].values():
        assert f"{cost['ratio']:.2f}" in WORDS


def test_the_page_quotes_the_digits():
    made = recorded("mnist")
    assert made.table.markdown() in PAGE
    for row in made.numbers["rows"]:
        assert f"{percent(row['errors'])} %" in WORDS


def test_the_page_quotes_what_helps_with_digits():
    made = recorded("digits")
    assert made.table.markdown() in PAGE
    for row in made.numbers["rows"][:2]:
        assert f"{100 * row['error']:.2f} %" in WORDS
