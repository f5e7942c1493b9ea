"""Runs that several processes make together, over Gloo: the answer of one process, and no hangs.

Processes are slow to start, so that they are started three times and do many things: four, which
end by an error that nobody catches; two, of which one is killed; and two that go on with what those
had begun.
"""

import shutil

import jax
import numpy as np
import pytest
from mesh_cases import IN_PROCESSES, NUM_STEPS, SEED, checkpointed, fitted, worst

import spos
from started import Ended

PROGRAM = "processes_program"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("processes")


@pytest.fixture(scope="module")
def four(folder):
    return Ended(PROGRAM, folder, 4, 1, str(folder), "svgd", "fit", "half", "uncaught")


@pytest.fixture(scope="module")
def two(folder):
    phases = ("spos", "saga", "network", "errors", "fit", "fit_errors", "killed")
    return Ended(PROGRAM, folder, 2, 1, str(folder), *phases)


@pytest.fixture(scope="module")
def two_more(four, two, folder):
    shutil.copytree(folder / "half", folder / "half, for one")
    return Ended(PROGRAM, folder, 2, 1, str(folder), "resumed")


@pytest.mark.parametrize("name", ["spos", "saga", "network"])
def test_the_answer_of_two_processes_is_that_of_one(two, folder, name):
    compare(two, folder, name)


def test_the_answer_of_four_processes_is_that_of_one(four, folder):
    compare(four, folder, "svgd")


def compare(ended, folder, name):
    ended.must_have(name)
    alone = spos.sample(*IN_PROCESSES[name](), NUM_STEPS, seed=SEED, history_every=3)
    assert difference(alone, folder / f"{name}.npz") < 1e-5


def difference(result, path):
    kept = {"particles": result.particles, "history": result.history}
    with np.load(path) as found:
        return max(
            worst(leaf, found[jax.tree_util.keystr(key)])
            for key, leaf in jax.tree.leaves_with_path(kept)
        )


def test_process_0_alone_prints_progress_and_writes(two, folder):
    assert spos.load(folder / "result.npz").num_steps == NUM_STEPS
    assert "100%" in two.errors[0]
    assert "100%" not in two.errors[1]
    assert all(f"after {NUM_STEPS} steps" in out for out in two.out)


@pytest.fixture(scope="module")
def fit_alone():
    return fitted(None)


@pytest.mark.parametrize("count", [2, 4])
def test_a_fit_of_several_processes_is_that_of_one(request, folder, fit_alone, count):
    """Halves of thirteen particles, which do not divide: some are moved twice."""
    ended = request.getfixturevalue({2: "two", 4: "four"}[count])
    ended.must_have("fit")
    alone = fit_alone.draws
    for number in range(count):
        with np.load(folder / f"fit of {count}, {number}.npz") as found:
            assert found["draws"].shape == alone.shape
            assert np.max(np.abs(found["draws"] - alone)) < 1e-5
    assert fit_alone.converged
    for out in ended.out:
        value, evaluations, converged = words(out)["verdict"].split()
        # of draws that agree to five digits
        assert float(value) == pytest.approx(fit_alone.verdict.checks[0].value, rel=1e-4)
        assert (int(evaluations), converged) == (fit_alone.evaluations, "True")


def test_one_process_goes_on_with_the_fit_of_two(two, folder, fit_alone):
    two.must_have("fit_errors")
    steps = []
    gone_on = fitted(
        None, checkpoint=folder / "fit", callback=lambda seen: steps.append(seen.evaluations)
    )
    assert steps[0] > 3000
    assert gone_on.evaluations == fit_alone.evaluations
    assert np.max(np.abs(gone_on.draws - fit_alone.draws)) < 1e-5


def words(out):
    return dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)


def test_process_0_decides_how_a_fit_ends(two, fit_alone):
    two.must_have("fit_errors")
    for number, out in enumerate(two.out):
        told = words(out)
        assert "all processes must have the same seed: process 0 has 0, pro" in told["fit, seeds"]
        before = "" if number == 0 else "ProcessError: process 0 ended the run: "
        assert told["fit, callback"] == f"{before}KeyError: 'lost it'"
        for name in ("fit, stopped", "fit, terminated"):
            interrupted, evaluations = told[name].split()
            assert interrupted == "True"
            assert int(evaluations) < fit_alone.evaluations


def test_errors_and_decisions_are_those_of_all(two):
    two.must_have("errors")
    for number, out in enumerate(two.out):
        told = words(out)
        assert "all processes must have the same seed: process 0 has 0, process 1" in told["seeds"]
        before = "" if number == 1 else "ProcessError: process 1 ended the run: "
        assert told["callback"] == f"{before}KeyError: 'lost it'"
        assert "all processes must have the same code: process 0 has" in told["code"]
        assert "callback_every must be at least 1, got 0" in told["bad argument"]
        assert told["stopped by the last"] == str(NUM_STEPS)
        assert told["stopped by the first"] == "2"
        assert told["terminated"] == "True True"
        assert "particle 0" in told["not finite"]
        assert "smaller step_size" in told["not finite"]


def test_an_error_that_nobody_catches_ends_all_with_its_message(four):
    four.must_have("half")
    assert all(code != 0 for code in four.codes)
    for errors in four.errors:
        assert "ZeroDivisionError: nobody caught me" in errors
    assert four.seconds_after_the_last < 30


def test_the_others_end_when_one_is_killed(two):
    assert two.codes[1] == -9
    assert two.codes[0] != 0
    assert "another process of this run has ended" in two.errors[0]
    assert two.seconds_after_the_last < 30


def test_a_killed_run_goes_on_to_the_same_bits(two_more):
    two_more.must_have("resumed")
    assert "same bits: True" in two_more.out[0]


def test_a_run_of_four_goes_on_with_two_and_with_one(two_more, folder):
    one = checkpointed(folder / "half, for one", spos.mesh.particle_mesh())
    assert difference(one, folder / "half.npz") < 1e-4
    assert difference(one, folder / "whole.npz") < 1e-4
