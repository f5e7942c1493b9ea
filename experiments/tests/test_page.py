"""Records on disk, and the page that is made from them."""

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from spos.cli import main
from spos.io.html import Table
from spos_experiments.frame import outline, page, record, verdicts
from spos_experiments.frame.record import Claim, Illustration, Record, RecordError

PNG = b"\x89PNG\r\n\x1a\nnot really"
CLAIMS = (
    Claim("Cats are <liquid>.", "3 of 4 cats fit.", "holds only when run as a kitten", "Most fit."),
    Claim("Dogs fly.", "0 of 9 dogs flew.", "not seen", "Any flew."),
    Claim("Fish swim.", "9 of 9 fish swam.", "holds", "All swam."),
)


def made(name="gaussian", **changes):
    whole = Record(
        experiment=name, title="Pets & more", about="What they do.", quick=False, seed=0,
        command=f"spos paper {name} --seed 0", seconds=1.5,
        settings={"beta": math.inf, "n": (1, 2)},
        versions={"spos": "0.1.0"}, claims=CLAIMS, table=Table(("pet", "n"), [("cat", "3 ± 1")]),
        figures=[Illustration("pets.png", "Three cats.", "A caption.")],
        numbers={"a": [1.0, None], "b": {"c": 2}},
    )  # fmt: skip
    return dataclasses.replace(whole, **changes)


def store(folder, *records):
    for each in records:
        place = folder / each.experiment
        place.mkdir(parents=True)
        record.write(place / record.FILE, each)
        (place / "pets.png").write_bytes(PNG)
    return folder


def test_a_record_comes_back_as_it_was(tmp_path):
    path = tmp_path / "record.json"
    record.write(path, made())
    again = record.read(path)
    assert again.claims == list(CLAIMS)
    assert again.numbers == made().numbers
    assert again.settings == {"beta": "inf", "n": [1, 2]}
    assert again.table.rows == [["cat", "3 ± 1"]]
    assert [p.name for p in tmp_path.iterdir()] == ["record.json"]  # nothing half-written beside it


def test_numbers_are_rounded_and_what_is_not_finite_is_null():
    given = {"x": np.float32([1 / 3, np.nan]), "y": (1, 2.0, math.inf), "z": "text"}
    assert record.numbers(given) == {"x": [0.33333, None], "y": [1, 2.0, None], "z": "text"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{}", "it has no format version"),
        ("not json", "is not a record"),
        ("[1]", "it must be an object, got a list of 1"),
        ('{"format": 2}', "has the record format 2, but this version of spos reads 1"),
        ('{"format": 1}', "is not a complete record"),
    ],
)
def test_a_record_of_another_kind_is_one_sentence(content, complaint, tmp_path, capsys):
    store(tmp_path, made())
    (tmp_path / "gaussian" / record.FILE).write_text(content)
    assert main(["report", "--results", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith("spos report: ")
    assert complaint in line
    assert not (tmp_path / "report.html").exists()


def test_a_verdict_nobody_may_give_is_refused_on_reading(tmp_path):
    store(tmp_path, made())
    path = tmp_path / "gaussian" / record.FILE
    content = json.loads(path.read_text())
    content["claims"][0]["verdict"] = "true!"
    path.write_text(json.dumps(content))
    with pytest.raises(RecordError, match="verdict must be"):
        record.read(path)


def test_no_records_no_figure_or_the_wrong_folder_is_one_sentence(tmp_path, capsys):
    assert main(["report", "--results", str(tmp_path / "nowhere")]) == 1
    assert "there are no records in" in capsys.readouterr().err
    store(tmp_path, made())
    (tmp_path / "gaussian" / "pets.png").unlink()
    assert main(["report", "--results", str(tmp_path)]) == 1
    assert "cannot read the figure" in capsys.readouterr().err
    (tmp_path / "gaussian").rename(tmp_path / "other")
    assert main(["report", "--results", str(tmp_path)]) == 1
    assert "is a record of 'gaussian'" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_one_sentence(tmp_path, capsys):
    store(tmp_path, made())
    (tmp_path / "file").write_text("here first")
    assert main(["report", "--results", str(tmp_path), "--out", str(tmp_path / "file" / "p")]) == 1
    assert capsys.readouterr().err.startswith("spos report: cannot write the page ")


def test_the_page_says_everything_and_fetches_nothing(tmp_path):
    store(tmp_path, made(), made("multimode", title="Earlier", quick=True))
    out = page.build(tmp_path, tmp_path / "report.html")
    text = out.read_text(encoding="utf-8")
    words = re.sub(r'src="data:image/png;base64,[^"]+"', "", text)
    assert not re.search(r"https?://|<script|<link|url\(", words)
    assert "Cats are &lt;liquid&gt;." in text
    assert "<liquid>" not in text
    for claim in CLAIMS:
        for part in (claim.measured, claim.rule):
            assert part in words
    assert "◐ Holds only when</strong> run as a kitten." in words
    assert "✗ Not seen</strong>." in words
    assert text.index("Earlier") < text.index("Pets &amp; more")  # the paper's order, not the ABC's
    assert "Tiny trial runs, from which nothing follows: multimode." in text
    assert 'name="viewport" content="width=device-width' in text


def test_many_measurements_become_a_list(tmp_path):
    many = dataclasses.replace(CLAIMS[0], measured="By pet: cat: 1; dog: 2 < 3; cow: 4.")
    store(tmp_path, made(claims=[many]))
    text = page.build(tmp_path, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<p>By pet:</p>" in text
    assert "<li>cat: 1</li><li>dog: 2 &lt; 3</li><li>cow: 4</li>" in text


def test_a_sentence_is_a_list_of_its_own_and_brackets_stay_whole(tmp_path):
    told = "By pet: cat: 1; dog: 2. In all: a: 3 (b: 4; c: 5); d: 6. At 1.5 m; none."
    few = dataclasses.replace(CLAIMS[0], measured=told)
    many = "; ".join(f"pet {n}: {n}" for n in range(9))
    store(tmp_path, made(claims=[few, dataclasses.replace(CLAIMS[0], measured=f"{many}.")]))
    text = page.build(tmp_path, tmp_path / "report.html").read_text(encoding="utf-8")
    for sentence in ("By pet: cat: 1; dog: 2.", "In all: a: 3 (b: 4; c: 5); d: 6."):
        assert f"<p>{sentence}</p>" in text
    assert "<details><summary>Measured (9)</summary>" in text
    assert "<li>pet 0: 0</li><li>pet 1: 1</li>" in text


def test_a_long_table_opens_at_a_touch(tmp_path):
    rows = [(f"cat {n}", "1") for n in range(page.MOST_ROWS + 1)]
    store(tmp_path, made(table=Table(("pet", "n"), rows)), made("collapse"))
    text = page.build(tmp_path, tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("<summary>All numbers, 31 rows</summary>") == 1


def test_every_link_leads_somewhere_and_commands_are_exact(tmp_path):
    store(tmp_path, made(), made("collapse"))
    text = page.build(tmp_path, tmp_path / "report.html").read_text(encoding="utf-8")
    targets = re.findall(r'href="#([^"]+)"', text)
    places = re.findall(r'id="([^"]+)"', text)
    assert set(targets) <= set(places)
    assert len(places) == len(set(places))
    assert targets.count("command-gaussian") == len(CLAIMS)
    assert "<code>spos paper gaussian --seed 0</code></pre>" in text


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        ("holds", "✓ Holds."),
        ("not seen", "✗ Not seen."),
        ("holds only when the density is exp(−V)", "◐ Holds only when the density is exp(−V)."),
        ("holds only when not the method is gfsd", "◐ Holds, except when the method is gfsd."),
        ("holds only when not run on a; nor b; nor c", "◐ Holds, except when run on a, b or c."),
        ("holds only when run as a; or b", "◐ Holds only when run as a or b."),
        ("holds only when not against SVGD", "◐ Holds, except against SVGD."),
        ("holds only when on a; or b; or c; or d", "◐ Holds only: on abcd"),
    ],
)
def test_a_condition_is_a_sentence(verdict, sentence):
    claim = dataclasses.replace(CLAIMS[0], verdict=verdict)
    assert re.sub(r"<[^>]*>", "", str(verdicts.told(claim))).replace(" :", ":") == sentence


def test_the_front_counts_and_keeps_our_own_claims_apart(tmp_path):
    store(tmp_path, made("gaussian"), made("methods"))
    text = page.build(tmp_path, tmp_path / "report.html").read_text(encoding="utf-8")
    words = re.sub(r"<[^>]*>", " ", text)
    assert "Of the paper's 3 claims" in words.replace("&#x27;", "'")
    assert "Of our own 3 claims" in words
    assert text.index('id="gaussian"') < text.index('id="methods"')
    assert text.index("Of our own 3 claims") < text.index('id="gaussian"')


def test_the_outline_knows_every_experiment_and_every_claim_that_is_our_own():
    results = Path(__file__).parents[1] / "results"
    records = {made.experiment: made for made in page.find(results)}
    listed = [name for names in outline.SECTIONS.values() for name in names]
    assert set(listed) <= set(records)
    assert len(listed) == len(set(listed))
    for experiment, beginnings in outline.OWN.items():
        for beginning in beginnings:
            found = [c for c in records[experiment].claims if c.claim.startswith(beginning)]
            assert len(found) == 1, beginning
