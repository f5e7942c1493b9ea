"""`docs/tables.md` says what the records say."""

from pathlib import Path

import jax

from spos_experiments.frame import record
from spos_experiments.frame.experiment import Estimate
from spos_experiments.paper.mnist import protocol
from spos_experiments.paper.mnist.findings import percent
from spos_experiments.paper.mnist.settings import Settings
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
    for pair in made.numbers["spos_less_svgd"].values():
        error, nll = (Estimate.of(pair[measure]) for measure in ("error", "nll"))
        assert f"{100 * error.mean:+.3f} ± {100 * error.se:.3f} %" in WORDS
        assert f"{abs(nll.mean):.4f} ± {nll.se:.4f}" in WORDS
        if pair["signs"] is not None:
            _, ours, theirs, p = pair["signs"].values()
            assert (
                f"SPOS alone is wrong on {ours} and SVGD alone on {theirs} (p = {p:.2g})" in WORDS
            )


def test_the_page_tells_how_much_noise_can_cost():
    """d T / 2 nats for all images that are learnt from."""
    settings, images = Settings(), 59_000
    for plan, _ in settings.plans():
        if plan.method != "spos":
            continue
        shapes = jax.eval_shape(protocol.network(plan, 784).network.init, jax.random.key(0))
        weights = sum(leaf.size for leaf in jax.tree.leaves(shapes))
        heat = plan.particles / (plan.particles + plan.beta)
        assert f"T = {heat:.3f} and {weights:,} weights: {weights * heat / 2 / images:.3f}" in WORDS


def test_the_page_quotes_what_helps_with_digits():
    made = recorded("digits")
    assert made.table.markdown() in PAGE
    for row in made.numbers["rows"][:2]:
        assert f"{100 * row['error']:.2f} %" in WORDS
    rows = {(row["method"], row["change"]): row for row in made.numbers["rows"]}
    both = [
        (rows["spos", change], row, row["more_than_spos"])
        for (method, change), row in rows.items()
        if method == "svgd"
    ]
    smaller = [sum(b[name] < a[name] for a, b, _ in both) for name in ("error", "nll")]
    assert f"Of {len(both)} settings that were tried with both" in WORDS
    assert f"SVGD's error is smaller with {smaller[0]}," in WORDS
    assert f"its −log p is smaller with {smaller[1]} of {len(both)}" in WORDS
    assert all(abs(more["mean"]) < 2 * more["se"] for *_, more in both)  # as the page says
    quiet, svgd = rows["spos", "5 networks, β ten times as large"], rows["svgd", "5 networks"]
    assert f"{quiet['nll']:.4f} against {svgd['nll']:.4f} with five networks" in WORDS
