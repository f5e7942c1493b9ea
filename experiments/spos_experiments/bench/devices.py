"""`spos.fit` on one and on two devices of this machine, each in a process of its own.

Later fits of a model are timed, which compile nothing; the number of devices is fixed when JAX
starts. Where there are two, XLA has more threads than cores, or a density that calls LAPACK may
wait for ever: see `docs/scale.md`.
"""

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos_experiments.bench.measure import Row

MODELS = ("linear", "radon", "item_response", "gaussian_process", "predator_prey", "many_rows")
ROWS, COLUMNS = 10_000, 10  # of the last one
COUNTS, FITS, PARTICLES = (1, 2), 4, 100
THREADS = 8


def devices(quick: bool) -> Iterator[Row]:
    """A row a model; how many evaluations there are depends on the number of devices by rounding,
    so that their time is what is compared."""
    for name in MODELS[:1] if quick else MODELS:
        seen = {count: _in_process(name, count) for count in COUNTS}
        each = {
            count: 1e6 * found["seconds"] / found["evaluations"] for count, found in seen.items()
        }
        yield {
            "case": name,
            "one_device_s": seen[1]["seconds"],
            "two_devices_s": seen[2]["seconds"],
            "one_device_us_per_evaluation": each[1],
            "two_devices_us_per_evaluation": each[2],
            "ratio": each[2] / each[1],
            "one_device_cores": seen[1]["cores"],
            "two_devices_cores": seen[2]["cores"],
        }


def timed(name: str) -> Row:
    """The best of several fits, what it took, and how many cores were busy on average."""
    target, start = _model(name)
    mesh = spos.mesh.particle_mesh() if jax.device_count() > 1 else None
    found, best, cores = None, float("inf"), 0.0
    for n in range(1 + FITS):
        began, used = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", spos.ConvergenceWarning)
            found = spos.fit(target, start=start, mesh=mesh, progress=False)
        seconds, used = time.perf_counter() - began, time.process_time() - used
        if n and seconds < best:
            best, cores = seconds, used / seconds
    assert found is not None
    return {"seconds": best, "evaluations": found.evaluations, "cores": cores}


def _model(name: str) -> tuple[Any, Any]:
    """A target and particles to begin with."""
    if name != "many_rows":
        from spos_experiments.paper.accuracy import models

        model = spos.from_numpyro(models.build(name))
        return model.target, model.start(jax.random.key(0), PARTICLES)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    y = (rng.uniform(size=ROWS) < 1.0 / (1.0 + np.exp(-0.3 * x.sum(1)))).astype(np.float32)

    def log_prob(w: jax.Array) -> jax.Array:
        logit = x @ w
        return jnp.sum(y * logit - jnp.logaddexp(0.0, logit)) - 0.5 * jnp.sum(w**2)

    return log_prob, jax.random.normal(jax.random.key(0), (PARTICLES, COLUMNS))


def _in_process(name: str, count: int) -> Row:
    environment = os.environ | {"JAX_NUM_CPU_DEVICES": str(count)}
    if count > 1:
        environment |= {"NPROC": str(THREADS)}
    command = [sys.executable, "-m", "spos_experiments.bench.devices", name]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        raise RuntimeError(f"a benchmark process failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(timed(sys.argv[1])))
