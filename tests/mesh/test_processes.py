"""Runs that several processes make together, over Gloo: the answer of one process, and no hangs."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from mesh_cases import IN_PROCESSES, NUM_STEPS, SEED, worst

import spos

PROGRAM = Path(__file__).with_name("processes_program.py")


def start(program, count, *arguments):
    """So many processes of one run."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        coordinator = f"localhost:{free.getsockname()[1]}"
    environment = {**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "JAX_NUM_CPU_DEVICES": "1"}
    return [
        subprocess.Popen(
            [sys.executable, program, coordinator, str(count), str(n), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for n in range(count)
    ]


@pytest.fixture(scope="module", params=[2, 4])
def ended(request, tmp_path_factory):
    """Most cases with two processes, one with four; started once."""
    folder = tmp_path_factory.mktemp("processes")
    names = ["spos", "saga", "network"] if request.param == 2 else ["svgd"]
    processes = start(PROGRAM, request.param, folder, *names)
    try:
        said = [process.communicate(timeout=600) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return folder, names, said, [process.returncode for process in processes]


def test_the_answer_is_that_of_one_process(ended):
    folder, names, said, _ = ended
    assert "done" in said[0][0], said[0][1][-3000:]
    with np.load(folder / "found.npz") as found:
        for name in names:
            sampler, particles = IN_PROCESSES[name]()
            alone = spos.sample(sampler, particles, NUM_STEPS, seed=SEED, history_every=3)
            kept = {"particles": alone.particles, "history": alone.history}
            for path, leaf in jax.tree.leaves_with_path(kept):
                assert worst(leaf, found[name + jax.tree_util.keystr(path)]) < 1e-5, (name, path)


def test_process_0_alone_prints_progress_and_writes(ended):
    folder, _, said, _ = ended
    assert spos.load(folder / "result.npz").num_steps == NUM_STEPS
    assert "100%" in said[0][1]
    for out, errors in said:
        assert f"after {NUM_STEPS} steps" in out, errors[-2000:]
    assert all("100%" not in errors for _, errors in said[1:])


def test_errors_and_decisions_are_those_of_all(ended):
    _, _, said, _ = ended
    last = len(said) - 1
    for number, (out, _) in enumerate(said):
        told = dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)
        assert "all processes must have the same seed: process 0 has 0, process 1" in told["seeds"]
        own = f"ProcessError: process {last} ended the run: "
        assert told["callback"] == ("" if number == last else own) + "KeyError: 'lost it'"
        assert "callback_every must be at least 1, got 0" in told["bad argument"]
        assert told["stopped by the last"] == str(NUM_STEPS)
        assert told["stopped by the first"] == "2"
        assert told["terminated"] == "True True"
        assert "particle 0" in told["not finite"]
        assert "smaller step_size" in told["not finite"]


def test_an_error_that_nobody_catches_ends_all_with_its_message(ended):
    _, _, said, codes = ended
    assert all(code != 0 for code in codes)
    for _, errors in said:
        assert "ZeroDivisionError: nobody caught me" in errors, errors[-2000:]
