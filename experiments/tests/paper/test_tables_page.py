"""`docs/tables.md` says what the records say."""

from pathlib import Path

from spos_experiments.frame import record
from spos_experiments.paper.mnist.findings import percent
from spos_experiments.paper.regression.findings import LABELS, regression_table
from spos_experiments.paper.tables.findings import SLOWEST, best_first

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


MEASURES = {
    "numbers": {
        "nll": "negative log-likelihood",
        "crps": "CRPS",
        "coverage": "90 % coverage error",
        "rmse": "RMSE",
    },
    "classes": {
        "log_loss": "log-loss (classes)",
        "ece": "calibration error (classes)",
        "error": "error (classes)",
    },
}


def test_the_page_quotes_the_ranks_of_the_estimators():
    ranks = recorded("tables").numbers["ranks"]
    lines = PAGE.replace("**", "").splitlines()
    for part, labels in MEASURES.items():
        for measure, label in labels.items():
            by = dict(ranks[part][measure])
            ours = by.pop("SPOS")
            (first, best), (second, next_best) = best_first(by)[:2]
            told = f"| {label} | {ours:.2f} | {first} {best:.2f} | {second} {next_best:.2f} |"
            assert told in lines


def test_the_page_names_every_table_on_which_it_is_slow():
    rows = recorded("tables").numbers["rows"]
    seconds = {(row["table"], row["method"]): row["seconds"] for row in rows}
    for table in {row["table"] for row in rows}:
        ratio = seconds[table, "SPOS"] / seconds[table, "CatBoost"]
        told = f"{table} ({ratio:.1f})" in WORDS
        assert told == (ratio > SLOWEST), (table, ratio)
    theirs = [s for (_, method), s in seconds.items() if method == "CatBoost"]
    assert f"CatBoost takes {min(theirs):.1f} to {max(theirs):.1f}" in WORDS
    for classes, what in ((False, "numbers with its predictions"), (True, "classes")):
        own = [
            row["seconds"] for row in rows if row["classes"] == classes and row["method"] == "SPOS"
        ]
        assert f"A fit of {what} takes {min(own):.1f} to {max(own):.1f}" in WORDS


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
