"""The command line, with the demo run once for real."""

import builtins
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import spos
from spos import cli, demo
from spos.cli import main
from spos.demo.collapse import DIMENSIONS
from spos.demo.regression import diabetes, predictive_interval

FILES = ["collapse.png", "modes.png", "predictions.png", "report.html", "weights.png"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder, what was printed, and the parts of one real run."""
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    parts: list[demo.Part] = []
    with pytest.MonkeyPatch.context() as patch, Capture(patch) as printed:
        original = demo.run
        patch.setattr(demo, "run", lambda *given: parts.extend(original(*given)))
        assert main(["demo", "--out", str(out), "--seed", "1"]) == 0
    return out, printed.text, parts


class Capture:
    """What is written to stdout (the fixture of pytest lives too short for a module)."""

    def __init__(self, patch) -> None:
        self.patch, self.text = patch, ""

    def __enter__(self):
        self.patch.setattr(builtins, "print", self.take)
        return self

    def __exit__(self, *_):
        pass

    def take(self, *values, file=None, **_):
        if file in (None, sys.stdout):
            self.text += " ".join(map(str, values)) + "\n"


def test_the_demo_writes_its_files_and_says_where(ran):
    out, printed, _ = ran
    assert sorted(file.name for file in out.iterdir()) == FILES
    assert str(out / "report.html") in printed
    for name in FILES[:3]:
        assert (out / name).read_bytes().startswith(b"\x89PNG")


def test_the_page_is_self_contained_and_shows_the_same_tables(ran):
    out, _, parts = ran
    page = (out / "report.html").read_text(encoding="utf-8")
    words = re.sub(r'src="data:image/png;base64,[^"]+"', "", page)
    assert not re.search(r"https?://", words)
    assert page.count("data:image/png;base64,") == 4
    for part in parts:
        for row in part.table.rows:
            for cell in row:
                assert f">{cell}</t" in page


def test_the_tables_are_printed(ran):
    _, printed, parts = ran
    for part in parts:
        for row in part.table.rows:
            assert re.search(r"\s+".join(map(re.escape, row)), printed)


def test_svgd_collapses_and_spos_does_not(ran):
    table = np.asarray([[float(cell) for cell in row] for row in ran[2][0].table.rows])
    dimension, spos_1, spos_10, svgd, truth = table.T
    assert dimension.tolist() == list(DIMENSIONS)
    assert (truth == 1).all()
    # the late average of 50 particles has a standard error below .03 at β = 1, least for d = 100
    np.testing.assert_allclose(spos_1, 1.0, atol=0.08)
    assert spos_1[-1] == pytest.approx(1.0, abs=0.03)
    assert spos_10[-1] == pytest.approx(0.84, abs=0.04)
    assert svgd[[0, 2, 4]] == pytest.approx([0.87, 0.18, 0.039], abs=0.02)


def test_particles_per_basin_add_up_and_only_svgd_is_trapped(ran):
    *basins, total, off = ran[2][1].table.rows
    numbers = np.asarray([[float(cell) for cell in row[1:]] for row in basins])
    assert numbers[:, 1:].sum(axis=0).tolist() == [100, 100, 100]
    assert total == ("all", "100.0", "100", "100", "100")
    assert numbers[:, 0].sum() == pytest.approx(100, abs=0.35)  # seven rounded numbers
    spos_counts, svgd_counts, sgld_counts = numbers[:, 1:].T
    assert svgd_counts.tolist() == [0, 0, 100, 0, 0, 0, 0]
    assert (spos_counts > 0).sum() >= 4
    assert (sgld_counts > 0).sum() >= 4
    again = 0.5 * np.abs(numbers[:, 1:] - numbers[:, :1]).sum(axis=0)
    assert [float(cell) for cell in off[2:]] == pytest.approx(list(again), abs=0.3)


def test_the_regression_agrees_with_the_exact_posterior_and_covers(ran):
    part = ran[2][2]
    mean, sd, exact, exact_sd = np.asarray(
        [[float(cell) for cell in row[1:]] for row in part.table.rows]
    ).T
    assert (np.abs(mean - exact) < 0.3 * exact_sd + 1e-3).all()
    np.testing.assert_allclose(sd / exact_sd, 1.0, atol=0.2)
    rmse, blind, share = re.search(
        r"error ([\d.]+) \(.*: ([\d.]+)\); ([\d.]+)% of 88", part.findings[0]
    ).groups()
    assert float(rmse) < 0.8 * float(blind)
    assert 80 <= float(share) <= 97


def test_predictive_intervals_cover_what_they_promise():
    rng = np.random.default_rng(0)
    weights, noise = rng.normal(1.0, 0.5, (4000, 1)), np.full(4000, 2.0)
    x = np.asarray([[0.0], [3.0]])
    low, high = predictive_interval(x, weights, noise, rng)
    half = 1.645 * np.sqrt(4.0 + (0.5 * x[:, 0]) ** 2)
    np.testing.assert_allclose((high - low) / 2, half, rtol=0.05)
    np.testing.assert_allclose((high + low) / 2, x[:, 0], atol=0.2)


def test_the_split_is_fixed_and_standardised_on_the_training_part():
    data = diabetes()
    x, y = data.train
    assert (len(y), len(data.test[1])) == (354, 88)
    np.testing.assert_allclose(x.mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(x.std(0), 1)
    assert abs(data.test[0].mean(0)).max() > 1e-3
    assert y.std() == pytest.approx(1.0)
    np.testing.assert_array_equal(diabetes().test[1], data.test[1])


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"spos {spos.__version__}"
    assert main(["--help"]) == 0
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["demo", "--seed", "-1"], "must be a whole number from 0 to 2^31 - 1, got '-1'"),
        (["demo", "--seed", "x"], "got 'x'"),
        (["demo", "extra"], "unrecognized arguments: extra"),
    ],
)
def test_wrong_arguments_are_exit_code_2(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def one_line(capsys) -> str:
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    return line


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("here first")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        assert main(["demo", "--out", str(out)]) == 1
        assert one_line(capsys).startswith(f"spos demo: cannot write to the folder {out}: ")
    assert (tmp_path / "file").read_text() == "here first"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_one_sentence(tmp_path, capsys):
    tmp_path.chmod(0o500)
    assert main(["demo", "--out", str(tmp_path)]) == 1
    assert "Permission denied" in one_line(capsys)


@pytest.mark.parametrize("library", ["matplotlib", "sklearn"])
def test_a_missing_extra_is_one_sentence(library, tmp_path, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)  # the import system's word for "not there"
    assert main(["demo", "--out", str(tmp_path / "out")]) == 1
    assert one_line(capsys).endswith("pip install 'spos[demo]'")
    assert not (tmp_path / "out").exists()


def test_an_interrupted_experiment_ends_the_demo(tmp_path, monkeypatch, capsys):
    def pressed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "EXPERIMENTS", (demo.many_modes,))
    monkeypatch.setattr("spos.loop.sample.advance_to", pressed)
    assert main(["demo", "--out", str(tmp_path)]) == 130
    assert "spos demo: interrupted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_module_runs_and_help_does_not_load_plotting():
    done = subprocess.run(
        [sys.executable, "-m", "spos", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"spos {spos.__version__}"
    code = (
        "import sys; from spos.cli import main; main(['--help']); "
        "sys.exit(bool({'matplotlib', 'sklearn'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


@pytest.mark.parametrize(
    "words", ["paper", "paper --quick gaussian", "report --out x", "data list"]
)
def test_a_command_of_the_second_package_says_how_to_get_it(words, monkeypatch, capsys):
    monkeypatch.setattr(cli, "entry_points", lambda group: ())
    assert main(words.split()) == 1
    line = one_line(capsys)
    assert line.startswith(f"spos {words.split()[0]}: ")
    assert line.endswith("pip install ./experiments")


def test_without_the_second_package_help_names_its_commands(monkeypatch, capsys):
    monkeypatch.setattr(cli, "entry_points", lambda group: ())
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    for name in ("demo", *cli.ELSEWHERE):
        assert f"\n    {name} " in told
