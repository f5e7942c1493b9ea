"""The example for clusters under Open MPI, where that and mpi4py are there."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import spos

SCRIPT = Path(__file__).parents[2] / "examples" / "cluster" / "run.py"
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2")


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs mpirun of Open MPI")
@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="needs mpi4py")
def test_the_example_runs_under_mpirun(tmp_path):
    few = ("--num-particles", "8", "--num-steps", "5")
    done = subprocess.run(
        [*MPIRUN, sys.executable, SCRIPT, "--folder", tmp_path, "--detect", "mpi4py", *few],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "JAX_NUM_CPU_DEVICES": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("after 5 steps") == 1  # process 0 alone prints
    assert spos.load(tmp_path / "result.npz").particles.shape == (8, 20)
    assert list((tmp_path / "checkpoint").glob("step-*.orbax"))
