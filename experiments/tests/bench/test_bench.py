"""The benchmark measures what it says and writes what it promises."""

import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.cli import main
from spos.rl.envs import cart_pole
from spos_experiments.bench import BENCHMARKS, control, measure, peers, tables
from spos_experiments.bench.against import best_of
from spos_experiments.bench.cases import CASES, steps_of
from spos_experiments.bench.command import scaling_figure


class Clock:
    """Time that passes when it is told to."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.mark.parametrize(("now", "asked"), [(1.01, 3), (1.2, 10), (0.8, 10)])
def test_two_checkouts_that_seem_to_differ_are_asked_more_often(now, asked):
    """Whichever of them is quicker: a table that looked again at bad news alone would flatter."""
    seen = {"before": [], "now": []}

    def measured(name, value):
        seen[name].append(value)
        return value + (0.0 if len(seen[name]) == 2 else 0.5)  # the others are disturbed

    ask = {"before": lambda: measured("before", 1.0), "now": lambda: measured("now", now)}
    renewed = []
    found = best_of(ask, 3, 10, lambda: renewed.append(len(seen["now"])))
    assert found == {"before": 1.0, "now": now}
    assert renewed == list(range(3, asked, 3))
    assert [len(one) for one in seen.values()] == [asked, asked]


def test_times_are_of_one_step_and_the_best_of_all_rounds(monkeypatch):
    """The machine is busy with something else in all rounds but the second."""
    clock, asked = Clock(), {"long": [], "short": []}
    monkeypatch.setattr(measure, "time", clock)

    def work(name, step):
        def steps(count):
            asked[name].append(count)
            busy = len(asked[name]) in (4, 5, 8, 9)
            clock.sleep(count * step * (3.0 if busy else 1.0))

        return steps

    works = {"long": work("long", 0.004), "short": work("short", 0.001)}
    times = measure.best_times(works, rounds=3, seconds=0.4)
    assert times == pytest.approx({"long": 0.004, "short": 0.001})
    # compile, one step, some steps to see how many fit; then a warm one and all of them, thrice
    assert asked["long"] == [1, 1, 50, *[1, 100] * 3]
    assert asked["short"] == [1, 1, 50, *[1, 400] * 3]


def test_what_takes_longer_than_its_time_is_done_once(monkeypatch):
    clock, asked = Clock(), []
    monkeypatch.setattr(measure, "time", clock)

    def work(count):
        asked.append(count)
        clock.sleep(7.0 * count)

    assert measure.best_times({"slow": work}, rounds=3, seconds=0.3) == {"slow": 7.0}
    assert asked == [1, 1, *[1, 1] * 3]


def test_a_compiled_loop_does_as_many_steps_as_asked():
    work = measure.repeated(lambda x: x + 1, jnp.zeros(()))
    assert work(7) == 7


@pytest.mark.parametrize("name", ["numpy", "blackjax"])
def test_a_peer_takes_the_step_that_we_take(name):
    """The numpy reference counts the diagonal in its median, as the classic code does."""
    start = jax.random.normal(jax.random.key(0), (60, 3))
    try:
        theirs = peers.PEERS[name](start)(2)
    except peers.Skip as reason:
        pytest.skip(str(reason))
    theirs = np.asarray(getattr(theirs, "particles", theirs))
    ours = steps_of(spos.svgd(peers.standard_normal, peers.STEP_SIZE), start)(2)[1].particles
    moved = np.linalg.norm(theirs - start)
    assert np.linalg.norm(theirs - ours) < 0.1 * moved


@pytest.mark.parametrize("numbers", [np, math], ids=["numpy", "math"])
def test_the_swing_up_of_gymnasium_moves_as_ours_does(numbers):
    pytest.importorskip("gymnasium")
    theirs = control.swing_up(numbers)()
    theirs.reset(seed=1)
    ours = cart_pole.Motion(*map(jnp.float32, theirs.state))
    assert abs(theirs.state[1] - math.pi) <= 1.0
    for n in range(5):
        force = 0.9 * (-1) ** n
        seen, reward, ended, _, _ = theirs.step(np.asarray([force]))
        ours, expected, over = cart_pole.swing_up(ours, jnp.asarray([force]))
        np.testing.assert_allclose(seen, cart_pole.observe(ours), rtol=1e-4, atol=1e-5)
        assert reward == pytest.approx(float(expected), abs=1e-4)
        assert ended == bool(over)
    theirs.state = (2.999, 0.0, 5.0, 0.0)
    assert theirs.step(np.asarray([0.0]))[1:3] == (-100.0, True)


def test_a_small_child_of_a_large_process_is_small():
    """`ru_maxrss` would tell the size of the parent, and a benchmark's growth would be 0 MB."""
    large = np.ones(150_000_000)  # 1.2 GB, touched
    code = "from spos_experiments.bench.measure import peak_memory; print(peak_memory())"
    child = int(measure.in_fresh_process(code))
    assert 3e7 < child < 8e8 < large.nbytes <= measure.peak_memory()


def test_every_case_has_its_function():
    assert tuple(CASES) == BENCHMARKS


def test_the_command_writes_the_promised_file(tmp_path, capsys):
    for case in ("limits", "noise"):
        assert main(["bench", "--quick", "--only", case, "--out", str(tmp_path)]) == 0
    content = json.loads((tmp_path / "bench.json").read_text())
    assert {"machines", "limits", "noise"} <= set(content)
    assert set(content["machines"]) == {"limits", "noise"}
    [row] = content["limits"]
    assert row["ratio"] == pytest.approx(row["step_ms"] / sum(row["parts_ms"].values()))
    assert "500x50" in capsys.readouterr().out


def test_an_unknown_case_lists_the_known_ones(capsys):
    assert main(["bench", "--only", "nothing"]) == 2
    assert "limits" in capsys.readouterr().err


def test_the_figure_names_everyone():
    rows = [{"M": m, "ms": m * k, "who": w} for w, k in (("ours", 1), ("x", 9)) for m in (10, 100)]
    texts = {text.get_text() for text in scaling_figure(rows).axes[0].texts}
    assert texts == {"ours", "x"}


HERE = Path(__file__).parents[3]


def test_the_pages_say_what_the_file_says():
    content = json.loads((HERE / "experiments" / "benchmarks" / "bench.json").read_text())
    assert (HERE / "experiments" / "benchmarks" / "README.md").read_text() == tables.page(content)
    assert tables.peer_table(content["rows"]) in (HERE / "README.md").read_text()


def test_the_committed_numbers_are_of_a_full_run_with_every_list():
    content = json.loads((HERE / "experiments" / "benchmarks" / "bench.json").read_text())
    assert not any(machine["quick"] for machine in content["machines"].values())
    assert all(content[name] for name in BENCHMARKS)
    assert {row["peer"] for row in content["rows"]} == set(peers.PEERS)
