"""A process of a run is killed: the others say so and end, and the run goes on to the same bits."""

import shutil
import signal
import time
from pathlib import Path

import numpy as np
from test_processes import start

PROGRAM = Path(__file__).with_name("killed_program.py")


def finish(processes, seconds=300):
    try:
        return [process.communicate(timeout=seconds) for process in processes]
    finally:
        for process in processes:
            process.kill()


def ended(folder):
    with np.load(f"{folder}.npz") as content:
        return dict(content)


def test_a_killed_run_goes_on_to_the_same_bits_with_any_number_of_processes(tmp_path):
    whole = tmp_path / "whole"
    said = finish(start(PROGRAM, 2, whole, 0))
    assert "done" in said[0][0], said[0][1][-3000:]

    folder = tmp_path / "killed"
    processes = start(PROGRAM, 2, folder, 0.2)
    deadline = time.monotonic() + 200
    while not list(Path(folder).glob("step-*[0-9].orbax")) and time.monotonic() < deadline:
        time.sleep(0.05)
    processes[1].send_signal(signal.SIGKILL)
    began = time.monotonic()
    said = finish(processes)
    assert time.monotonic() - began < 30
    assert processes[0].returncode != 0
    assert "another process of this run has ended" in said[0][1]
    assert "done" not in said[0][0]

    for count, exact in ((1, False), (2, True)):
        again = tmp_path / f"again{count}"
        shutil.copytree(folder, again, ignore=shutil.ignore_patterns(".lock"))
        said = finish(start(PROGRAM, count, again, 0))
        assert "done" in said[0][0], said[0][1][-3000:]
        assert int(said[0][0].split()[0]) > 2  # it did not begin anew
        for name, there in ended(whole).items():
            here = ended(again)[name]
            if exact:
                assert np.array_equal(here, there), name
            else:
                np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-5)
