"""Jobs of an executor have the bits of one process, and none is lost or done twice."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.cli import UsageError
from spos.executors import outcomes
from spos.io import archive
from spos_experiments.frame import sweep
from spos_experiments.frame.experiment import quiet

NAME, SEED = "regression", 0
CHANGED = {"methods": ("sgld", "svgd"), "splits": 1}


@pytest.fixture(scope="module")
def dask():
    """Two processes with a worker each."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    # what compiles as the tests do gives their bits
    flags = {"XLA_FLAGS": os.environ["XLA_FLAGS"], "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    with distributed.LocalCluster(processes=True, env=flags, **options) as cluster:
        yield f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"


class KillsAWorker:
    """An executor whose first job ends the process that it is done in, in the middle of a sweep."""

    def __init__(self, executor, marker):
        self.executor, self.marker = executor, marker

    def submit(self, function, *arguments):
        marker = self.marker

        def job():
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments)

        return self.executor.submit(job)


def files(folder):
    """All that was computed: times are not."""
    found = {path.name: archive.read(path)[0] for path in sorted(folder.glob("runs/**/*.npz"))}
    assert found
    return found


def test_a_sweep_survives_a_worker_and_has_the_same_bits(dask, tmp_path):
    one, many = tmp_path / "one", tmp_path / "many"
    given = (SEED, True, CHANGED)
    sweep.make_all(NAME, one, *given, None, quiet)
    marker = tmp_path / "killed"
    with sweep.executor(dask, many) as executor:
        sweep.make_all(NAME, many, *given, KillsAWorker(executor, marker), quiet)
    assert marker.exists()
    wanted, found = files(one), files(many)
    assert len(wanted) == 2
    jax.tree.map(np.testing.assert_array_equal, found, wanted)
    before = {path: path.stat().st_mtime_ns for path in many.glob("runs/*")}
    sweep.make_all(NAME, many, *given, None, quiet)
    assert {path: path.stat().st_mtime_ns for path in many.glob("runs/*")} == before


def test_diagnostics_have_the_same_bits_elsewhere(dask, tmp_path):
    def log_prob(x):
        return -0.5 * jnp.sum(x**2)

    start, truth = jnp.linspace(-1.0, 1.0, 8)[:, None], (np.zeros(1), np.eye(1))
    samplers = {"sgld": spos.sgld(log_prob, 0.1), "blob": spos.blob(log_prob, 0.1)}

    def compared(executor):
        options = {"truth": truth, "num_seeds": 2, "progress": False}
        return spos.compare(log_prob, samplers, start, 8, executor=executor, **options).rows

    def biased(executor):
        report = spos.diagnostics.bias(
            *(lambda h: spos.sgld(log_prob, h), 0.1, start, 8), num_replicas=3, executor=executor
        )
        return report.extrapolated

    with sweep.executor(dask, tmp_path) as executor:
        rows, found = compared(executor), biased(executor)
    for name, row in compared(None).items():
        np.testing.assert_array_equal(rows[name].points, row.points)
    for name, wanted in biased(None).items():
        np.testing.assert_array_equal(found[name].value, wanted.value)


@pytest.mark.parametrize(
    ("name", "changed", "count"),
    [
        ("regression", {"datasets": ("diabetes",)}, 3),
        ("mnist", {}, 2 * (2 * 3 + 4) + (3 * 3 + 1)),
        ("control", {"seeds": 1}, 12 + 11),
        ("accuracy", {"models": ("scales", "radon"), "methods": ("sgld", "nuts")}, 2 * 3 + 2),
    ],
)
def test_parts_are_plain_and_each_is_there_once(name, changed, count):
    import json

    from spos_experiments import paper

    parts = paper.find(name).parts(sweep.adjusted(name, False, changed), 0)
    assert len(parts) == count
    assert len({json.dumps(part) for part in parts}) == count


def test_a_job_that_fails_does_not_cost_the_others():
    done = []

    def job(number):
        if number == 0:
            raise ValueError("the first")
        done.append(number)

    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="the first"):
        list(outcomes(pool, job, [(0,), (1,), (2,)]))
    assert done == [1, 2]


@pytest.mark.parametrize("words", ["processes", "processes:0", "threads:2", "dask:4", ""])
def test_an_executor_that_is_none(words, tmp_path):
    with (
        pytest.raises(UsageError, match=r"processes:N, dask://HOST:PORT or slurm"),
        sweep.executor(words, tmp_path),
    ):
        pass


def test_a_scheduler_that_cannot_be_reached(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(sweep, "PATIENCE", "1s")
    with (
        pytest.raises(
            UsageError, match=r"no Dask scheduler can be reached at tcp://127\.0\.0\.1:9"
        ),
        sweep.executor("dask://127.0.0.1:9", tmp_path),
    ):
        pass


def test_an_experiment_without_long_runs(tmp_path):
    with pytest.raises(UsageError, match="long runs, which toys has not"):
        sweep.make_all("toys", tmp_path, 0, True, {}, None, quiet)
